"""Commands that are killed at any moment and resumed: `run`, `leaderboard run` and `train`.

A command runs in a separate process group. SIGKILL ends it at a random moment of a random phase: the start, a share of
what an uninterrupted run writes, or the end. Then the command resumes, and its files are compared with those of an
uninterrupted run.

With players whose replies follow from their seeds, all files must be equal except for times. With other players, every
match recorded before the kill must still exist, exactly once.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.robustness.row import Row, Wanted
from gymposium_train.cli.running import NOTHING_LEARNED

_LIMIT = 600.0
"""Seconds for one command; one that takes longer hangs."""
_FICKLE = '''
"""A player whose replies nobody can repeat."""
from secrets import choice

from gymposium import OpponentSpec, hookimpl
from gymposium.players.protocol import Reply
from gymposium.replies.reading import READERS


class Fickle:
    name, reader, style = "fickle", READERS["move"], "compact"

    def act(self, asks):
        return [Reply(choice(ask.legal_moves)) for ask in asks]


@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="fickle", form="fickle", pattern="fickle", summary="F.", entry_point="fickle:Fickle")
'''
_SUITE = """
name = "small"
seed = 1
groups = 6
at_once = 8
players = ["random", "greedy", "mcts-2"]

[[games]]
name = "tic_tac_toe"

