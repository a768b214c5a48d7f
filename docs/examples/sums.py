"""Sums: one seat answers a question that chance draws, in free text.

gymposium --plugin sums.py play sums
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gymposium import GameSpec, Parameter, hookimpl
from gymposium.games.rules import CHANCE, Style, make_game_factory


class Sum(NamedTuple):
    """A position: the numbers drawn so far, and the answer."""

    numbers: tuple[int, ...] = ()
    answer: str | None = None


class Sums:
    """Rules of sums, with a given number of digits."""

    moves = None  # any text
    utility_range = (0.0, 1.0)
    max_decisions = 1

    def __init__(self, digits: int) -> None:
        self.numbers = dict.fromkeys(map(str, range(10 ** (digits - 1), 10**digits)), 1)

    def start(self) -> Sum:
        return Sum()

    def to_move(self, asked: Sum) -> tuple[int, ...]:
        if len(asked.numbers) < 2:
            return (CHANCE,)
        return (0,) if asked.answer is None else ()

    def chance(self, asked: Sum) -> Mapping[str, float]:
        return self.numbers

    def legal_moves(self, asked: Sum, seat: int) -> None:
        return None

    def play(self, asked: Sum, moves: Mapping[int, str]) -> Sum:
        if CHANCE in moves:
            return asked._replace(numbers=(*asked.numbers, int(moves[CHANCE])))
        return asked._replace(answer=moves[0])

    def returns(self, asked: Sum) -> tuple[float, ...]:
        return (float(asked.answer is not None and asked.answer.strip() == str(sum(asked.numbers))),)

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return "sum\n"
        return "Add two numbers. You get 1 for the right sum, written as digits and nothing else, otherwise 0.\n"

    def position(self, asked: Sum, seat: int, style: Style) -> str:
        question = " + ".join(map(str, asked.numbers))
        said = "" if asked.answer is None else f"You answered {asked.answer!r}.\n"
        return f"{question}\n{said}" if style == "compact" else f"What is {question}?\n{said}"


game = make_game_factory(Sums)


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    yield GameSpec(
        name="sums",
        title="Sums",
        summary="Add two numbers.",
        entry_point="sums:game",
        seats=1,
        parameters=(Parameter(name="digits", default=2, low=1, high=4, help="Digits of each number."),),
        examples=({}, {"digits": 1}),
        chance=True,
        utility="score",
        free_text=True,
        namespace="examples",
    )
