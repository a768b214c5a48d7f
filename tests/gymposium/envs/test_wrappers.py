"""Wrappers: scores, potential shaping, and records of matches."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from gymposium.envs.wrappers import PotentialShaping, RecordMatches, ScoreReward, StepPenalty
from gymposium.errors import BadOption
from gymposium.match.score import match_score
from gymposium.records import Record, read_records, verify_file
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.grammar import make_reward


def play(env: gymnasium.Env[Any, Any], seed: int) -> list[float]:
    """The rewards of one match of random moves."""
    rng, rewards, over = random.Random(seed), [], False
    _, info = env.reset(seed=seed)
    while not over:
        _, reward, over, _, info = env.step(rng.choice(info["legal_moves"]))
        rewards.append(float(reward))
    return rewards


@pytest.mark.parametrize("env_id", ["TextTicTacToe-v0", "TextLeducPoker-v0"])
def test_score_is_paid_at_the_end(env_id: str) -> None:
    env: Any = ScoreReward(gymnasium.make(env_id, seat="random"))
    meaning = {"win": 1.0, "draw": 0.5, "loss": 0.0}
    seen = set()
    for seed in range(60):
        *before, score = play(env, seed)
        result = env.unwrapped.played.result(env.unwrapped.seat)
        assert set(before) <= {0.0}
        assert score == meaning[result]
        seen.add(result)
    assert seen == set(meaning)
    check_env(env.unwrapped)


def test_score_of_forfeits_and_penalties() -> None:
    env: Any = ScoreReward(gymnasium.make("TextTicTacToe-v0", on_illegal="penalty(5,1)"))
    env.reset(seed=0)
    assert env.step("nonsense")[1:3] == (0.0, False)
    assert env.step("nonsense")[1:3] == (-5.0, True)
    _, info = env.reset(seed=1)
    env.step("nonsense")
    over, reward = False, 0.0
    while not over:
        _, reward, over, _, info = env.step(info["legal_moves"][0])
    played = env.unwrapped.played
    (in_training,) = make_reward("score")([Trajectory.from_match(played, 0)])
    assert reward == in_training.total == match_score(played.job.game, played.utilities, 0) - 5.0


def test_step_penalty_is_subtracted_from_each_reward() -> None:
    plain, costly = gymnasium.make("TextConnectFour-v0"), StepPenalty(gymnasium.make("TextConnectFour-v0"), 0.25)
    assert play(costly, 3) == [reward - 0.25 for reward in play(plain, 3)]


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_potential_shaping_shifts_every_return_equally(discount: float) -> None:
    def center(observation: Any, info: dict[str, Any]) -> float:
        return 3.0 + len(info["legal_moves"])

    plain = gymnasium.make("TextTicTacToe-v0")
    shaped = PotentialShaping(gymnasium.make("TextTicTacToe-v0"), center, discount)

    def total(rewards: list[float]) -> float:
        return sum(discount**t * reward for t, reward in enumerate(rewards))

    for seed in range(10):
        rewards = play(shaped, seed)
        assert total(rewards) == pytest.approx(total(play(plain, seed)) - 12.0)  # 3 + 9 free squares at the start
        assert len(set(rewards)) > 1


@pytest.mark.parametrize("env_id", ["TextTicTacToe-v0", "TextLeducPoker-v0", "TextGoofspiel-v0"])
def test_every_finished_match_has_a_valid_record(env_id: str, tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    env = RecordMatches(gymnasium.make(env_id, seat="random", opponent="mcts-5"), path)
    returns = [sum(play(env, seed)) for seed in range(5)]
    env.reset(seed=5)  # is not played
    found = [
        record.returns[record.players.index("env")] for _, record in read_records(path) if isinstance(record, Record)
    ]
    assert found == pytest.approx(returns)
    verified = verify_file(path)
    assert (verified.matches, verified.problems) == (5, [])


def test_threads_share_the_record_file(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"

    def played(first: int) -> None:
        env = RecordMatches(gymnasium.make("TextTicTacToe-v0"), path)
        for seed in range(first, first + 5):
            play(env, seed)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(played, range(0, 20, 5)))
    assert sorted(record.seed for _, record in read_records(path) if isinstance(record, Record)) == [*range(20)]


def test_unsupported_environments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="RecordMatches needs a gymposium text game"):
        RecordMatches(gymnasium.make("CartPole-v1"), tmp_path / "matches.jsonl")
    (tmp_path / "file").touch()
    with pytest.raises(BadOption, match="cannot be written"):
        RecordMatches(gymnasium.make("TextTicTacToe-v0"), tmp_path / "file" / "matches.jsonl")
    with pytest.raises(BadOption, match="needs a gymposium text game, not"):
        ScoreReward(gymnasium.make("CartPole-v1"))
    with pytest.raises(BadOption, match="cost=0 must be a number greater than 0"):
        StepPenalty(gymnasium.make("TextTicTacToe-v0"), 0)
    with pytest.raises(BadOption, match="discount=2 must be a number above 0 and at most 1"):
        PotentialShaping(gymnasium.make("TextTicTacToe-v0"), lambda *_: 0.0, 2)
    with pytest.raises(BadOption, match="the potential is nan"):
        PotentialShaping(gymnasium.make("TextTicTacToe-v0"), lambda *_: float("nan")).reset(seed=1)


def test_wrapped_environment_is_remade_from_its_spec() -> None:
    env = StepPenalty(gymnasium.make("TextTicTacToe-v0"), 0.5)
    assert env.spec is not None
    assert play(gymnasium.make(env.spec), 1) == play(env, 1)
