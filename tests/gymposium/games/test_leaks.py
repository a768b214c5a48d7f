"""The leak check passes on every built-in game and detects each planted leak."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from types import MethodType
from typing import Any

import pyspiel
import pytest

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import Style
from gymposium_testing import LeakReport, assert_no_leaks, check_leaks

HIDING = [
    "kuhn_poker",
    "leduc_poker",
    "goofspiel",
    "goofspiel(num_cards=4)",
    "goofspiel(num_cards=4,points_order=descending)",
    "openspiel:liars_dice",
    "openspiel:phantom_ttt",
]
PLANTED = HIDING[:2] + HIDING[3:5]
OPEN = ["tic_tac_toe", "connect_four", "connect_four(rows=5,columns=4,x_in_row=3)"]


@pytest.mark.parametrize("name", HIDING)
def test_games_with_hidden_information_leak_nothing(name: str) -> None:
    report = assert_no_leaks(load_game(name))
    assert report.found["altered"] >= 20, report
    assert report.found["from scratch"] >= 5, report


@pytest.mark.parametrize("name", OPEN)
def test_open_games_show_everything(name: str) -> None:
    report = assert_no_leaks(load_game(name), matches=8)
    assert report.positions > 100


def test_leak_reports_are_deterministic() -> None:
    assert str(check_leaks(load_game("leduc_poker"), 5)) == str(check_leaks(load_game("leduc_poker"), 5))


# -- planted leaks. A spy tells seat `seat` something of the engine's true state.

Spy = Callable[[pyspiel.State, int], str]


def hidden(state: pyspiel.State, seat: int) -> int | None:
    """Return one thing that the seat may not know: the other seat's card, or its last bid."""
    history = [(step.player, step.action) for step in state.full_history()]
    if state.get_game().get_type().short_name == "goofspiel":
        bids = [action for player, action in history if player == 1 - seat]
        return bids[-1] if bids else None
    return history[1 - seat][1] if len(history) > 1 else None


def everything(state: pyspiel.State, seat: int) -> str:
    return str(state) + str(state.history())


def one_card(state: pyspiel.State, seat: int) -> str:
    return f"psst: {hidden(state, seat)}\n"


