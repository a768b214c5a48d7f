"""Check executors: each part returns once, with the same records as in one process, and functions return results."""

from __future__ import annotations

import json
import operator
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any

from gymposium.errors import MissingExtra
from gymposium.match import FORFEIT, play
from gymposium.match.seating import Series
from gymposium.plugins.host import host
from gymposium.plugins.specs import resolve_entry_point
from gymposium.records import RecordLine
from gymposium.runs.executors.protocol import Executor, ExecutorStart, PartResult, RunPart
from gymposium.runs.series import SeriesMatches
from gymposium.util.streams import stream
from gymposium_testing.contract import NORMAL, Effort, NotApplicable, require
from gymposium_testing.parts import PluginPart

WORKERS = 2
MATCHES = 12
"""Number of matches per game."""
GAMES = ("tic_tac_toe", "kuhn_poker")


def executors_match_one_process(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Each part returns once, and its records equal those from one process, except for times."""
    given = list(_make_parts(seed))
    with closing(_make_executor(part)) as executor:
        done = list(executor.run(given))
    _require_each_once(given, done)
    for one in done:
        matches = one.part.matches
        jobs = list(matches.jobs([matches.make_player(name) for name in matches.players], one.part.numbers))
        played = {result.job.id: RecordLine.from_match(result) for result in play(jobs)}
        require(
            _remove_times(one.lines) == _remove_times(played[job.id] for job in jobs),
            f"the records of the matches {one.part.numbers} of {matches.id} differ from those of one process",
            "play each part with gymposium.runs.executors.crew.WorkerPool, and return its lines in order.",
        )


def executors_survive_an_abandoned_run(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """After the iterator of a run is closed early, the executor can play another run."""
    given = list(_make_parts(seed))
    with closing(_make_executor(part)) as executor:
        left = executor.run(given)
        next(left)
        left.close()  # type: ignore[attr-defined]
        _require_each_once(given, executor.run(given))


def executors_call_functions(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """`map` yields each item's number and result once, and raises the function's errors."""
    items = range(3, 23)
    with closing(_make_executor(part)) as executor:
        found = sorted(executor.map(operator.neg, items))
        require(
            found == [(number, -item) for number, item in enumerate(items)],
            f"map gives {found} for {items}",
            "yield (number of the item, result) once for each item.",
        )
        without_length: Any = None
        try:
            list(executor.map(len, [(), without_length]))
        except TypeError:
            return
    require(False, "map does not raise what the function raises", "raise the function's own error.")


def _make_executor(part: PluginPart) -> Executor:
    try:
        executor: Executor = resolve_entry_point(part.spec.entry_point)(
            ExecutorStart(workers=WORKERS, plugins=tuple(host().files))
        )
    except MissingExtra as error:
        raise NotApplicable(str(error)) from error
    return executor


def _make_parts(seed: int) -> Iterator[RunPart]:
    """Yield parts that together contain most of the planned matches of each game."""
    rng = stream(seed, "executors")
    for game in GAMES:
        series = Series(game, game, ("random", "greedy"), MATCHES, rng.getrandbits(31), True, FORFEIT)
        numbers = iter(sorted(rng.sample(range(MATCHES), MATCHES - 2)))
        while some := tuple(islice(numbers, 3)):
            yield RunPart(SeriesMatches(series, series.players), some, at_once=4, watchdog=None)


def _require_each_once(given: Iterable[RunPart], done: Iterable[PartResult]) -> None:
    wanted = Counter((part.matches.id, part.numbers) for part in given)
    found = Counter((one.part.matches.id, one.part.numbers) for one in done)
    require(
        wanted == found,
        f"the parts {sorted(wanted)} came back as {sorted(found.elements())}",
        "yield each part once, after all of its matches are played.",
    )


def _remove_times(lines: Iterable[RecordLine]) -> list[object]:
    """Return the records without the players' thinking times."""
    records = [json.loads(line.text) for line in lines]
    for record in records:
        for turn in record["turns"]:
            turn.pop("seconds", None)
    return records
