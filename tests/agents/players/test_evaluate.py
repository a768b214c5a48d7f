"""Evaluation: alternating seats over common deals, with scores overall and by seat."""

from __future__ import annotations

from typing import Any

import pytest

from gymposium.errors import BadOption, GymposiumError, WrongType
from gymposium.games.registry import load_game
from gymposium.match import MatchResult, Schedule
from gymposium.players.grammar import make_player
from gymposium_agents.players.evaluate import evaluate_player


def test_seats_are_swapped_over_common_deals() -> None:
    finished: list[MatchResult] = []
    evaluation = evaluate_player(
        make_player("mcts-20"),
        make_player("random"),
        load_game("leduc_poker"),
        matches=20,
        seed=3,
        tag="t",
        each=finished.append,
    )
    assert evaluation.overall.matches == 20
    seats = [[p.name for p in played.job.players].index("mcts-20") for played in finished]
    assert seats.count(0) == seats.count(1) == 10
    seeds = sorted(played.job.seed for played in finished)
    assert seeds[::2] == seeds[1::2]
    assert len(set(seeds)) == 10


@pytest.mark.parametrize("name", ["tic_tac_toe", "kuhn_poker", "hearts"])
def test_scores_by_seat_add_up_to_the_total(name: str) -> None:
    game, finished = load_game(name), []
    player = make_player("mcts-2")
    evaluation = evaluate_player(player, make_player("random"), game, matches=12, seed=0, tag="t", each=finished.append)
    for seat, score in enumerate(evaluation.by_seat):
        mine = [played for played in finished if played.job.players[seat] is player]
        assert score.matches == len(mine) == 12 // game.seats
        assert score.returns == [played.returns[seat] for played in mine]
        assert sum(score.readings.values()) == sum(turn.seat == seat for played in mine for turn in played.turns)
    assert sorted(evaluation.overall.returns) == sorted(r for score in evaluation.by_seat for r in score.returns)
    data = evaluation.as_dict()
    assert [seat["matches"] for seat in data["seats"]] == [12 // game.seats] * game.seats
    assert data["counts"]["readings"]["move"] == sum(seat["counts"]["readings"]["move"] for seat in data["seats"])


def test_schedules_find_the_same_scores() -> None:
    game = load_game("kuhn_poker")

    def found(schedule: Schedule) -> list[float]:
        players = make_player("mcts-5"), make_player("random")
        evaluation = evaluate_player(*players, game, matches=20, seed=1, tag="t", at_once=4, schedule=schedule)
        return [sum(score.returns) for score in evaluation.by_seat]

    assert found("streaming") == found("rounds")


@pytest.mark.parametrize("name", ["matches", "seed", "at_once"])
@pytest.mark.parametrize("value", [2.5, True, "2", None, -2])
def test_invalid_numbers_are_refused(name: str, value: Any) -> None:
    if (name, value) == ("seed", -2):
        return
    wrong: type[GymposiumError] = BadOption if value == -2 else WrongType
    numbers: dict[str, Any] = {"matches": 2, "seed": 0, name: value}
    with pytest.raises(wrong, match=rf": {name}( must be an integer, not {value!r}|=-2 must be at least 1)"):
        evaluate_player(make_player("random"), make_player("random"), load_game("kuhn_poker"), tag="t", **numbers)


def test_refuses_an_uneven_number_of_matches() -> None:
    with pytest.raises(BadOption, match="multiple of 2"):
        evaluate_player(
            make_player("random"), make_player("random"), load_game("kuhn_poker"), matches=3, seed=0, tag="t"
        )


def test_missing_opponent_is_refused() -> None:
    with pytest.raises(BadOption, match="Name an opponent"):
        evaluate_player(make_player("random"), None, load_game("kuhn_poker"), matches=2, seed=0, tag="t")


def test_single_player_games_need_no_opponent() -> None:
    evaluation = evaluate_player(make_player("random"), None, load_game("2048"), matches=2, seed=0, tag="t")
    assert evaluation.overall.results == {"score": 2}
    assert all(value > 0 for value in evaluation.overall.returns)
    assert len(evaluation.by_seat) == 1
