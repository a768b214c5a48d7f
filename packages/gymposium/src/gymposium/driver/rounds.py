"""The schedule `rounds`: lock-step. In each round every live match asks once, and each player is asked in one call
for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gymposium.driver.guard import Answer, Guard
from gymposium.driver.match import Live
from gymposium.driver.result import EngineError, MatchJob, MatchResult
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.watchdog import Watchdog


def rounds(
    jobs: Iterable[MatchJob], at_once: int, watchdog: Watchdog | None, guard: Guard | None
) -> Iterator[MatchResult]:
    """As `gymposium.driver.play`."""
    waiting = iter(jobs)
    live: list[Live] = []
    while True:
        while len(live) < at_once and (job := next(waiting, None)) is not None:
            try:
                live.append(Live.begin(job))
            except EngineError as error:
                yield told(error, guard)
        if not live:
            return
        ask_players(live, watchdog, guard)
        still: list[Live] = []
        for one in live:
            try:
                played = one.go_on()
            except EngineError as error:
                played = told(error, guard)
            if played is None:
                still.append(one)
            else:
                yield played
        live = still


def told(error: EngineError, guard: Guard | None) -> MatchResult:
    """Under a guard the match so far, which says what broke it off. Raises the error without one."""
    if guard is None:
        raise error
    return error.played


def ask_players(live: Iterable[Live], watchdog: Watchdog | None = None, guard: Guard | None = None) -> None:
    """One round: every player gives the replies that are not there yet, in one call for all matches; None
    stays where the watchdog fired."""
    desks: dict[int, tuple[Player, list[Ask], list[tuple[list[Answer], int]]]] = {}
    for one in live:
        players, replies = one.job.players, one.replies
        for index, ask in enumerate(one.asks):
            if replies[index] is None:
                player = players[ask.seat]
                desk = desks.get(id(player))
                if desk is None:
                    desk = desks[id(player)] = (player, [], [])
                desk[1].append(ask)
                desk[2].append((replies, index))
    for player, asks, places in desks.values():
        for (replies, index), answer in zip(places, answers_of(player, asks, watchdog, guard), strict=True):
            replies[index] = answer


def replies_of(player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> Sequence[Reply | None]:
    """What one player gives to its asks, in order; None where the watchdog fired."""
    given = player.act(asks) if watchdog is None else watchdog.act(player, asks)
    if given is None:
        return [None] * len(asks)
    if len(given) != len(asks):
        raise ValueError(f"player {player.name} gave {len(given)} replies to {len(asks)} asks.")
    return given


def answers_of(
    player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None, guard: Guard | None = None
) -> Sequence[Answer]:
    """The same under a guard, where there is one."""
    return replies_of(player, asks, watchdog) if guard is None else guard.answers(player, asks, watchdog)
