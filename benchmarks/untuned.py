"""Learning with the shipped defaults, on games they were not tuned for.

`table`: eight games, three seeds fixed beforehand, and three learners with the same CPU seconds each. Ours is
`gymposium train` with nothing set but the game, the seed and the budget; the control spends the CPU seconds of its
reinforcement learning on more imitation; the third is `gymposium sb3 train`, sb3-contrib's MaskablePPO with its
defaults on the game's tensor. All play 1,000 matches against random play, greedily, from both seats. (4.8 CPU hours.)

`search`: development games, none of them in the table, for choosing the defaults. Settings are given as in
`gymposium train`; each set of settings that was tried is a line of the result.

Each run is kept as soon as it ends, so the same command resumes after Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.report import RESULTS, KeptRows, Row, table

GAMES = (
    *("hex(board_size=5)", "clobber(rows=5,columns=5)", "othello", "mancala"),
    *("phantom_ttt", "liars_dice", "dots_and_boxes", "dark_hex"),
)
SEEDS = (301, 302, 303)
"""Seeds, fixed before any run."""
DEVELOPMENT = (
    *("breakthrough(rows=5,columns=4)", "connect_four", "oware", "y(board_size=5)"),
    *("leduc_poker", "goofspiel", "pig", "ultimate_tic_tac_toe"),
)
"""Games for choosing defaults."""
DEVELOPMENT_SEEDS = (1, 2, 3)
BUDGET = 240.0
MATCHES = 1000
MOST_FAILED = 0.05
LEAST_GAMES = 6
"""Number of games where ours must be above the control."""
LEAST_RATIO = 0.6
LEAST_BASIS = 0.3
"""Least mean return of MaskablePPO, above random play, of a game that the ratio is taken of."""
OURS, PPO = "gymposium train", "gymposium sb3 train"
VERSIONS = (
    "gymposium",
    "gymposium-train",
    "open_spiel",
    "torch",
    "transformers",
    "peft",
    "stable-baselines3",
    "sb3-contrib",
)


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do."""

    game: str
    seed: int
    learner: str
    budget: float
    settings: tuple[str, ...] = ()
    control: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        return self.game, self.seed, self.learner, self.budget, self.settings

    @property
    def folder(self) -> str:
        name = "-".join((self.game, str(self.seed), self.learner.split()[1], f"{self.budget:g}", *self.settings))
        return "".join(c if c.isalnum() or c in "-_=." else "_" for c in name)


