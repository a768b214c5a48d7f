"""Knights and knaves: knights tell the truth and knaves lie. Who is who?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from gymposium.games.pictures import Picture, draw_note, draw_table
from gymposium.games.rules import Event, Style, make_game_factory
from gymposium.util.streams import Draw
from gymposium.util.visible import quantity
from gymposium_puzzles.puzzle import Attempt, Puzzle

NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn")
MOST_LISTED = 16
"""Maximum number of answers that prompts list."""
Kinds = tuple[bool, ...]
"""Whether each inhabitant is a knight."""


class Statement(NamedTuple):
    """What an inhabitant says."""

    kind: str
    """`knight`, `knave`, `same`, `differ` or `count`."""
    about: tuple[int, ...]
    """The inhabitants in question; for `count`, the number of knights."""


class Island(NamedTuple):
    """A position."""

    statements: tuple[Statement, ...]
    """The statement of each inhabitant."""
    answer: str | None


def is_true(statement: Statement, knights: Kinds) -> bool:
    """Return whether a statement is true if the inhabitants are of these kinds."""
    first, *rest = statement.about
    match statement.kind:
        case "knight":
            return knights[first]
        case "knave":
            return not knights[first]
        case "same":
            return knights[first] == knights[rest[0]]
        case "differ":
            return knights[first] != knights[rest[0]]
        case _:
            return sum(knights) == first


def find_answers(statements: Sequence[Statement]) -> list[Kinds]:
    """Return all kinds of the inhabitants that fit: knights say what is true, and knaves what is false."""
    return [
        knights
        for knights in product((True, False), repeat=len(statements))
        if all(is_true(said, knights) == knight for said, knight in zip(statements, knights, strict=True))
    ]


class KnightsAndKnaves(Puzzle[Island]):
    """Rules of knights and knaves. Statements are drawn until exactly one answer fits, by trying all."""

    name = "knights and knaves"

    def __init__(self, people: int) -> None:
        super().__init__(1)
        self.people = NAMES[:people]
        self.answers = {self.word_answer(knights): knights for knights in product((True, False), repeat=people)}
        self.moves = tuple(self.answers)

    def word_answer(self, knights: Kinds) -> str:
        """Return an answer as a move."""
        return " ".join(f"{name} {'knight' if knight else 'knave'}" for name, knight in zip(NAMES, knights))

    def generate(self, draw: Draw) -> Island:
        while True:
            statements = tuple(self._draw_statement(person, draw) for person in range(len(self.people)))
            if len(find_answers(statements)) == 1:
                return Island(statements, None)

    def _draw_statement(self, person: int, draw: Draw) -> Statement:
        others = [other for other in range(len(self.people)) if other != person]
        kind = draw.pick(
            ("knight", "knave", "same", "differ", "count") if len(others) > 1 else ("knave", "same", "differ")
        )
        if kind == "count":
            return Statement(kind, (draw.below(len(self.people) + 1),))
        if kind in ("same", "differ"):
            return Statement(kind, tuple(draw.some([person, *others], 2)))
        return Statement(kind, (draw.pick(others),))

    def list_moves(self, position: Island) -> Sequence[str]:
        return () if position.answer else self.moves

    def move_form(self, attempt: Attempt[Island], seat: int) -> str:
        if len(self.moves) <= MOST_LISTED:
            return ""
        return f"the kind of everybody, like {self.moves[1]}"

    def step(self, position: Island, move: str) -> Island:
        return position._replace(answer=move)

    def is_solved(self, position: Island) -> bool:
        return position.answer is not None and self.answers[position.answer] == find_answers(position.statements)[0]

    def describe(self, position: Island, style: Style) -> str:
        said = "".join(f"{name}: {self._word(said)}\n" for name, said in zip(NAMES, position.statements))
        return said + (f"You answered: {position.answer}.\n" if position.answer else "")

    def explain(self) -> str:
        return (
            f"On an island live knights, who always tell the truth, and knaves, who always lie. You meet "
            f"{quantity(len(self.people), 'inhabitant')}: {', '.join(self.people)}. From what they say, find out who "
            "is a knight and who is a knave. There is exactly one answer. You score 1 if you name it, otherwise 0."
        )

    def choose(self, position: Island) -> str:
        return self.word_answer(find_answers(position.statements)[0])

    def draw_picture(self, attempt: Attempt[Island], seat: int, events: Sequence[Event]) -> Picture:
        if attempt.position is None:
            return Picture.from_parts(draw_note(self.name), told=self.name)
        rows = [(name, self._word(said)) for name, said in zip(NAMES, attempt.position.statements)]
        note = draw_note(attempt.position.answer or "Who is a knight, and who a knave?")
        told = "; ".join(f"{name} says: {said}" for name, said in rows)
        return Picture.from_parts(draw_table(rows, widths=(1, 4)), note, told=told)

    def _word(self, statement: Statement) -> str:
        if statement.kind == "count":
            return f"Exactly {statement.about[0]} of us {len(self.people)} are knights."
        names = " and ".join(NAMES[person] for person in statement.about)
        endings = {"same": "are of the same kind", "differ": "are of different kinds"}
        return f"{names} {endings.get(statement.kind, f'is a {statement.kind}')}."


game = make_game_factory(KnightsAndKnaves)
