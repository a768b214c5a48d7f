"""Nim, the last stick wins: a whole game in one file.

    gymposium --plugin nim.py play nim

`Nim` is the rules, `NimMatch` one play of them, and the hook at the end puts the game on offer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from gymposium import GameSpec, Parameter, hookimpl
from gymposium.errors import BadRecord, GymposiumError, IllegalMove, WrongSeat
from gymposium.games.protocol import Event, Observation, Style

MOST = 3


class Nim:
    """The rules, with a number of sticks."""

    seats = 2
    utility_range = (-1.0, 1.0)
    num_actions = MOST
    move_pattern: re.Pattern[str] | None = re.compile(r"take \d+")

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        self.spec = spec
        self.params: Mapping[str, Any] = MappingProxyType(dict(params))
        self.name = spec.full_name(params)
        self.sticks: int = params["sticks"]
        self.max_decisions = self.sticks
        self.tensor_shape: tuple[int, ...] | None = (self.sticks + 1,)

    def rules(self, seat: int, style: Style = "full") -> str:
        if style == "compact":
            return "nim\n"
        order = "first" if seat == 0 else "second"
        return (
            f"Nim for two players. {self.sticks} sticks lie on the table. In turn, each player takes 1 to {MOST} of "
            f"them. Whoever takes the last stick wins.\nYou move {order}.\n"
        )

    def new(self, seed: int) -> NimMatch:
        return NimMatch(self, seed)

    def load(self, events: Sequence[Event], seed: int | None = None) -> NimMatch:
        match = NimMatch(self, seed)
        for number, (seat, move) in enumerate(events):
            try:
                match.apply({seat: move})
            except GymposiumError as error:
                raise BadRecord(f"Event {number}: {error}") from error
        return match


class NimMatch:
    """One play."""

    def __init__(self, game: Nim, seed: int | None) -> None:
        self.game, self.seed = game, seed
        self.events: list[Event] = []
        self.left = game.sticks

    def to_move(self) -> tuple[int, ...]:
        return (len(self.events) % 2,) if self.left else ()

    def legal_actions(self, seat: int) -> list[int]:
        return list(range(min(MOST, self.left))) if seat in self.to_move() else []

    def legal_moves(self, seat: int) -> list[str]:
        return [f"take {action + 1}" for action in self.legal_actions(seat)]

    def observe(self, seat: int, style: Style = "full") -> Observation:
        legal = self.legal_moves(seat)
        if style == "compact":
            return Observation(seat, f"{self.left} left\nlegal {', '.join(legal)}\n", legal)
        return Observation(seat, f"Sticks left: {self.left}.\n", legal)

    def view(self, seat: int) -> str:
        return f"{self.left} left, to move {self.to_move()}"  # nothing is hidden

    def tensor(self, seat: int) -> np.ndarray:
        one_hot = np.zeros(self.game.sticks + 1, np.float32)
        one_hot[self.left] = 1.0
        return one_hot

    def apply(self, moves: Mapping[int, str]) -> None:
        if set(moves) != set(self.to_move()):
            raise WrongSeat(moves, self.to_move())
        ((seat, move),) = moves.items()
        legal = self.legal_moves(seat)
        if move not in legal:
            raise IllegalMove(seat, move, legal)
        self.left -= legal.index(move) + 1
        self.events.append(Event(seat, move))

    def returns(self) -> tuple[float, ...]:
        if self.left:
            return (0.0, 0.0)
        winner = self.events[-1].seat
        return (1.0, -1.0) if winner == 0 else (-1.0, 1.0)

    def fork(self, rng: random.Random) -> NimMatch:
        return self.game.load(self.events)  # no chance: rng has nothing to decide

    def resample(self, seat: int, rng: random.Random) -> NimMatch:
        return self.fork(rng)  # nothing is hidden: this world is the only one


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    yield GameSpec(
        name="nim",
        title="Nim",
        summary="Take one to three sticks; the last one wins.",
        entry_point="nim:Nim",
        parameters=(Parameter(name="sticks", default=11, low=1, high=100, help="Sticks at the start."),),
        examples=({}, {"sticks": 4}),
        namespace="examples",
    )
