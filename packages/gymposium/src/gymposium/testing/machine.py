"""State machine of hypothesis that calls the methods of matches in any order and shortens failing sequences."""

from __future__ import annotations

import random
from dataclasses import dataclass

from gymposium.errors import IllegalMove
from gymposium.games.protocol import Event, Game, Match
from gymposium.testing.contract import CheckFailed, Effort, after, short
from gymposium.testing.parameters import needs_hypothesis, settings
from gymposium.testing.positions import difference, position
from gymposium.testing.walk import any_moves

_KEPT = 3


@dataclass(slots=True)
class _Branch:
    """A match and its position after the last call that may change it."""

    match: Match
    events: list[Event]
    there: dict[str, object]

    @classmethod
    def of(cls, match: Match) -> _Branch:
        return cls(match, list(match.events), position(match))


def run_machine(game: Game, seed: int, effort: Effort) -> None:
    """Try sequences of calls. Raises `CheckFailed`, whose notes hold the shortest sequence that fails."""
    needs_hypothesis()
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

    numbers = st.integers(0, 2**16)
    which = st.integers(0, _KEPT - 1)

    class Matches(RuleBasedStateMachine):
        """A few matches that came from one another, and must not disturb one another."""

        def __init__(self) -> None:
            super().__init__()
            self.branches = [_Branch.of(game.new(seed))]
            self.touched = 0

        def branch(self, number: int) -> _Branch:
            return self.branches[number % len(self.branches)]

        def keep(self, match: Match) -> None:
            self.branches = [*self.branches[-_KEPT + 1 :], _Branch.of(match)]

        @rule(which=which, number=numbers)
        def move(self, which: int, number: int) -> None:
            branch = self.branch(which)
            if not branch.match.to_move():
                return
            moves = any_moves(branch.match, random.Random(number))
            known = len(branch.events)
            branch.match.apply(moves)
            new = branch.match.events[known:]
            if [(e.seat, e.move) for e in new[: len(moves)]] != sorted(moves.items()) or any(
                event.seat >= 0 for event in new[len(moves) :]
            ):
                _wrong(branch.match, f"the moves {short(moves)} stand in the events as {short(list(new))}")
            self.branches[which % len(self.branches)] = _Branch.of(branch.match)

        @rule(which=which, number=numbers)
        def fork(self, which: int, number: int) -> None:
            branch = self.branch(which)
            fork = branch.match.fork(random.Random(number))
            _alike(fork, branch.events, branch.there, "a fork")
            self.keep(fork)

        @rule(which=which, number=numbers)
        def load(self, which: int, number: int) -> None:
            branch = self.branch(which)
            loaded = game.load(list(branch.events), number)
            _alike(loaded, branch.events, branch.there, "the match that its events load as")
            self.keep(loaded)

        @rule(which=which)
        def refuse(self, which: int) -> None:
            match = self.branch(which).match
            if game.spec.free_text or not match.to_move():
                return
            try:
                match.apply(dict.fromkeys(match.to_move(), "no such move"))
            except IllegalMove:
                return
            _wrong(match, "'no such move' is accepted")

        @invariant()
        def nothing_is_disturbed(self) -> None:
            for branch in self.branches:
                _alike(branch.match, branch.events, branch.there, "a match that nobody played on")

    run_state_machine_as_test(Matches, settings=settings(effort.draws * 5, stateful_step_count=12))


def _alike(match: Match, events: list[Event], there: dict[str, object], what: str) -> None:
    differs = difference(there, position(match))
    if list(match.events) != events or differs is not None:
        _wrong(match, f"{what} has another {differs or 'list of events'} than before")


def _wrong(match: Match, what: str) -> None:
    raise CheckFailed(
        f"{what}.", where=after(match), do="let matches share nothing that changes, and observe() change nothing."
    )
