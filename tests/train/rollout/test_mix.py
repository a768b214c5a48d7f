"""Games are played in proportion to their shares and by difficulty."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.train.rollout.playing import play_sets

from gymposium import load_game, make_player
from gymposium_train.config import RolloutSettings, TrainConfig
from gymposium_train.config.play import Sampling
from gymposium_train.rollout import MatchPlanner
from gymposium_train.rollout.mix import LEAST, GameMix, rotate

some_shares = st.lists(st.floats(0.1, 10.0), min_size=1, max_size=4)


@given(shares=some_shares, length=st.integers(1, 60))
def test_games_have_their_shares_at_any_moment(shares: list[float], length: int) -> None:
    games = Counter(game for game, _ in islice(rotate(shares), length))
    for game, share in enumerate(shares):
        assert abs(games[game] - length * share / sum(shares)) < len(shares)


@given(shares=some_shares, first=st.integers(0, 80))
def test_rotation_can_begin_anywhere(shares: list[float], first: int) -> None:
    assert [*islice(rotate(shares, first), 6)] == [*islice(rotate(shares), first, first + 6)]


@given(games=st.integers(1, 6))
def test_equal_shares_rotate(games: int) -> None:
    expected = [(turn % games, turn // games) for turn in range(4 * games)]
    assert [*islice(rotate([0.1] * games), 4 * games)] == expected


def test_difficulty_prefers_even_games() -> None:
    mix = GameMix({"easy": 1.0, "even": 1.0, "hard": 1.0, "weighted": 2.0}, "difficulty")
    assert mix.compute_shares() == pytest.approx([0.2, 0.2, 0.2, 0.4])
    for _ in range(60):
        mix.note({"easy": [1.0, 1.0], "even": [0.0, 1.0], "hard": [0.1]})
    total = LEAST + 1.0 + 0.36 + 2.0
    assert mix.compute_shares() == pytest.approx([LEAST / total, 1.0 / total, 0.36 / total, 2.0 / total], rel=1e-4)


def test_scores_do_not_change_plain_shares() -> None:
    mix = GameMix({"easy": 1.0, "hard": 3.0}, "shares")
    mix.note({"easy": [1.0]})
    assert mix.compute_shares() == [0.25, 0.75]
    assert mix.scores == {}


def plan_games(planner: MatchPlanner, steps: range) -> list[str]:
    """Play the steps, and return the game of each group."""
    found = []
    for step in steps:
        planned = planner.plan(step)
        found += [one.game.name for one in planned]
        groups, _ = play_sets(planned)
        planner.note(groups)
    return found


@pytest.fixture
def make_planner(new_cast: Any) -> Callable[..., MatchPlanner]:
    def make(games: dict[str, float], sampling: Sampling = "shares", groups: int | None = 4) -> MatchPlanner:
        config = TrainConfig(games=games, rollout=RolloutSettings(groups=groups, group_size=2, sampling=sampling))
        return MatchPlanner(config, [load_game(name) for name in games], new_cast())

    return make


def test_planner_mixes_games_and_seats(make_planner: Any) -> None:
    planner = make_planner({"tic_tac_toe": 2.0, "kuhn_poker": 1.0})
    planned = [one for step in range(6) for one in planner.plan(step)]
    assert Counter((one.game.name, one.seats) for one in planned) == {
        ("tic_tac_toe", (0,)): 8,
        ("tic_tac_toe", (1,)): 8,
        ("kuhn_poker", (0,)): 4,
        ("kuhn_poker", (1,)): 4,
    }


def test_decisions_are_shared_by_weight(make_planner: Any) -> None:
    planner = make_planner({"tic_tac_toe": 3.0, "kuhn_poker": 1.0}, groups=None)
    sets = Counter(one.game.name for one in planner.plan(0))
    turns = {name: sets[name] * planner._turns[name] for name in sets}
    assert turns["tic_tac_toe"] / turns["kuhn_poker"] == pytest.approx(3.0, rel=0.15)


def test_difficulty_resumes_to_the_same_plans(make_planner: Any) -> None:
    games = {"tic_tac_toe": 1.0, "blackjack": 1.0, "kuhn_poker": 1.0}

    def make() -> MatchPlanner:
        planner: MatchPlanner = make_planner(games, "difficulty")
        planner._players["random"] = make_player("mcts-20")
        return planner

    whole, first = make(), make()
    expected = plan_games(whole, range(8))
    begun = plan_games(first, range(4))
    resumed = make()
    resumed.restore(json.loads(json.dumps(first.state())))
    assert begun + plan_games(resumed, range(4, 8)) == expected
    assert whole._mix.scores["tic_tac_toe"] < 0.3  # too hard for random play
    assert whole._mix.compute_shares()[0] < 0.3
