"""Check forks: they start at the same position, are independent, and draw their own chance outcomes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from gymposium.games.protocol import Event, Game, Match
from gymposium.util.streams import stream
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, describe_position, format_events
from gymposium_testing.positions import Snapshot
from gymposium_testing.walk import START_COST, derive_match_seed, draw_moves, play_chance, play_matches, play_steps

_DO = "let fork(rng) copy everything that changes, including the list of events."
_FORKS = 6
"""Number of forks played out from one position, each with its own generator."""


def forks_are_independent(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A fork equals its match, and moves in one do not affect the other."""
    rng = stream(seed, "forks")
    for match in play_matches(game, seed, effort.decisions // 4):
        before = Snapshot.from_match(match)
        fork, kept = match.fork(random.Random(1)), match.fork(random.Random(2))
        for new in (fork, kept):
            before.compare(new, "a fork differs from its match", fix=_DO)
        if match.to_move():
            fork.apply(draw_moves(fork, rng))
            before.compare(match, "a match changes if its fork is played on", fix=_DO)
            if fork.to_move():
                fork.fork(random.Random(3)).apply(draw_moves(fork, rng))
            before.compare(kept, "a fork changes if another fork of its match is played on", fix=_DO)


def forks_draw_fresh_chance(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A fork draws chance from the given generator, so it cannot foresee chance in its match."""
    if not game.spec.chance:
        raise NotApplicable("the game says chance=False")
    free = fresh = number = 0
    left = effort.decisions // 4
    here = game.new(seed)
    while left > 0 or (not fresh and free < 4 and number < 12):
        match = game.new(derive_match_seed(seed, number))
        moves: list[dict[int, str]] = []
        cuts = [list(now.events) for now in play_steps(match, stream(seed, "moves", number), moves)]
        turn = int(stream(seed, "cut", number).random() * len(moves))
        events = cuts[turn]
        here = game.load(events, match.seed)
        free += _has_varied_chance((game.load(events, other) for other in range(_FORKS)), events)
        fresh += _has_varied_chance((here.fork(random.Random(other)) for other in range(_FORKS)), events)
        if _has_varied_chance((here.fork(random.Random(7)) for _ in range(2)), events):
            _fail(here, "two forks with equal generators draw different chance")
        left -= START_COST + 2 * _FORKS * (len(moves) - turn)
        number += 1
    if not free:
        raise NotApplicable("nothing is left to chance after the first move")
    if not fresh:
        _fail(here, f"forks with {_FORKS} different generators always draw the same chance")


def _has_varied_chance(matches: Iterable[Match], events: Sequence[Event]) -> bool:
    """Return whether chance differs between matches that start from these events and are played out alike."""
    return len({play_chance(match, random.Random(0), len(events)) for match in matches}) > 1


def _fail(match: Match, what: str) -> None:
    raise CheckFailed(
        f"{what}, so search could foresee the dice: {format_events(match.events)}.",
        where=describe_position(match),
        fix="let fork(rng) draw all later chance from rng, and nothing from the match's own stream.",
    )


def calls_work_in_any_order(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Moves, forks, loads, observations and illegal moves work in any order (drawn by hypothesis)."""
    from gymposium_testing.machine import run_machine

    run_machine(game, seed, effort)
