"""The schedule `rounds`, which plays matches in lockstep.

In each round, every running match asks once, and each player gets one call for all its matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gymposium.match.guard import Answer, Guard, collect_replies
from gymposium.match.match import RunningMatch
from gymposium.match.result import EngineError, MatchJob, MatchResult
from gymposium.match.watchdog import Watchdog
from gymposium.players.protocol import Ask, Player


class JobQueue:
    """Jobs in starting order.

    A job waits while `at_once` matches are open, or as many matches as its game allows (`BoundedGame`)."""

    def __init__(self, jobs: Iterable[MatchJob], at_once: int) -> None:
        self._jobs = iter(jobs)
        self._at_once = at_once
        self._deferred: MatchJob | None = None

    def take(self, open_matches: int) -> MatchJob | None:
        """Return the next job if it may start while this many matches are open.

        Returns None if it must wait, or if no jobs are left."""
        if open_matches >= self._at_once:
            return None
        job, self._deferred = self._deferred or next(self._jobs, None), None
        bound = None if job is None else getattr(job.game, "at_once", None)  # of `BoundedGame`
        if bound is not None and open_matches >= bound:
            self._deferred, job = job, None
        return job


def play_rounds(
    jobs: Iterable[MatchJob], at_once: int, watchdog: Watchdog | None, guard: Guard | None
) -> Iterator[MatchResult]:
    """Run the schedule `rounds` of `gymposium.match.play`."""
    waiting = JobQueue(jobs, at_once)
    running: list[RunningMatch] = []
    while True:
        while (job := waiting.take(len(running))) is not None:
            match = RunningMatch(job)
            try:
                match.begin()
            except EngineError as error:
                yield require_result(error, guard)
            else:
                running.append(match)
        if not running:
            return
        ask_players(running, watchdog, guard)
        unfinished: list[RunningMatch] = []
        # start all matches' moves before waiting for the first, so that slow moves run concurrently
        for match, result in [(match, _catch_engine_error(match.advance, wait=False)) for match in running]:
            if match.waiting is not None:
                result = _catch_engine_error(match.complete_moves)
            if isinstance(result, EngineError):
                result = require_result(result, guard)
            if result is None:
                unfinished.append(match)
            else:
                yield result
        running = unfinished


def _catch_engine_error(
    advance: Callable[..., MatchResult | None], **keywords: bool
) -> MatchResult | EngineError | None:
    try:
        return advance(**keywords)
    except EngineError as error:
        return error


def require_result(error: EngineError, guard: Guard | None) -> MatchResult:
    """Return the match so far, with the reason in its ending.

    Without a guard, raises the error unless a tool failed."""
    if guard is None and not error.is_world_failure:
        raise error
    return error.played


def ask_players(matches: Iterable[RunningMatch], watchdog: Watchdog | None = None, guard: Guard | None = None) -> None:
    """Fill in the missing answers by asking every player once, in one call for all matches.

    An answer stays None if the watchdog fired."""
    desks: dict[int, tuple[Player, list[Ask], list[tuple[list[Answer], int]]]] = {}
    for match in matches:
        players, answers = match.job.players, match.answers
        for index, ask in enumerate(match.asks):
            if answers[index] is None:
                player = players[ask.seat]
                desk = desks.get(id(player))
                if desk is None:
                    desk = desks[id(player)] = (player, [], [])
                desk[1].append(ask)
                desk[2].append((answers, index))
    for player, asks, places in desks.values():
        for (answers, index), answer in zip(places, collect_answers(player, asks, watchdog, guard), strict=True):
            answers[index] = answer


def collect_answers(
    player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None, guard: Guard | None = None
) -> Sequence[Answer]:
    """Return one player's answers to its asks, in order. With a guard, a player's exceptions become answers."""
    return collect_replies(player, asks, watchdog) if guard is None else guard.answers(player, asks, watchdog)
