"""A board to show: random play, search, exact play, a policy by stable-baselines3, small language models, and SmolLM2
as it comes, after imitation and after training, in six games and a world.

The suite is `leaderboard/showcase.toml`. SmolLM2 is trained as by `benchmarks.pretrained`, without the control. The
board is played, its moves are reviewed, it is rated, and it is verified: a match of each lineup of language models is
asked for again.

Everything is kept, so the same command resumes after Ctrl-C. It takes about an hour of CPU beside the training of
SmolLM2, which takes half an hour.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cpu_time import cpu_seconds
from benchmarks.pretrained import TASKS, keep_last, program, run_directory, trained
from benchmarks.report import RESULTS
from gymposium.records import compress_records
from gymposium.util.plain_file import find_forms

SUITE = Path("benchmarks/leaderboard/showcase.toml")
PLAYERS = "benchmarks/leaderboard/players"
MODEL, RUNS = Path("gymposium-runs/smollm2"), Path("gymposium-runs/showcase")
"""Where SmolLM2 and its runs are. The names of players hold these paths, so they are fixed."""
ALLOW = ("--allow", "lm:benchmarks/*", "--allow", "lm:gymposium-runs/*", "--allow", "sb3:benchmarks/*")
PRETRAINED = ((TASKS["tic_tac_toe"], 1, "tic-tac-toe"), (TASKS["mail"], 0, "mailboxes"))
"""The tasks of `benchmarks.pretrained` whose runs play, their seeds, and their games in words."""
SOLVED = ("tic_tac_toe", "kuhn_poker", "leduc_poker", "liars_dice")
"""Games with exact figures, whose moves are judged exactly, or by a table near an equilibrium. Judging the others by
search would take hours."""
SMALL = (
    ("two-games", "?temperature=1", ("tic_tac_toe", "kuhn_poker"), "Small model for two games"),
    ("connect_four", "", ("connect_four",), "Small model, Connect Four"),
    ("leduc_poker", "?temperature=1", ("leduc_poker",), "Small model, Leduc poker"),
    ("liars_dice", "?temperature=1", ("liars_dice",), "Small model, liar's dice"),
    ("mail", "", (TASKS["mail"].game,), "Small model, mailboxes"),
)
"""Folders of small models, their options, the games that they learned, and their labels. They sample where mixed play
is best, and take their likeliest reply elsewhere."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A player that is added to the board."""

    player: str
    games: tuple[str, ...]
    label: str

    @property
    def options(self) -> list[str]:
        """The options of `gymposium leaderboard run`."""
        games = [part for game in self.games for part in ("--game", game)]
        return ["--add", self.player, *games, "--label", self.label, "--seed", "1"]


def entries() -> Iterator[Entry]:
    """Yield the players that are added, in their order."""
    yield Entry(f"sb3:{PLAYERS}/connect_four-ppo.zip", ("connect_four",), "MaskablePPO, Connect Four")
    for folder, options, learned, label in SMALL:
        for stage, when in (("cold_start", "before training"), ("model", "after training")):
            yield Entry(f"lm:{PLAYERS}/{folder}/{stage}{options}", learned, f"{label}, {when}")
    for player in dict.fromkeys(task.player for task in TASKS.values()):
        games = tuple(task.game for task in TASKS.values() if task.player == player)
        yield Entry(f"lm:{MODEL}?{player}", games, "SmolLM2 as it comes" + (", mailboxes" if len(games) == 1 else ""))
    for task, seed, what in PRETRAINED:
        run = run_directory(RUNS, task, seed)
        yield Entry(f"lm:{run}/cold_start", (task.game,), f"SmolLM2, {what}, after imitation")
        yield Entry(f"lm:{run}/cold_start@{run}/adapter", (task.game,), f"SmolLM2, {what}, after training")


def show(*arguments: str | Path) -> None:
    """Run gymposium on one thread for each process, and show what it prints. Ends this process if it fails."""
    print(f"$ gymposium {shlex.join(map(str, arguments))}", flush=True)
    command = [str(Path(sys.executable).with_name("gymposium")), *map(str, arguments)]
    status = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False).returncode
    if status:
        sys.exit(status)


def train() -> None:
    """Fetch SmolLM2, and do or resume its runs."""
    if not (MODEL / "COMPLETE").exists():
        program("model", "fetch", "smollm2", "--out", MODEL)
    RUNS.mkdir(parents=True, exist_ok=True)
    for task, seed, _ in PRETRAINED:
        trained(task, seed, MODEL, RUNS, keep_last(*task.settings, "evaluation.matches=20"), control=False)


def make(board: Path) -> None:
    """Play or resume the board, then review, rate and compress it."""
    show(*ALLOW, "leaderboard", "run", SUITE, "--out", board)
    for entry in entries():
        show(*ALLOW, "leaderboard", "run", "--out", board, *entry.options)
    show("review", *(file for game in SOLVED for file in find_forms(board, f"entries/*/matches/{game}/*.jsonl")))
    exact = [part for entry in entries() if {*entry.games} & {*SOLVED} for part in ("--exact", entry.player)]
    show(*ALLOW, "leaderboard", "rate", board, *exact)
    for file in sorted(board.glob("entries/*/matches/*/*.jsonl")):
        compress_records(file)


def verify(board: Path) -> None:
    """Verify the board, and ask language models again for a match of each lineup."""
    show(*ALLOW, "leaderboard", "verify", board, "--rerun", "1")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.showcase", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "leaderboard" / "showcase", help="folder of the board")
    given = parser.parse_args()
    train()
    before = cpu_seconds()
    make(given.out)
    print(f"Play, reviews and ratings took {cpu_seconds() - before:,.0f} CPU seconds.", flush=True)
    verify(given.out)


if __name__ == "__main__":
    main()
