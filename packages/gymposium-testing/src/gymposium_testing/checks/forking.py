"""Checks of forks: they start at the same position, are independent, and draw their own chance outcomes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from gymposium.games.protocol import Event, Game, Match
from gymposium.util.streams import stream
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, after, events_in_words
from gymposium_testing.positions import Snapshot
from gymposium_testing.walk import BEGIN, any_moves, match_seed, play_chance, played, steps

_DO = "let fork(rng) copy everything that changes, including the list of events."
_FORKS = 6
"""Number of forks, with different generators, played out from one position."""


def forks_stand_apart(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A fork has the same position and events as its match, and moves in one do not affect the other."""
    rng = stream(seed, "forks")
    for match in played(game, seed, effort.decisions // 4):
        before = Snapshot.from_match(match)
        fork, kept = match.fork(random.Random(1)), match.fork(random.Random(2))
        for new in (fork, kept):
            before.compare(new, "a fork differs from its match", do=_DO)
        if match.to_move():
            fork.apply(any_moves(fork, rng))
            before.compare(match, "a match changes if its fork is played on", do=_DO)
            if fork.to_move():
                fork.fork(random.Random(3)).apply(any_moves(fork, rng))
            before.compare(kept, "a fork changes if another fork of its match is played on", do=_DO)


def later_chance_is_fresh(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Chance in a fork comes from the given generator, so a fork cannot foresee chance in its match."""
    if not game.spec.chance:
        raise NotApplicable("the game says chance=False")
    free = fresh = number = 0
    left = effort.decisions // 4
    here = game.new(seed)
    while left > 0 or (not fresh and free < 4 and number < 12):
        match = game.new(match_seed(seed, number))
        moves: list[dict[int, str]] = []
        cuts = [list(now.events) for now in steps(match, stream(seed, "moves", number), moves)]
        turn = int(stream(seed, "cut", number).random() * len(moves))
        events = cuts[turn]
        here = game.load(events, match.seed)
        free += _varies((game.load(events, other) for other in range(_FORKS)), events)
        fresh += _varies((here.fork(random.Random(other)) for other in range(_FORKS)), events)
        if _varies((here.fork(random.Random(7)) for _ in range(2)), events):
            _stale(here, "two forks with equal generators draw different chance")
        left -= BEGIN + 2 * _FORKS * (len(moves) - turn)
        number += 1
    if not free:
        raise NotApplicable("nothing is left to chance after the first move")
    if not fresh:
        _stale(here, f"forks with {_FORKS} different generators always draw the same chance")


def _varies(matches: Iterable[Match], events: Sequence[Event]) -> bool:
    """Return whether matches that begin with these events and are played out alike have different chance events."""
    return len({play_chance(match, random.Random(0), len(events)) for match in matches}) > 1


def _stale(match: Match, what: str) -> None:
    raise CheckFailed(
        f"{what}, so search could foresee the dice: {events_in_words(match.events)}.",
        where=after(match),
        do="let fork(rng) draw all later chance from rng, and nothing from the match's own stream.",
    )


def any_order_of_calls_is_fine(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Moves, forks, loads, looks and refused moves do not affect one another in any order (drawn by hypothesis)."""
    from gymposium_testing.machine import run_machine

    run_machine(game, seed, effort)
