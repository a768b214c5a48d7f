"""Checks of forks: they start at the same position, are independent, and draw their own chance."""

from __future__ import annotations

import random

from gymposium.games.protocol import CHANCE, Event, Game, Match
from gymposium.streams import stream
from gymposium.testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, after, events_in_words
from gymposium.testing.positions import difference, position
from gymposium.testing.walk import BEGIN, any_moves, match_seed, play_out, played, steps

_FORKS = 6


def forks_stand_apart(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A fork has the same position and events as its match, and moves in one change nothing in the other."""
    rng = stream(seed, "forks")
    for match in played(game, seed, effort.decisions // 4):
        events, there = list(match.events), position(match)
        fork, kept = match.fork(random.Random(1)), match.fork(random.Random(2))
        for what, one in (("a fork", fork), ("a fork", kept)):
            _as_it_was(one, events, there, what)
        if match.to_move():
            fork.apply(any_moves(fork, rng))
            _as_it_was(match, events, there, "a match whose fork was played on")
            fork.fork(random.Random(3)).apply(any_moves(fork, rng)) if fork.to_move() else None
            _as_it_was(kept, events, there, "a fork whose sister was played on")


def _as_it_was(match: Match, events: list[Event], there: dict[str, object], what: str) -> None:
    differs = difference(there, position(match))
    if list(match.events) != events or differs is not None:
        raise CheckFailed(
            f"{what} differs from the position that it was made at: {differs or 'its events'}.",
            where=after(match),
            do="copy everything that changes, the list of events too.",
        )


def later_chance_is_fresh(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Chance in a fork comes from the generator that it is given, so a fork cannot foresee chance in its match."""
    if not game.spec.chance:
        raise NotApplicable("the game says chance=False")
    free = fresh = number = 0
    left = effort.decisions // 4
    here = game.new(seed)
    while left > 0 or (not fresh and free < 4 and number < 12):
        match = game.new(match_seed(seed, number))
        given: list[dict[int, str]] = []
        cuts = [list(now.events) for now in steps(match, stream(seed, "moves", number), given)]
        turn = int(stream(seed, "cut", number).random() * len(given))
        here, start = game.load(cuts[turn], match.seed), len(cuts[turn])
        loads = {_chance(game.load(cuts[turn], other), start) for other in range(_FORKS)}
        forks = {_chance(here.fork(random.Random(other)), start) for other in range(_FORKS)}
        same = {_chance(here.fork(random.Random(7)), start) for _ in range(2)}
        if len(same) > 1:
            _stale(here, "two forks with equal generators draw other chance")
        free += len(loads) > 1
        fresh += len(forks) > 1
        left -= BEGIN + 2 * _FORKS * (len(given) - turn)
        number += 1
    if not free:
        raise NotApplicable("nothing is left to chance after the first move")
    if not fresh:
        _stale(here, f"forks with {_FORKS} different generators always draw the same chance")


def _chance(match: Match, start: int) -> tuple[Event, ...]:
    """Return the chance events of the rest of a match."""
    play_out(match, random.Random(0))
    return tuple(event for event in match.events[start:] if event.seat == CHANCE)


def _stale(match: Match, what: str) -> None:
    raise CheckFailed(
        f"{what}, so that search would foresee the dice: {events_in_words(match.events)}.",
        where=after(match),
        do="let fork(rng) draw all later chance from rng, and nothing from the match's own stream.",
    )


def any_order_of_calls_is_fine(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Moves, forks, loads, looks and refused moves do not affect one another in any order (hypothesis draws them)."""
    from gymposium.testing.machine import run_machine

    run_machine(game, seed, effort)
