"""A plugin file with a game that one constant reply wins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gymposium import GameSpec, hookimpl
from gymposium.games.rules import Style, make_game_factory


class Riddle:
    moves = None
    utility_range = (0.0, 1.0)
    max_decisions = 1

    def start(self) -> str:
        return ""

    def to_move(self, answer: str) -> tuple[int, ...]:
        return () if answer else (0,)

    def legal_moves(self, answer: str, seat: int) -> None:
        return None

    def play(self, answer: str, moves: Mapping[int, str]) -> str:
        return moves[0]

    def returns(self, answer: str) -> tuple[float, ...]:
        return (float(answer == "yes"),)

    def rules(self, seat: int, style: Style) -> str:
        return "Is it so?\n"

    def position(self, answer: str, seat: int, style: Style) -> str:
        return f"You said {answer!r}.\n" if answer else "Answer.\n"


game = make_game_factory(Riddle)


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    yield GameSpec(
        name="planted",
        title="Planted",
        summary="A riddle.",
        entry_point="planted:game",
        seats=1,
        utility="score",
        free_text=True,
    )
