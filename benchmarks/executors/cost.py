"""What a Ray cluster costs beside processes of the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from benchmarks.executors.faults import Nodes, ray_executor
from gymposium.runs.executors.local import LocalExecutor
from gymposium.runs.executors.protocol import Executor, RunPart
from gymposium_arena.board import Board
from gymposium_arena.schedule import make_lineups
from gymposium_arena.suite import parse_suite
from gymposium_arena.tournament import LineupMatches, MatchesFile

WORKERS = 2
LENGTHS = {1.0: 20, 10.0: 4}
"""Number of parts that are played, by their length in seconds."""
PAIRS = 3
"""Number of times that both executors play the parts, by turns."""
WARM = 15.0
"""Number of warm-up seconds."""
SIZE, PARTS = 64, 200
"""Number of matches in a part and number of parts for measuring the driver."""


def measured(nodes: Nodes) -> list[dict[str, Any]]:
    """Return the CPU seconds of all processes for the same parts, played by each executor after its workers have
    started."""
    with TemporaryDirectory() as folder:
        matches, _ = _lineup(Path(folder), "mcts-100")
        speed = _speed(matches)
        rows = []
        for seconds, count in LENGTHS.items():
            size = max(1, round(speed * seconds))
            parts = [_part(matches, number * size, size) for number in range(count)]
            local, ray, warm = [], [], max(WORKERS, round(WORKERS * WARM / seconds))
            for _ in range(PAIRS):
                local.append(_measure_cpu(lambda: LocalExecutor(WORKERS), parts, warm))
                ray.append(_measure_cpu(lambda: ray_executor(nodes.address), parts, warm))
            ratios = sorted(one / other for one, other in zip(ray, local, strict=True))
            rows.append(
                {
                    "seconds a part": seconds,
                    "parts": count,
                    "matches a part": size,
                    "CPU s local": median(local),
                    "CPU s ray": median(ray),
                    "ray / local, least": ratios[0],
                    "ray / local, median": median(ratios),
                    "ray / local, most": ratios[-1],
                }
            )
        return rows


def driver(nodes: Nodes) -> dict[str, Any]:
    """Return the driver's CPU time per match of random players, which are written to a file as in a tournament."""
    with TemporaryDirectory() as folder, closing(ray_executor(nodes.address)) as executor:
        matches, board = _lineup(Path(folder), "random")
        parts = [_part(matches, number * SIZE, SIZE) for number in range(PARTS)]
        _play(executor, parts[:4])
        with MatchesFile(board, matches.lineup) as file:
            before = time.process_time()
            for done in executor.run(parts):
                file.append(done.lines)
            file.sort()
            seconds = time.process_time() - before
        return {
            "parts": PARTS,
            "matches a part": SIZE,
            "ms a match": 1e3 * seconds / (PARTS * SIZE),
            "ms a part": 1e3 * seconds / PARTS,
        }


def _lineup(folder: Path, player: str) -> tuple[LineupMatches, Board]:
    """Return the only lineup of a board: a player against greedy play, in many deals."""
    text = f'name = "cost"\ngroups = 100_000\nplayers = ["greedy", "{player}"]\n[[games]]\nname = "tic_tac_toe"'
    board = Board.open_or_create(folder / "board", parse_suite(text))
    entries = board.entries()
    [lineup] = make_lineups(board.suite, entries)
    return LineupMatches(lineup, tuple(entries)), board


def _part(matches: LineupMatches, first: int, size: int) -> RunPart:
    return RunPart(matches, tuple(range(first, first + size)), SIZE, None)


def _speed(matches: LineupMatches) -> float:
    """Return the matches per second of one worker."""
    with closing(LocalExecutor(1)) as executor:
        _play(executor, [_part(matches, 0, 8)])
        [done] = executor.run([_part(matches, 0, 64)])
        return len(done.lines) / done.seconds


def _play(executor: Executor, parts: Sequence[RunPart]) -> None:
    for done in executor.run(parts):
        if done.error is not None:
            raise RuntimeError(done.error)


def _measure_cpu(make: Callable[[], Executor], parts: Sequence[RunPart], warm: int) -> float:
    with closing(make()) as executor:
        _play(executor, [parts[0]] * warm)  # until all workers have started and made their players
        before = sum(_seconds())
        _play(executor, parts)
        return sum(_seconds()) - before


def _seconds() -> Iterator[float]:
    """Return the CPU seconds of this process and all that it started, including the cluster's."""
    here = psutil.Process()
    for process in (here, *here.children(recursive=True)):
        times = process.cpu_times()
        yield times.user + times.system