def do(job: Job, runs: Path, matches: int) -> Row:
    """Do or resume a run in a separate process. Raises `CalledProcessError` if it fails."""
    path = runs / job.folder
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    program = [str(Path(sys.executable).with_name("gymposium"))]
    print(f"[{job.folder}] begins", flush=True)
    runs.mkdir(parents=True, exist_ok=True)
    if job.learner == PPO:
        out = runs / f"{job.folder}.zip"
        out.unlink(missing_ok=True)
        command = [*program, "sb3", "train", job.game, "--seed", str(job.seed), "--budget", str(job.budget)]
        command += ["--out", str(out), "--matches", str(matches), "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        return _row(job, {"trained": found["opponents"]["random"]}, frames=found["decisions"])
    if (path / "config.json").exists():
        command = [*program, "train", "--resume", str(path)]
    else:
        measured = ('evaluation.opponents=["random"]', f"evaluation.matches={matches}")
        command = [*program, "train", "--game", job.game, "--seed", str(job.seed), f"budget={job.budget}"]
        command += ["--out", str(path), *measured, *job.settings, *(["--control"] if job.control else [])]
    shown = runs / f"{job.folder}.log"
    with shown.open("a", encoding="utf-8") as log:
        done = subprocess.run(command, env=environment, stdout=log, stderr=log, text=True, check=False)
    if done.returncode not in (0, 3):  # 3: it learned nothing
        raise subprocess.CalledProcessError(done.returncode, command, stderr=f"See {shown}.")
    results = json.loads((path / "results.json").read_text(encoding="utf-8"))
    # the run has one game, whose name there leaves out what is the default
    scores = {what: next(iter(by_game.values()))["random"] for what, by_game in results["evaluations"].items()}
    names = ("steps", "setbacks", "cold_start_cpu_seconds", "train_cpu_seconds", "control_cpu_seconds")
    return _row(job, scores, **{name: results[name] for name in names if name in results})


def _row(job: Job, scores: Mapping[str, Any], **facts: Any) -> Row:
    """Return a run's row."""
    players = {
        what: {
            "return": score["return"],
            "results": score["results"],
            "failed": 1.0 - score["readings"]["move"][0],
            "matches": score["matches"],
        }
        for what, score in scores.items()
    }
    which = {"game": job.game, "seed": job.seed, "learner": job.learner, "budget": job.budget}
    return {**which, "settings": list(job.settings), "players": players, **facts}


def do_all(jobs: Sequence[Job], given: argparse.Namespace, name: str, text: Callable[[Sequence[Row]], str]) -> None:
    """Do all jobs without results of this name, and save each when it is done."""
    kept = KeptRows(given.out, name, VERSIONS, text)
    known = {*map(_key, kept.rows)}
    place = {job.key: number for number, job in enumerate(jobs)}
    cores = iter(sorted(os.sched_getaffinity(0)))

    def take_core() -> None:
        """Pin this thread and the runs it starts to one core. A control then follows its run."""
        os.sched_setaffinity(0, {next(cores)})

    with ThreadPoolExecutor(given.jobs, initializer=take_core) as pool:
        doing = [pool.submit(do, job, given.runs, given.matches) for job in jobs if job.key not in known]
        try:
            for future in as_completed(doing):
                kept.add(future.result(), key=lambda row: place.get(_key(row), -1))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    kept.show()


def _key(row: Row) -> tuple[Any, ...]:
    """Return the key of the job of a row."""
    return row["game"], row["seed"], row["learner"], row["budget"], tuple(row["settings"])


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean return of a player over the seeds of a game, with the interval that its matches give it."""

    value: float
    low: float
    high: float

    @classmethod
    def from_rows(cls, rows: Sequence[Row], player: str) -> Mean:
        estimates = [row["players"][player]["return"] for row in rows]
        value = fmean(estimate[0] for estimate in estimates)
        half = sqrt(sum(((high - low) / 2) ** 2 for _, low, high in estimates)) / len(estimates)
        return cls(value, value - half, value + half)

    def __str__(self) -> str:
        return f"{self.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def fell(row: Row) -> bool:
    """Return whether the run ended below its cold start, by more than the interval of their difference."""
    before, after = (row["players"][what]["return"] for what in ("cold start", "trained"))
    half = sqrt(sum(((high - low) / 2) ** 2 for _, low, high in (before, after)))
    return bool(after[0] < before[0] - half)


def by_game(rows: Sequence[Row], learner: str) -> dict[str, list[Row]]:
    """Return the rows of a learner by game."""
    games = dict.fromkeys(row["game"] for row in rows)
    return {game: [row for row in rows if row["game"] == game and row["learner"] == learner] for game in games}


def published(rows: Sequence[Row]) -> str:
    """Return the table and its verdict, as Markdown, as far as the runs are done."""
    ours, ppo = {game: found for game, found in by_game(rows, OURS).items() if found}, by_game(rows, PPO)
    lines, above, ratios = [], 0, []
    for game, find_losses in ours.items():
        cold, trained, control, random = (
            Mean.from_rows(find_losses, what) for what in ("cold start", "trained", "control", "anchor random")
        )
        other = Mean.from_rows(ppo[game], "trained") if ppo[game] else None
        above += trained.low > control.high
        ratio = ""
        if other is not None and other.value - random.value >= LEAST_BASIS:
            ratios.append((trained.value - random.value) / (other.value - random.value))
            ratio = f"{ratios[-1]:.2f}"
        failed = max(row["players"]["trained"]["failed"] for row in find_losses)
        below = sum(fell(row) for row in find_losses)
        means = [str(mean or "") for mean in (cold, trained, control, other)]
        lines.append([game, str(len(find_losses)), *means, ratio, f"{failed:.1%}", str(below)])
    head = ["game", "seeds", "cold start", "trained", "control", "MaskablePPO", "ratio", "most failed", "seeds below"]
    every = [row for find_losses in ours.values() for row in find_losses]
    checks = [
        (f"no seed ends below its cold start: {sum(map(fell, every))} of {len(every)} do", not any(map(fell, every))),
        (
            f"no seed has more than {MOST_FAILED:.0%} failed replies",
            all(row["players"]["trained"]["failed"] <= MOST_FAILED for row in every),
        ),
        (f"above the control in {LEAST_GAMES} games: in {above} of {len(ours)}", above >= LEAST_GAMES),
    ]
    missing = len(GAMES) * len(SEEDS) * 2 - len(rows)
    verdict = "".join(f"- {'reached' if reached else 'MISSED'}: {text}\n" for text, reached in checks)
    if missing:
        verdict = f"{missing} runs are still to be done, so this is no verdict yet.\n\n{verdict}"
    if ratios:
        verdict += f"- aim: median ratio {LEAST_RATIO}: {median(ratios):.2f} over {len(ratios)} games\n"
    return (
        "Mean return against random play over the seeds, with the 95 % interval of the matches. *Ratio*: (ours - "
        f"random) / (MaskablePPO - random), where MaskablePPO beats random play by {LEAST_BASIS} or more.\n\n"
        f"{table(head, lines)}\n{verdict}"
    )


def searched(rows: Sequence[Row]) -> str:
    """Return all that was tried on development games, as Markdown."""
    games = [*dict.fromkeys(row["game"] for row in rows)]
    lines = []
    for settings, budget in dict.fromkeys((tuple(row["settings"]), row["budget"]) for row in rows):
        line = [" ".join(settings) or "the defaults", f"{budget:g}"]
        for game in games:
            find_losses = [
                row for row in rows if (tuple(row["settings"]), row["budget"], row["game"]) == (settings, budget, game)
            ]
            if find_losses:
                cold, trained = Mean.from_rows(find_losses, "cold start"), Mean.from_rows(find_losses, "trained")
                line.append(f"{cold.value:+.2f} to {trained.value:+.2f} ({len(find_losses)})")
            else:
                line.append("")
        lines.append(line)
    cpu = sum(row["cold_start_cpu_seconds"] + row["train_cpu_seconds"] for row in rows) / 3600
    return (
        "Mean return against random play after the cold start and after training; in brackets the number of seeds. "
        f"{cpu:.1f} CPU hours.\n\n{table(['settings', 'budget', *games], lines)}"
    )


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.untuned", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("table", "search"))
    parser.add_argument("--games", nargs="+", metavar="GAME", help="only these")
    parser.add_argument("--seeds", type=int, nargs="+", help="only these")
    parser.add_argument("--budget", type=float, default=BUDGET, help="CPU seconds of each run; 240 by default")
    parser.add_argument("--matches", type=int, default=MATCHES, help="matches of each evaluation; 1,000 by default")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side; 2 by default")
    parser.add_argument("--runs", type=Path, default=Path("runs/untuned"), help="where the runs go")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--set", "-s", action="append", default=[], dest="settings", metavar="NAME=VALUE")
    given = parser.parse_args()
    if given.jobs > len(os.sched_getaffinity(0)):
        parser.error(f"--jobs {given.jobs}: each run needs its own core, and this machine has fewer.")
    final = given.what == "table"
    if final and given.settings:
        parser.error("--set: the table is of the shipped defaults. Settings are tried by search.")
    games = given.games or (GAMES if final else DEVELOPMENT)
    seeds = given.seeds or (SEEDS if final else DEVELOPMENT_SEEDS)
    if unfit := [game for game in games if game in GAMES and not final]:
        parser.error(f"--games {unfit[0]}: games of the table are not searched on.")
    learners = (OURS, PPO) if final else (OURS,)
    settings = tuple(given.settings)
    jobs = [Job(game, seed, who, given.budget, settings, final) for seed in seeds for game in games for who in learners]
    name = "untuned" if final else "untuned-search"
    do_all(jobs, given, name, published if final else searched)


if __name__ == "__main__":
    main()
