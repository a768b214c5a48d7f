"""A seat plays by calling tools."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.gymposium.tasks.guessing import guessing

from gymposium.envs.tool_table import MOVE, ToolTable
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_opponents
from gymposium.records import Record, find_first_difference
from gymposium.tasks.tools import Call


def open_table(game: Game, seat: int = 0, on_illegal: str = "forfeit") -> ToolTable:
    opponents = make_opponents("random", game.seats - 1)
    policy = FailurePolicy.parse(on_illegal)
    return ToolTable(game, seat, opponents, match_id="m", name="caller", seed=4, on_illegal=policy)


def test_game_is_played_with_the_tool_move() -> None:
    table = open_table(load_game("tic_tac_toe"), 1, "retry(1)")
    assert table.tools == (MOVE,)
    shown = table.show()
    assert shown.startswith("Tic-tac-toe on a 3 by 3 board.")
    assert shown.splitlines()[-1].startswith("Legal moves: ")
    assert table.call(Call("move", {"move": "z9"})).startswith("The reply could not be read.")
    text = shown
    while not table.over:
        text = table.call(Call("move", {"move": shown.splitlines()[-1].removeprefix("Legal moves: ").split(", ")[-1]}))
        shown = text if "Legal moves: " in text else shown
    assert text == f"The match is over: {table.finish().result(1)}."
    assert table.call(Call("move", {"move": "a1"})) == "The match is over."
    record = Record.from_match(table.finish())
    assert record.players == ["random", "caller"]
    assert find_first_difference(record) is None


def test_world_is_played_with_its_tools() -> None:
    table = open_table(guessing())
    assert [tool.name for tool in table.tools] == ["guess", "misbehave"]
    assert table.show().endswith("Guess a number from 0 to 9.")
    assert table.call(Call("guess", {"number": 2})) == "higher"
    assert table.call(Call("guess", {"number": 4})) == "right"
    assert table.finish().utilities == (1.0,)


@pytest.mark.parametrize(
    ("policy", "kind"), [("forfeit", "no legal move"), ("retry(3)", "out of context"), ("random", "out of context")]
)
def test_unfinished_match_is_forfeited(policy: str, kind: str) -> None:
    played = open_table(load_game("connect_four"), on_illegal=policy).finish()
    assert (played.ending.kind, played.ending.seat) == (kind, 0)
    assert [turn.reading for turn in played.turns if turn.seat == 0] == ["unparsable"]


def test_engine_failures_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("kuhn_poker")

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    new: Callable[..., object] = fail
    monkeypatch.setattr(type(game), "new", new)
    with pytest.raises(Exception, match="broken"):
        open_table(game)
