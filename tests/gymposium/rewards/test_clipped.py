"""`clipped(most)`: clipped pay per turn, subtracted penalties, and refusal of matches without stored pay."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game, make_player, make_reward
from gymposium.errors import BadOption, BadReward
from gymposium.match import MatchJob, play
from gymposium.match.ending import Ending
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.protocol import Reward, split_reward


def random_match(game: str, seed: int, noted: bool = True) -> Trajectory:
    loaded = load_game(game)
    [match] = play([MatchJob("m", loaded, [make_player("random")] * loaded.seats, seed, store_returns=noted)])
    return Trajectory.from_match(match, seed % loaded.seats)


def compute_reward(trajectory: Trajectory, name: str) -> Reward:
    [reward] = make_reward(name)([trajectory])
    return reward


def paid_as(trajectory: Trajectory, before: Sequence[float], utility: float) -> Trajectory:
    """The same turns, with the pay before each of them and at the end."""
    turns = [replace(trajectory.turns[0], before=b, penalty=0.0) for b in before]
    return replace(trajectory, turns=turns, utilities=(utility,))


@settings(max_examples=30)
@given(
    st.sampled_from(["2048", "tic_tac_toe", "leduc_poker", "pig"]), st.sampled_from([0.5, 3.0, 1e6]), st.integers(0, 99)
)
def test_each_turns_pay_is_clipped_to_the_bounds(game: str, most: float, seed: int) -> None:
    mine = random_match(game, seed)
    whole = split_reward(compute_reward(mine, "returns"), mine)
    held = compute_reward(mine, f"clipped({most})")
    assert split_reward(held, mine) == tuple(max(-most, min(most, pay)) for pay in whole)
    assert held.parts["utility"] == mine.utilities[mine.seat]


def test_penalties_are_unclipped_and_forfeits_clipped() -> None:
    mine = paid_as(random_match("2048", 0), [0.0, 4.0, 4.0, 516.0], utility=0.0)
    turns = [mine.turns[0], replace(mine.turns[1], penalty=30.0), *mine.turns[2:]]
    punished = replace(mine, turns=turns, penalties={0: 30.0}, ending=Ending("no legal move", 0))
    reward = compute_reward(punished, "clipped(16)")
    assert reward.turns == (4.0, -30.0, 16.0, -16.0)
    assert reward.total == -26.0
    assert reward.parts == {"utility": 0.0, "clipped": 4.0, "penalties": -30.0}


def test_truncation_costs_no_more_than_it_removed() -> None:
    """A critic's value replaces `cut`, so the rest of the last turn's reward is its pay."""
    mine = paid_as(random_match("2048", 0), [0.0, 8.0], utility=0.0)
    cut = replace(mine, ending=Ending("out of context", 0), paid=12.0)
    reward = compute_reward(cut, "clipped(5)")
    assert reward.turns == (5.0, -5.0)
    assert split_reward(reward, cut)[-1] - reward.cut == 4.0


def test_seat_never_asked_gets_nothing() -> None:
    reward = compute_reward(replace(random_match("tic_tac_toe", 0), turns=()), "clipped(1)")
    assert (reward.total, reward.turns) == (0.0, ())


def test_match_without_stored_pay_is_refused() -> None:
    with pytest.raises(BadReward, match=r"did not store it. Play it with MatchJob\(store_returns=True\)"):
        make_reward("clipped(1)")([random_match("2048", 1, noted=False)])


@pytest.mark.parametrize("text", ["clipped", "clipped()", "clipped(0)", "clipped(-1)", "clipped(inf)", "clipped(much)"])
def test_invalid_bounds_are_refused(text: str) -> None:
    with pytest.raises(BadOption, match=r"Use clipped\(MOST\) with a number above 0"):
        make_reward(text)


def test_group_order_is_kept() -> None:
    group = [random_match("2048", seed) for seed in range(4)]
    random.Random(0).shuffle(group)
    together = make_reward("clipped(4)")(group)
    assert together == [compute_reward(one, "clipped(4)") for one in group]