def one_bit(state: pyspiel.State, seat: int) -> str:
    """Return the parity of the hidden card. In Leduc poker, where it is only the suit, return that of its rank."""
    card = hidden(state, seat)
    if card is None:
        return ""
    leduc = state.get_game().get_type().short_name == "leduc_poker"
    return "Good luck!\n" if (card // 2 if leduc else card) % 2 else "Good luck.\n"


def add_hint(name: str, spy: Spy, styles: tuple[Style, ...] = ("full", "compact")) -> OpenSpielGame:
    """Return the game with words that add what the spy reveals."""
    game = load_game(name)
    assert isinstance(game, OpenSpielGame)
    wording = copy(game.wording)
    position = wording.position

    def told(self: Any, state: pyspiel.State, seat: int, style: Style) -> str:
        return position(state, seat, style) + (spy(state, seat) if style in styles else "")

    wording.position = MethodType(told, wording)  # type: ignore[method-assign]
    return OpenSpielGame(game.spec, game.params, game.engine, wording)


def things(report: LeakReport) -> set[str]:
    return {leak.what for leak in report.leaks if leak.fault == "leak"}


@pytest.mark.parametrize("spy", [everything, one_card, one_bit])
@pytest.mark.parametrize("name", PLANTED)
def test_leaking_text_is_detected_for_both_seats(name: str, spy: Spy) -> None:
    report = check_leaks(add_hint(name, spy))
    assert things(report) == {"full prompt", "compact prompt"}
    assert {leak.seat for leak in report.leaks} == {0, 1}
    with pytest.raises(AssertionError, match="leak in the full prompt of seat"):
        assert_no_leaks(add_hint(name, spy))


@pytest.mark.parametrize("name", PLANTED)
def test_leak_in_one_style_is_detected(name: str) -> None:
    assert things(check_leaks(add_hint(name, one_bit, styles=("compact",)))) == {"compact prompt"}


class LeakyMatch(OpenSpielMatch):
    """Match that leaks in the place that its game names, but not in the text."""

    __slots__ = ()

    @property
    def where(self) -> str:
        return self.game.where  # type: ignore[attr-defined, no-any-return]

    def _odd(self, seat: int) -> bool:
        return bool(one_bit(self.state, seat).endswith("!\n"))

    def legal_actions(self, seat: int) -> list[int]:
        actions = super().legal_actions(seat)
        return actions[1:] if self.where == "mask" and self._odd(seat) else actions

    def legal_moves(self, seat: int) -> list[str]:
        moves = super().legal_moves(seat)
        return moves[::-1] if self.where == "moves" and self._odd(seat) else moves

    def tensor(self, seat: int) -> Any:
        tensor = super().tensor(seat)
        return tensor + 1 if self.where == "tensor" and self._odd(seat) else tensor

    def _find_action(self, seat: int, move: str) -> int:
        from gymposium.errors import IllegalMove

        try:
            return super()._find_action(seat, move)
        except IllegalMove as error:
            if self.where == "error" and self._odd(seat):
                raise IllegalMove(seat, move, error.legal_moves[::-1]) from None
            raise

    def fork(self, rng: Any) -> LeakyMatch:
        return LeakyMatch(self.game, self.state.clone(), list(self.events), None, rng)


class LeakyGame(OpenSpielGame):
    """Game of the engine whose matches leak in one place."""

    where = ""

    def begin(self, seed: int | None) -> LeakyMatch:
        return LeakyMatch(self, self.engine.new_initial_state(), [], seed, None)


@pytest.mark.parametrize(
    ("where", "caught"),
    [
        ("mask", "legal actions"),
        ("moves", "legal moves"),
        ("tensor", "tensor"),
        ("error", "answer to 'no such move'"),
    ],
)
@pytest.mark.parametrize("name", PLANTED)
def test_leaks_outside_the_text_are_detected(name: str, where: str, caught: str) -> None:
    game = load_game(name)
    assert isinstance(game, OpenSpielGame)
    leaky = LeakyGame(game.spec, game.params, game.engine, game.wording)
    leaky.where = where
    assert caught in things(check_leaks(leaky))


@pytest.mark.slow
def test_worlds_from_scratch_reveal_the_hidden_move_count() -> None:
    """Resampling events keeps their number. In phantom tic-tac-toe a failed try is a hidden event."""
    game = load_game("openspiel:phantom_ttt")
    assert isinstance(game, OpenSpielGame)
    wording = type(game.wording)("Phantom", game.seats, use_board=False)
    position = wording.position

    def told(self: Any, state: pyspiel.State, seat: int, style: Style) -> str:
        return position(state, seat, style) + f"move {len(state.history())}\n"

    wording.position = MethodType(told, wording)  # type: ignore[method-assign]
    counting = OpenSpielGame(game.spec, {}, game.engine, wording)
    assert {"full prompt", "compact prompt"} <= things(check_leaks(counting, matches=30))


@pytest.mark.parametrize(
    ("name", "forgotten"),
    [
        ("kuhn_poker", r"card . *\n|Your card: .\. "),
        ("leduc_poker", r"public ..|Public card: ..\."),
        ("goofspiel(num_cards=4)", r"points .*\n|Round \d: .*\n|past .*\n"),
        ("tic_tac_toe", r" . .\n"),
        ("connect_four", r"(?m)^.*[xo.].*\n"),
    ],
)
def test_incomplete_text_is_detected(name: str, forgotten: str) -> None:
    game = load_game(name)
    assert isinstance(game, OpenSpielGame)
    wording = copy(game.wording)
    position = wording.position

    def told(self: Any, state: pyspiel.State, seat: int, style: Style) -> str:
        return re.sub(forgotten, "", position(state, seat, style))

    wording.position = MethodType(told, wording)  # type: ignore[method-assign]
    wording.draw_picture = game.wording.draw_picture  # type: ignore[attr-defined]  # of the whole text
    report = check_leaks(OpenSpielGame(game.spec, game.params, game.engine, wording))
    faults = {(leak.fault, leak.what) for leak in report.leaks}
    assert faults == {("blind prompt", "full prompt"), ("blind prompt", "compact prompt")}


class CoarseViewGame(OpenSpielGame):
    """Game whose view holds less than its text tells."""

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return str(super().render_view(state, seat).count("x"))


def test_view_coarser_than_the_text_is_reported() -> None:
    game = load_game("tic_tac_toe")
    assert isinstance(game, OpenSpielGame)
    report = check_leaks(CoarseViewGame(game.spec, game.params, game.engine, game.wording))
    assert any(leak.fault in ("leak", "coarse view") for leak in report.leaks)


class TransparentGame(OpenSpielGame):
    """Game whose view shows the true state, so that no two worlds look alike."""

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{state}"


def test_check_without_comparisons_does_not_pass() -> None:
    game = load_game("kuhn_poker")
    assert isinstance(game, OpenSpielGame)
    glass = TransparentGame(game.spec, game.params, game.engine, game.wording)
    assert check_leaks(glass).worlds == 0
    with pytest.raises(AssertionError):
        assert_no_leaks(glass)
