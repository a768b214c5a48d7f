"""The schedule `rounds`: lock-step. In each round every live match asks once, and each player is asked in one call
for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gymposium.driver.match import Live, MatchJob, Played
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.watchdog import Watchdog


def rounds(jobs: Iterable[MatchJob], at_once: int, watchdog: Watchdog | None) -> Iterator[Played]:
    """As `gymposium.driver.play`."""
    waiting = iter(jobs)
    live: list[Live] = []
    while True:
        while len(live) < at_once and (job := next(waiting, None)) is not None:
            live.append(Live.begin(job))
        if not live:
            return
        ask_players(live, watchdog)
        still: list[Live] = []
        for one in live:
            played = one.go_on()
            if played is None:
                still.append(one)
            else:
                yield played
        live = still


def ask_players(live: Iterable[Live], watchdog: Watchdog | None = None) -> None:
    """One round: every player gives the replies that are not there yet, in one call for all matches; None
    stays where the watchdog fired."""
    desks: dict[int, tuple[Player, list[Ask], list[tuple[list[Reply | None], int]]]] = {}
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
        for (replies, index), reply in zip(places, replies_of(player, asks, watchdog), strict=True):
            replies[index] = reply


def replies_of(player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> Sequence[Reply | None]:
    """What one player gives to its asks, in order; None where the watchdog fired."""
    given = player.act(asks) if watchdog is None else watchdog.act(player, asks)
    if given is None:
        return [None] * len(asks)
    if len(given) != len(asks):
        raise ValueError(f"player {player.name} gave {len(given)} replies to {len(asks)} asks.")
    return given
