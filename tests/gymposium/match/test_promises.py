"""A match that breaks its game's promises is an error of the game."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from gymposium import GameSpec, Parameter, make_player
from gymposium.envs.gym import TextGameEnv
from gymposium.errors import PluginError
from gymposium.games.rules import RulesError, RulesGame, Style, make_game_factory
from gymposium.match import BrokenPromise, EngineError, MatchJob, play


class Counting:
    """Seats say "go" in turn until the last of `decisions`; then `pay` is paid."""

    moves = ("go", "run")
    utility_range = (-1.0, 1.0)

    def __init__(self, pay: tuple[float, ...] = (1.0, -1.0), decisions: int = 4, promised: int = 4) -> None:
        self.pay, self.decisions, self.max_decisions = pay, decisions, promised

    def start(self) -> int:
        return 0

    def to_move(self, count: int) -> tuple[int, ...]:
        return () if count == self.decisions else (count % len(self.pay),)

    def legal_moves(self, count: int, seat: int) -> tuple[str, ...]:
        return self.moves

    def play(self, count: int, moves: Any) -> int:
        return count + 1

    def returns(self, count: int) -> tuple[float, ...]:
        return self.pay if count == self.decisions else (0.0,) * len(self.pay)

    def rules(self, seat: int, style: Style) -> str:
        return "Count.\n"

    def position(self, count: int, seat: int, style: Style) -> str:
        return f"{count}\n"


def counting(utility: str, pay: tuple[float, ...], decisions: int = 4) -> RulesGame[int]:
    facts: dict[str, Any] = {"utility": utility, "seats": len(pay)}
    spec = GameSpec(name="counting", title="C", summary="C.", entry_point="x:game", **facts)
    return make_game_factory(lambda: Counting(pay, decisions))(spec, {})


BROKEN = {
    "range": (
        counting("general_sum", (1.0, -1.5)),
        r"counting: final returns \(1.0, -1.5\) are outside utility_ra",
    ),
    "nan": (counting("general_sum", (1.0, float("nan"))), "counting: returns must be one finite number"),
    "zero sum": (counting("zero_sum", (1.0, 1.0)), "counting: the spec has utility='zero_sum', but .* sum to 2"),
    "cooperative": (counting("cooperative", (1.0, 0.5)), "counting: the spec has utility='cooperative', but .* equal"),
    "longer": (counting("zero_sum", (1.0, -1.0), 5), "counting: max_decisions is 4, but the match continues"),
    "endless": (counting("zero_sum", (1.0, -1.0), -1), "counting: max_decisions is 4, but the match continues"),
}


@pytest.mark.parametrize("opening", [0, 2])
@pytest.mark.parametrize("case", BROKEN)
def test_broken_promise_error_names_the_game(case: str, opening: int) -> None:
    game, complaint = BROKEN[case]
    with pytest.raises(EngineError, match=complaint) as caught:
        list(play([MatchJob("m", game, [make_player("random")] * 2, 1, opening=opening)]))
    assert isinstance(caught.value.__cause__, BrokenPromise)
    env: gymnasium.Env[Any, Any] = TextGameEnv(game, opponent="random")
    env.reset(seed=0)
    with pytest.raises(EngineError, match=complaint):
        _ = [env.step("go") for _ in range(4)]


def test_playouts_of_an_endless_game_end() -> None:
    game = counting("zero_sum", (1.0, -1.0), -1)
    with pytest.raises(RulesError, match="max_decisions is 4, but the match continues"):
        list(play([MatchJob("m", game, [make_player("mcts-4"), make_player("random")], 1)]))


def test_kept_promises_raise_nothing() -> None:
    [result] = play([MatchJob("m", counting("zero_sum", (1.0, -1.0)), [make_player("random")] * 2, 1)])
    assert (result.returns, len(result.turns)) == ((1.0, -1.0), 4)


PLAYERS = Parameter(name="players", default=3, low=1, high=6, help="P.")


class Many(Counting):
    def __init__(self, players: int) -> None:
        self.seats = players
        super().__init__((0.0,) * players)


def test_players_parameter_sets_the_number_of_seats() -> None:
    spec = GameSpec(name="many", title="M", summary="M.", entry_point="x:game", seats=3, parameters=(PLAYERS,))
    assert [make_game_factory(Many)(spec, {"players": number}).seats for number in (1, 3, 5)] == [1, 3, 5]


def test_rules_and_spec_must_agree_on_seats() -> None:
    spec = GameSpec(name="many", title="M", summary="M.", entry_point="x:game", seats=3)
    with pytest.raises(PluginError, match=r"seats is 2, but the spec gives this game 3 seats. Set seats=2 in the spec"):
        make_game_factory(lambda: Many(2))(spec, {})


def test_spec_seats_must_match_the_players_default() -> None:
    with pytest.raises(ValueError, match="seats=2 must be the default of its parameter players, 3"):
        GameSpec(name="many", title="M", summary="M.", entry_point="x:game", parameters=(PLAYERS,))
