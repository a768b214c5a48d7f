"""Two games compared step by step: differences are detected."""

from __future__ import annotations

import pytest

from gymposium import load_game
from gymposium_disguises.stakes import ThreeSigns
from gymposium_disguises.sums import Sums
from gymposium_testing import CheckFailed
from gymposium_testing.in_step import GameComparison


def walk(one: str, other: str) -> GameComparison:
    walks = GameComparison(load_game(one), load_game(other))
    walks.play(200)
    return walks


def test_equal_games_are_compared_position_by_position() -> None:
    walks = walk("tic_tac_toe", "tic_tac_toe(disguise=1)")
    assert walks.positions == 200
    assert walks.matches > 20
    assert len(walks.moves.forward) == 9


def test_different_games_are_distinguished() -> None:
    for one, other, why in (
        ("hex(board_size=3)", "hex(board_size=4)", "legal actions"),
        ("pig", "pig(winscore=5)", "returns|legal actions"),
        ("clobber(rows=3,columns=3)", "dots_and_boxes(num_rows=2,num_cols=2)", "legal actions"),
    ):
        with pytest.raises(CheckFailed, match=why):
            walk(one, other)


def test_incomplete_text_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sums, "lines", lambda self, state, seat: ["free"])
    with pytest.raises(CheckFailed, match="leaves something out"):
        walk("tic_tac_toe", "tic_tac_toe(disguise=1)")


def test_text_beyond_the_view_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ThreeSigns.lines
    monkeypatch.setattr(
        ThreeSigns, "lines", lambda self, state, seat: [*lines(self, state, seat), str(state.history())]
    )
    with pytest.raises(CheckFailed, match="tells more than its view"):
        walk("kuhn_poker", "kuhn_poker(disguise=1)")


def test_changing_move_names_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("tic_tac_toe(disguise=1)")
    names = list(game.names)  # type: ignore[attr-defined]
    walks = GameComparison(load_game("tic_tac_toe"), game)
    walks.play(10)
    names[0], names[1] = names[1], names[0]
    monkeypatch.setattr(game, "names", names)
    with pytest.raises(CheckFailed, match="is named"):
        walks.play(10)