[[games]]
name = "kuhn_poker"
"""
_TRAIN = (
    *(
        "--game",
        "kuhn_poker",
        "--steps",
        "3",
        "--seed",
        "3",
        "rollout.groups=2",
        "rollout.group_size=4",
        "rollout.growth=1",
    ),
    *("cold_start.steps=12", "cold_start.matches=120", "cold_start.batch=16", "checkpoints.every=1"),
    *("evaluation.matches=4", "evaluation.search_matches=2", 'evaluation.opponents=["random"]', "evaluation.every=2"),
    *("evaluation.curve_matches=4", "model.small.hidden=32", "model.small.layers=1", "model.small.heads=2"),
)


@dataclass(frozen=True)
class Command:
    """A command that is killed."""

    begin: Sequence[str]
    """Begins the run."""
    resume: Sequence[str]
    """Resumes it, where `begun` is there."""
    folder: Path
    """What the run leaves."""
    begun: str
    """The file whose presence makes the run one that can go on."""
    where: Path
    """The current directory of the command."""

    def start(self) -> subprocess.Popen[bytes]:
        """Begin or resume the run, in a separate process group."""
        arguments = self.resume if (self.folder / self.begun).exists() else self.begin
        return subprocess.Popen(
            [sys.executable, "-m", "gymposium.cli.main", *arguments],
            cwd=self.where,
            env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def finish(self) -> str:
        """Let it run to its end. Returns its output if that is an error, else an empty text."""
        process = self.start()
        try:
            _, errors = process.communicate(timeout=_LIMIT)
        except subprocess.TimeoutExpired:
            _kill(process)
            return f"hung: {shlex.join(self.resume)}"
        return "" if process.returncode in (0, NOTHING_LEARNED) else errors.decode(errors="replace").strip()[-300:]

    def kill_when(self, reached: Callable[[], bool], delay: float) -> bool:
        """Kill it `delay` seconds after a condition holds. Returns False if it ended before."""
        process = self.start()
        began = time.monotonic()
        while process.poll() is None and not reached():
            if time.monotonic() - began > _LIMIT:
                break
            time.sleep(0.001)
        time.sleep(delay)
        ended = process.poll() is not None
        _kill(process)
        return not ended

    def written(self) -> int:
        """Return the bytes in the folder so far. Folders and files that vanish meanwhile count as empty."""
        return sum(_size(Path(folder, name)) for folder, _, names in os.walk(self.folder) for name in names)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def moment(command: Command, whole: int, share: float, rng: random.Random) -> tuple[Callable[[], bool], float]:
    """When to kill, with that share of the tries behind: the first tenth in the start, the last in the end, when all is
    written, and the others between, by how much of `whole` bytes is there."""
    if share < 0.1:
        return (lambda: True), rng.random()
    if share >= 0.9:
        return (lambda: command.written() >= whole), rng.random() * 0.2
    wanted = (share - 0.1) / 0.8 * whole
    return (lambda: command.written() > wanted), rng.random() * 0.01


def tried(command: Command, whole: int, share: float, rng: random.Random, kept: Callable[[Path], list[str]]) -> str:
    """Kill the command once and resume it. Returns what went wrong, else nothing. `kept` finds what must outlive a
    kill."""
    reached, delay = moment(command, whole, share, rng)
    command.kill_when(reached, delay)
    before = kept(command.folder)
    if said := command.finish():
        return f"at {share:.2f}: resume failed: {said}"
    after = kept(command.folder)
    lost = len(set(before) - set(after))
    twice = len(after) - len({_id(line) for line in after})
    return f"at {share:.2f}: {lost} records lost, {twice} matches twice" if lost or twice else ""


def records(folder: Path) -> list[str]:
    """Return every whole record below a folder."""
    files = sorted(folder.rglob("*.jsonl")) if folder.exists() else []
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines(keepends=True)]
    return [line for line in lines if line.startswith('{"id":') and line.endswith("\n")]


def _id(line: str) -> str:
    found: str = json.loads(line)["id"]
    return found


def differences(whole: Path, other: Path) -> list[str]:
    """Return the files that differ in more than times."""
    names = {path.relative_to(folder) for folder in (whole, other) for path in folder.rglob("*") if path.is_file()}
    return sorted(str(name) for name in names if _content(whole / name) != _content(other / name))


def _content(path: Path) -> Any:
    if not path.is_file():
        return None
    if path.suffix == ".json":
        return _without_times(json.loads(path.read_bytes()))
    if path.suffix == ".jsonl":
        return [_without_times(json.loads(line)) for line in path.read_bytes().splitlines()]
    if path.suffix == ".html":
        # one figure draws all metrics of training, times among them; the file of metrics is compared itself
        text = re.sub(r"(?s)(<h2>Training</h2>)\s*<svg.*?</svg>", r"\1", path.read_text(encoding="utf-8"))
        text = re.sub(r"(?m)^<tr><td[^>]*>(?:perf/|[^<]*seconds).*$", "", text)  # rows of times in the table of metrics
        text = re.sub(r'"(?:perf/|[^"]*seconds)[^"]*":\[[^\]]*\],?', "", text)  # and their series
        return re.sub(r"\d+(\.\d+)? (CPU )?s(econds)?\b", "TIME", text)
    return path.read_bytes()


def _without_times(data: Any) -> Any:
    if isinstance(data, list):
        return [_without_times(one) for one in data]
    if isinstance(data, dict):
        return {k: _without_times(v) for k, v in data.items() if "seconds" not in k and not k.startswith("perf/")}
    return data


def attacks(
    make: Callable[[Path], Command], tries: int, rng: random.Random, *, reproducible: bool = True
) -> Iterator[str]:
    """Kill and resume this many times, each in a new folder. Yields what went wrong."""
    with TemporaryDirectory() as home:
        reference = make(Path(home, "whole"))
        if said := reference.finish():
            yield f"the uninterrupted run failed: {said}"
            return
        whole = reference.written()
        for number in range(tries):
            command = make(Path(home, f"try-{number}"))
            if said := tried(command, whole, (number + rng.random()) / tries, rng, records):
                yield said
            elif reproducible and (found := differences(reference.folder, command.folder)):
                yield f"try {number}: not the same: {', '.join(found)}"
            elif len(records(command.folder)) != len(records(reference.folder)):
                yield f"try {number}: {len(records(command.folder))} records"


def a_run(home: Path) -> Command:
    """Return `gymposium run` in rounds, with players whose replies follow from their seeds."""
    home.mkdir()
    begin = ("run", "tic_tac_toe", "--players", "random,greedy", "-n", "300", "--seed", "2", "--out", "run")
    return Command(begin, ("run", "--resume", "run"), home / "run", "settings.json", home)


def a_stream(home: Path) -> Command:
    """Return `gymposium run` with streamed answers of a player that never answers the same."""
    home.mkdir()
    (home / "fickle.py").write_text(_FICKLE)
    begin = ("run", "tic_tac_toe", "--players", "fickle,random", "-n", "300", "--schedule", "streaming", "--out", "run")
    plugin = ("--plugin", "fickle.py")
    return Command((*plugin, *begin), (*plugin, "run", "--resume", "run"), home / "run", "settings.json", home)


def a_board(home: Path) -> Command:
    """Return `gymposium leaderboard run` with two workers."""
    home.mkdir()
    (home / "small.toml").write_text(_SUITE)
    begin = ("leaderboard", "run", "small.toml", "--out", "board", "--jobs", "2")
    again = ("leaderboard", "run", "--out", "board", "--jobs", "2")
    return Command(begin, again, home / "board", "entries/mcts-2/entry.json", home)


def a_training(home: Path) -> Command:
    """Return the smallest `gymposium train` with all stages."""
    home.mkdir()
    return Command(("train", *_TRAIN, "--out", "run"), ("train", "--resume", "run"), home / "run", "config.json", home)


def rows(seed: int, wanted: Wanted) -> Iterator[Row]:
    """Yield a row for each command, and two for `gymposium run`: reproducible players in rounds, and others as they
    come."""
    for what, make, tries in (
        ("`run` in rounds, reproducible players", a_run, 50),
        ("`run` streaming, other players", a_stream, 50),
        ("`leaderboard run`, two workers", a_board, 100),
        ("`train`, cold start to report", a_training, 20),
    ):
        if wanted(what):
            rng = random.Random(f"{seed}/{what}")
            yield Row("kills", what, tries, (*attacks(make, tries, rng, reproducible=make is not a_stream),))
