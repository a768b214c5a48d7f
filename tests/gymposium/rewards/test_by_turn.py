"""Rewards per turn: pay between decisions, cost of failed replies, and their sum."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game, make_player, make_reward
from gymposium.errors import BadReward, UnratedGroup
from gymposium.match import MatchJob, MatchResult, Schedule, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Reply
from gymposium.records.trajectories import Trajectory
from gymposium.replies.reading import READERS
from gymposium.rewards.protocol import CheckedReward, Reward, split_reward

REWARDS = ("returns", "score", "weighted(accuracy=1,efficiency=0.5)")
GAMES = ("tic_tac_toe", "kuhn_poker", "leduc_poker", "goofspiel(num_cards=4)", "2048", "blackjack", "hearts", "pig")
POLICIES = ("forfeit", "random", "retry(2)", "penalty(0.3,4)")


@dataclass
class ClumsyPlayer:
    """Plays at random, and sometimes replies with nonsense."""

    fails: float
    name: str = "clumsy"
    reader = READERS["move"]
    style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply("nonsense" if ask.rng.random() < self.fails else _any(ask)) for ask in asks]


def _any(ask: Ask) -> str:
    return ask.rng.choice(ask.legal_moves or [])


@dataclass
class ScriptedPlayer:
    """Gives these replies in order; None stands for a full context."""

    texts: Sequence[str | None]
    name: str = "says"
    reader = READERS["move"]
    style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        said = [self.texts[ask.turn] for ask in asks]
        return [Reply("", "context") if text is None else Reply(text) for text in said]


def played(
    game: str, *players: ClumsyPlayer | ScriptedPlayer, policy: str = "forfeit", seed: int = 0, noted: bool = True
) -> MatchResult:
    loaded = load_game(game)
    job = MatchJob("m", loaded, players, seed, on_illegal=FailurePolicy.parse(policy), store_returns=noted)
    return next(play([job]))


def split(trajectory: Trajectory, name: str = "returns") -> tuple[float, ...]:
    [reward] = make_reward(name)([trajectory])
    return split_reward(reward, trajectory)


@settings(max_examples=60)
@given(
    game=st.sampled_from(GAMES),
    policy=st.sampled_from(POLICIES),
    fails=st.sampled_from([0.0, 0.02, 0.3]),
    seed=st.integers(0, 2**32),
    noted=st.booleans(),
)
def test_turn_rewards_sum_to_the_total(game: str, policy: str, fails: float, seed: int, noted: bool) -> None:
    match = played(game, *[ClumsyPlayer(fails)] * load_game(game).seats, policy=policy, seed=seed, noted=noted)
    for seat in range(match.job.game.seats):
        mine = Trajectory.from_match(match, seat)
        assert math.isclose(math.fsum(turn.penalty for turn in mine.turns), mine.penalty)
        for name in REWARDS:
            [reward] = make_reward(name)([mine])  # held to its promise there
            assert len(split_reward(reward, mine)) == len(mine.turns)
            if mine.turns:
                assert math.isclose(math.fsum(split_reward(reward, mine)), reward.total, abs_tol=1e-9)


@pytest.mark.parametrize("schedule", ["rounds", "streaming"])
def test_each_move_of_2048_gets_its_pay(schedule: Schedule) -> None:
    """Compares with the match played again, event by event."""
    game = load_game("2048")
    [match] = play([MatchJob("m", game, [make_player("random")], 5, store_returns=True)], schedule=schedule)
    again, paid, moves = game.new(5), [], [event.move for event in match.events if event.seat == 0]
    for move in moves:
        before = again.returns()[0]
        again.apply({0: move})
        paid.append(again.returns()[0] - before)
    assert split(Trajectory.from_match(match, 0)) == tuple(paid)
    assert len({*paid}) > 3


def test_final_payoff_goes_to_the_last_turn() -> None:
    match = played("tic_tac_toe", ScriptedPlayer(["a1", "b1", "c1"]), ScriptedPlayer(["a2", "b2"]))
    assert split(Trajectory.from_match(match, 0)) == (0.0, 0.0, 1.0)
    assert split(Trajectory.from_match(match, 1)) == (0.0, -1.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("returns", (0.0, -0.25, -0.25, 0.0, 1.0)),
        ("score", (0.0, -0.25, -0.25, 0.0, 1.0)),
        ("weighted(accuracy=2)", (0.0, -0.25, -0.25, 0.0, 2.0)),
    ],
)
@pytest.mark.parametrize("noted", [True, False])
def test_penalty_belongs_to_the_failed_turn(name: str, expected: tuple[float, ...], noted: bool) -> None:
    mine = ScriptedPlayer(["a1", "nonsense", "a1", "b1", "c1"])
    match = played("tic_tac_toe", mine, ScriptedPlayer(["a2", "b2"]), policy="penalty(0.25)", noted=noted)
    assert split(Trajectory.from_match(match, 0), name) == pytest.approx(expected)


def test_retried_turn_costs_nothing() -> None:
    mine = ScriptedPlayer(["a1", "nonsense", "b1", "c1"])
    match = played("tic_tac_toe", mine, ScriptedPlayer(["a2", "b2"]), policy="retry(1)")
    assert split(Trajectory.from_match(match, 0)) == (0.0, 0.0, 0.0, 1.0)


def test_forfeit_is_charged_to_the_forfeiting_turn() -> None:
    match = played(
        "tic_tac_toe", ScriptedPlayer(["a1", "nonsense", "nonsense"]), ScriptedPlayer(["a2"]), policy="penalty(0.25,1)"
    )
    assert match.returns == (-1.25, 1.0)
    assert split(Trajectory.from_match(match, 0)) == (0.0, -0.25, -1.0)
    assert split(Trajectory.from_match(match, 1)) == (1.0,)


def test_giving_up_2048_loses_earlier_pay_on_the_last_turn() -> None:
    whole = played("2048", ClumsyPlayer(0.0), seed=3)
    moves: list[str | None] = [event.move for event in whole.events if event.seat == 0][:40]
    match = played("2048", ScriptedPlayer([*moves, None]), seed=3)
    mine = Trajectory.from_match(match, 0)
    assert (mine.truncated, len(mine.turns), mine.returns) == (True, 40, (0.0,))
    found = split(mine)
    assert found[:39] == split(Trajectory.from_match(whole, 0))[:39]
    assert found[39] == -sum(found[:39]) < 0


def test_pay_before_the_first_turn_goes_to_it() -> None:
    mine = Trajectory.from_match(
        played("tic_tac_toe", ScriptedPlayer(["a1", "b1", "c1"]), ScriptedPlayer(["a2", "b2"])), 0
    )
    turns = [replace(turn, before=before) for turn, before in zip(mine.turns, [3.0, 5.0, 4.0], strict=True)]
    assert split(replace(mine, turns=turns, utilities=(10.0, -10.0))) == (5.0, -1.0, 6.0)


def test_pay_is_stored_only_on_request() -> None:
    match = played("tic_tac_toe", ScriptedPlayer(["a1", "b1", "c1"]), ScriptedPlayer(["a2", "b2"]), noted=False)
    assert {turn.before for turn in match.turns} == {None}
    assert [reward.turns for reward in make_reward("returns")([Trajectory.from_match(match, 0)])] == [None]
    assert split(Trajectory.from_match(match, 0)) == (0.0, 0.0, 1.0)


def test_seat_never_asked_has_no_turns() -> None:
    match = played("tic_tac_toe", ScriptedPlayer(["nonsense"]), ScriptedPlayer([]))
    other = Trajectory.from_match(match, 1)
    [reward] = make_reward("returns")([other])
    assert (reward.total, reward.turns, split_reward(reward, other)) == (1.0, None, ())


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ((0.5, 0.5), "trajectory 0 has 3 turns, but 2 rewards for them; give one each, or None."),
        ((), "has 3 turns, but 0 rewards"),
        ((0.5, 0.5, 0.5), "has the total 1.0, but its turns add up to 1.5"),
        ((0.5, math.nan, 0.5), "turn 1 of trajectory 0 is nan"),
    ],
)
def test_invalid_splits_are_refused(turns: tuple[float, ...], message: str) -> None:
    mine = Trajectory.from_match(
        played("tic_tac_toe", ScriptedPlayer(["a1", "b1", "c1"]), ScriptedPlayer(["a2", "b2"])), 0
    )
    with pytest.raises(BadReward, match=message):
        CheckedReward("mine", lambda group: [Reward(1.0, turns=turns)])([mine])


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30), st.randoms())
def test_rounding_errors_are_tolerated(values: list[float], rng: random.Random) -> None:
    mine = Trajectory.from_match(
        played("tic_tac_toe", ScriptedPlayer(["a1", "b1", "c1"]), ScriptedPlayer(["a2", "b2"])), 0
    )
    long = replace(mine, turns=[mine.turns[0]] * len(values))
    shuffled = rng.sample(values, len(values))
    CheckedReward("mine", lambda group: [Reward(sum(shuffled), turns=tuple(values))])([long])


def test_reward_may_decline_to_rate_a_group() -> None:
    def asleep(group: Sequence[Trajectory]) -> list[Reward]:
        raise UnratedGroup("the judge is asleep", "It snored.")

    mine = Trajectory.from_match(
        played("tic_tac_toe", ScriptedPlayer(["a1", "b1", "c1"]), ScriptedPlayer(["a2", "b2"])), 0
    )
    with pytest.raises(UnratedGroup, match=r"not rated: the judge is asleep\. It snored\.") as caught:
        CheckedReward("mine", asleep)([mine])
    assert caught.value.reason == "the judge is asleep"
