"""Call match methods in any order with a hypothesis state machine, which shrinks failing sequences."""

from __future__ import annotations

import random
from contextlib import suppress

from gymposium.errors import IllegalMove
from gymposium.games.protocol import Game, Match
from gymposium_testing.contract import CheckFailed, Effort, describe_position, shorten
from gymposium_testing.parameters import make_settings
from gymposium_testing.positions import Snapshot
from gymposium_testing.walk import draw_moves

_DO = "share no mutable state between matches, and let observe() change nothing."


def run_machine(game: Game, seed: int, effort: Effort) -> None:
    """Try random call sequences. Raises `CheckFailed`, with the shortest failing sequence in its notes."""
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

    numbers = st.integers(0, 2**16)
    which = st.integers(0, 2)

    class Matches(RuleBasedStateMachine):
        """Related matches that must not affect one another."""

        def __init__(self) -> None:
            super().__init__()
            new = game.new(seed)
            loaded = game.load(list(new.events), seed)
            matches = (new, loaded, loaded.fork(random.Random(seed)))
            self.branches = [(match, Snapshot.from_match(match)) for match in matches]
            """Matches, each with its snapshot after the last change."""

        def branch(self, number: int) -> tuple[Match, Snapshot]:
            """Return a match with its snapshot, after checking that it is unchanged."""
            match, expected = self.branches[number]
            expected.compare(match, "a match changes although no move is played in it", fix=_DO)
            return match, expected

        def keep(self, match: Match, expected: Snapshot, what: str) -> None:
            """Check a new match against its expected snapshot, and replace the oldest match."""
            expected.compare(match, what, fix=_DO)
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
                _fail(match, f"the moves {shorten(moves)} are recorded in the events as {shorten(list(new))}")
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
                _fail(match, "the move 'no such move' is accepted")
            self.branches.insert(which, (match, before))

        def teardown(self) -> None:
            for number in range(len(self.branches)):
                self.branch(number)

    run_state_machine_as_test(Matches, settings=make_settings(effort.draws * 5, stateful_step_count=12))


def _fail(match: Match, what: str) -> None:
    raise CheckFailed(f"{what}.", where=describe_position(match), fix=_DO)
