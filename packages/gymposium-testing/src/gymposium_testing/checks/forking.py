"""Check forks: they start at the same position, are independent, and draw their own chance outcomes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from contextlib import suppress

from gymposium.errors import IllegalMove
from gymposium.games.protocol import Event, Game, Match
from gymposium.util.streams import stream
from gymposium_testing.contract import (
    NORMAL,
    CheckFailed,
    Effort,
    NotApplicable,
    describe_position,
    format_events,
    shorten,
)
from gymposium_testing.parameters import make_settings
from gymposium_testing.positions import Snapshot
from gymposium_testing.walk import START_COST, derive_match_seed, draw_moves, play_chance, play_matches, play_steps

_FIX_FORK = "let fork(rng) copy everything that changes, including the list of events."
_FIX_CALL = "share no mutable state between matches, and let observe() change nothing."
_FORKS = 6
"""Number of forks that are played out from one position, each with a different generator."""


def forks_are_independent(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A fork equals its match, and moves in one do not affect the other."""
    rng = stream(seed, "forks")
    for match in play_matches(game, seed, effort.decisions // 4):
        before = Snapshot.from_match(match)
        fork, kept = match.fork(random.Random(1)), match.fork(random.Random(2))
        for new in (fork, kept):
            before.compare(new, "a fork differs from its match", fix=_FIX_FORK)
        if match.to_move():
            fork.apply(draw_moves(fork, rng))
            before.compare(match, "a match changes if its fork is played on", fix=_FIX_FORK)
            if fork.to_move():
                fork.fork(random.Random(3)).apply(draw_moves(fork, rng))
            before.compare(kept, "a fork changes if another fork of its match is played on", fix=_FIX_FORK)


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
            _fail_chance(here, "two forks with equal generators draw different chance")
        left -= START_COST + 2 * _FORKS * (len(moves) - turn)
        number += 1
    if not free:
        raise NotApplicable("nothing is left to chance after the first move")
    if not fresh:
        _fail_chance(here, f"forks with {_FORKS} different generators always draw the same chance")


def _has_varied_chance(matches: Iterable[Match], events: Sequence[Event]) -> bool:
    """Return whether chance differs between matches that start from these events and continue with the same moves."""
    return len({play_chance(match, random.Random(0), len(events)) for match in matches}) > 1


def _fail_chance(match: Match, what: str) -> None:
    raise CheckFailed(
        f"{what}, so search could foresee the dice: {format_events(match.events)}.",
        where=describe_position(match),
        fix="let fork(rng) draw all later chance from rng, and nothing from the match's own stream.",
    )


def calls_work_in_any_order(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Moves, forks, loads, observations and illegal moves work in any order (drawn by hypothesis)."""
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

    numbers = st.integers(0, 2**16)
    which = st.integers(0, 2)

    class Matches(RuleBasedStateMachine):
        """Related matches, which must not affect one another."""

        def __init__(self) -> None:
            super().__init__()
            new = game.new(seed)
            loaded = game.load(list(new.events), seed)
            matches = (new, loaded, loaded.fork(random.Random(seed)))
            self.branches = [(match, Snapshot.from_match(match)) for match in matches]
            """Matches, each with a snapshot taken after its last change."""

        def branch(self, number: int) -> tuple[Match, Snapshot]:
            """Return a match with its snapshot, after checking that the match is unchanged."""
            match, expected = self.branches[number]
            expected.compare(match, "a match changes although no move is played in it", fix=_FIX_CALL)
            return match, expected

        def keep(self, match: Match, expected: Snapshot, what: str) -> None:
            """Check a new match against its expected snapshot, and replace the oldest match."""
            expected.compare(match, what, fix=_FIX_CALL)
            self.branch(0)
            self.branches = [*self.branches[1:], (match, expected)]

        @rule(which=which, number=numbers)
        def move(self, which: int, number: int) -> None:
            match, before = self.branch(which)
            if not match.to_move():
                return
            moves = draw_moves(match, random.Random(number))
            del self.branches[which]  # until the call has succeeded
            match.apply(moves)
            new = match.events[len(before.events) :]
            if [(e.seat, e.move) for e in new[: len(moves)]] != sorted(moves.items()) or any(
                event.seat >= 0 for event in new[len(moves) :]
            ):
                _fail_call(match, f"the moves {shorten(moves)} are recorded in the events as {shorten(list(new))}")
            self.branches.insert(which, (match, Snapshot.from_match(match)))

        @rule(which=which, number=numbers)
        def fork(self, which: int, number: int) -> None:
            match, expected = self.branch(which)
            self.keep(match.fork(random.Random(number)), expected, "a fork differs from its match")

        @rule(which=which, number=numbers)
        def load(self, which: int, number: int) -> None:
            _, expected = self.branch(which)
            loaded = game.load(list(expected.events), number)
            self.keep(loaded, expected, "a match loaded from the events of another differs from it")

        @rule(which=which)
        def refuse(self, which: int) -> None:
            match, before = self.branch(which)
            if game.spec.free_text or not match.to_move():
                return
            del self.branches[which]  # until the call has succeeded
            with suppress(IllegalMove):
                match.apply(dict.fromkeys(match.to_move(), "no such move"))
                _fail_call(match, "the move 'no such move' is accepted")
            self.branches.insert(which, (match, before))

        def teardown(self) -> None:
            for number in range(len(self.branches)):
                self.branch(number)

    run_state_machine_as_test(Matches, settings=make_settings(effort.draws * 5, stateful_step_count=12))


def _fail_call(match: Match, what: str) -> None:
    raise CheckFailed(f"{what}.", where=describe_position(match), fix=_FIX_CALL)
