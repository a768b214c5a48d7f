"""The schedule `rounds`, which plays matches in lockstep.

In each round every running match asks once, and each player is asked for all of them in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gymposium.match.guard import Answer, Guard
from gymposium.match.match import RunningMatch
from gymposium.match.result import EngineError, MatchJob, MatchResult
from gymposium.match.waiting import JobQueue
from gymposium.match.watchdog import Watchdog
from gymposium.players.asking import ask_player
from gymposium.players.protocol import Ask, Player, Reply


def rounds(
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
                yield result_or_raise(error, guard)
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
                result = result_or_raise(result, guard)
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


def result_or_raise(error: EngineError, guard: Guard | None) -> MatchResult:
    """Return the match so far with the reason. Raises the error if there is no guard, unless a tool failed."""
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


def collect_replies(player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> Sequence[Reply | None]:
    """Return one player's replies to its asks, in order, or None for each if the watchdog fired."""
    replies = ask_player(player, asks) if watchdog is None else watchdog.act(player, asks)
    return [None] * len(asks) if replies is None else replies


def collect_answers(
    player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None, guard: Guard | None = None
) -> Sequence[Answer]:
    """Return one player's answers to its asks, in order. With a guard, exceptions become answers."""
    return collect_replies(player, asks, watchdog) if guard is None else guard.answers(player, asks, watchdog)
