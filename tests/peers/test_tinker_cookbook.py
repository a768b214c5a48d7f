"""The recipe for tinker-cookbook, with the real library and SDK on a stand-in for the service: `tox run -e
tinker-cookbook` installs them."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymposium.records import verify_file

pytest.importorskip("tinker_cookbook", reason="tinker-cookbook is not installed: tox run -e tinker-cookbook")

import torch
from tests.plugins.tinker.stand_in.app import KEY
from tests.plugins.tinker.stand_in.running import running
from tests.plugins.tinker.stand_in.service import StandIn
from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl import train
from tinker_cookbook.rl.rollouts import do_group_rollout
from tinker_cookbook.tokenizer_utils import get_tokenizer

pytestmark = pytest.mark.filterwarnings("default")  # of the library, which uses an old way of its SDK


@pytest.fixture
def recipe(program: Callable[[str], Any]) -> Any:
    torch.set_num_threads(1)
    return program("tinker_cookbook_grpo")


@pytest.fixture
def groups(recipe: Any, model_directory: Path, tmp_path: Path) -> Any:
    """Matches of a model with random weights. What it cannot say is replaced by random moves, so that returns vary."""
    return recipe.TableGroups(
        model_name=str(model_directory),
        renderer_name="role_colon",
        records=tmp_path / "matches.jsonl",
        groups=2,
        size=3,
        on_illegal="random",
    )


def test_training_step_learns_from_complete_matches(
    recipe: Any, groups: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", KEY)
    monkeypatch.setenv("TINKER_TELEMETRY", "0")
    service = StandIn({groups.model_name: 1024})
    with running(service) as server:
        asyncio.run(train.main(recipe.config(groups, tmp_path / "run", server.url)))
    [model] = service.models.values()
    kinds = [kind for kind, _ in service.asked]
    assert "importance_sampling" in kinds
    assert kinds.count("optim_step") == 1
    changed = [weights for name, weights in model.trained.weights().items() if "lora_B" in name]
    assert changed
    assert all(weights.abs().max() > 0 for weights in changed)
    [metrics] = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert metrics["env/all/total_episodes"] == 6
    assert metrics["env/all/by_group/frac_mixed"] > 0  # there is something to learn
    assert math.isfinite(metrics["optim/entropy"])
    assert abs(metrics["optim/kl_sample_train_v1"]) < 1e-5
    verified = verify_file(groups.records)
    assert (verified.matches, verified.problems) == (6, [])


class FirstMove(TokenCompleter):
    """Says the first legal move of the prompt, or something else."""

    def __init__(self, tokenizer: Any, instead: str | None = None) -> None:
        self.tokenizer, self.instead = tokenizer, instead

    async def __call__(self, model_input: Any, stop: Any, *, max_tokens: int | None = None) -> TokensWithLogprobs:
        prompt = self.tokenizer.decode(model_input.to_ints())
        move = self.instead or prompt.partition("Legal moves: ")[2].partition(",")[0].partition("\n")[0]
        tokens = [*self.tokenizer.encode(f" {move}"), self.tokenizer.eos_token_id]
        return TokensWithLogprobs(tokens, [0.0] * len(tokens), stop_reason="stop")


@pytest.mark.parametrize("seed", [0, 1])
def test_group_plays_without_the_service(recipe: Any, groups: Any, seed: int) -> None:
    completer = FirstMove(get_tokenizer(groups.model_name))
    group = asyncio.run(do_group_rollout(recipe.TableGroup(groups, seed), completer))
    assert len(group.trajectories_G) == 3
    assert set(group.get_total_rewards()) <= {-1.0, 0.0, 1.0}
    for trajectory in group.trajectories_G:
        *before, last = trajectory.transitions
        assert last.episode_done
        assert not any(transition.episode_done for transition in before)
        assert 2 <= len(trajectory.transitions) <= 5
    records = [json.loads(line) for line in groups.records.read_text().splitlines()]
    assert [record["returns"][seed % 2] for record in records] == group.get_total_rewards()
    assert verify_file(groups.records).problems == []


def test_illegal_replies_cost_the_configured_penalty(recipe: Any, groups: Any) -> None:
    given = recipe.TableGroups(model_name=groups.model_name, renderer_name="role_colon", records=groups.records, size=1)
    completer = FirstMove(get_tokenizer(groups.model_name), "pass")
    group = asyncio.run(do_group_rollout(recipe.TableGroup(given, 0), completer))
    [trajectory] = group.trajectories_G
    assert [transition.reward for transition in trajectory.transitions][:2] == [-0.5, -0.5]
    assert verify_file(groups.records).problems == []
