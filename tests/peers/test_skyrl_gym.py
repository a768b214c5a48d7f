"""The recipe for SkyRL-gym, with the real library: `tox run -e skyrl-gym` installs it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gymposium.records import verify_file

skyrl_gym = pytest.importorskip("skyrl_gym", reason="skyrl-gym is not installed: tox run -e skyrl-gym")


@pytest.fixture
def recipe(program: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    loaded = program("skyrl_gym_table")
    monkeypatch.setattr(loaded, "RECORDS", tmp_path / "matches.jsonl")
    return loaded


def row(seed: int = 7, seat: int = 0, max_turns: int = 20) -> dict[str, Any]:
    return {"seed": seed, "seat": seat, "max_turns": max_turns}


def test_matches_are_completed_and_recorded(recipe: Any) -> None:
    """In threads, as SkyRL's generator does."""
    skyrl_gym.register(id="kuhn_poker", entry_point=recipe.TableEnv, kwargs={"game": "kuhn_poker"})
    rows = [row(seed, seat) for seed in range(5) for seat in range(2)]
    with ThreadPoolExecutor(4) as threads:
        played = [*threads.map(recipe.play, ["tic_tac_toe"] * 10 + ["kuhn_poker"] * 10, rows * 2)]
    verified = verify_file(recipe.RECORDS)
    assert (verified.matches, verified.problems) == (20, [])
    for messages, rewards, metrics in played:
        assert [message["role"] for message in messages] == ["system", *["user", "assistant"] * len(rewards)]
        assert metrics == {"over": True, "replies": len(rewards), "failed_replies": 0}
        assert abs(sum(rewards)) <= 2


def test_rewards_are_returns_and_penalties(recipe: Any) -> None:
    with skyrl_gym.make("tic_tac_toe", env_config={}, extras=row()) as env:
        env.init([])
        output = env.step("z9")
        assert output["reward"] == -0.5
        assert not output["done"]
        assert output["observations"][0]["content"].startswith("The reply could not be read. Legal moves: a3, b3,")
        rewards = [output["reward"]]
        while not output["done"]:
            output = env.step(recipe.my_agent(output["observations"]))
            rewards.append(output["reward"])
        assert output["observations"] == []
        assert sum(rewards) == env.table.played.returns[0]
        assert env.get_metrics()["failed_replies"] == 1


def test_max_turns_ends_a_match_without_a_record(recipe: Any) -> None:
    _, rewards, metrics = recipe.play("tic_tac_toe", row(max_turns=1))
    assert (len(rewards), metrics["over"]) == (1, False)
    assert not recipe.RECORDS.exists()


def test_library_aggregates_metrics(recipe: Any) -> None:
    from skyrl_gym.metrics import aggregate_for_environment

    metrics = [recipe.play("tic_tac_toe", row(seed=seed))[2] for seed in range(3)]
    assert aggregate_for_environment("tic_tac_toe", metrics)["over"] == 1.0
