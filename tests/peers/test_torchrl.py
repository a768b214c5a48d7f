"""The environments in TorchRL's wrappers, and its recipe, with the real library: `tox run -e torchrl` installs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pettingzoo
import pytest

import gymposium  # noqa: F401  (registers the environments)
from gymposium.envs.table import OutsideSeat
from gymposium.match import MatchResult

torchrl_envs = pytest.importorskip("torchrl.envs", reason="torchrl is not installed: tox run -e torchrl")
check_env_specs = pytest.importorskip("torchrl.envs.utils", reason="torchrl is not installed").check_env_specs

pytestmark = pytest.mark.filterwarnings("default")  # TorchRL's own


@pytest.mark.parametrize("observation", ["tensor", "text"])
def test_gym_env_wrapper_passes_spec_checks(observation: str) -> None:
    env = torchrl_envs.GymEnv("gymposium:TextTicTacToe-v0", observation=observation)
    check_env_specs(env)
    played = env.rollout(20)
    assert 1 <= len(played) <= 5
    assert played["next", "done"][-1].item()


@pytest.mark.parametrize(
    ("kind", "env_id", "keywords"),
    [
        ("aec", "TextTicTacToe-v0", {}),
        ("aec", "TextConnectFour-v0", {}),
        ("aec", "TextKuhnPoker-v0", {}),
        ("aec", "TextGoofspiel-v0", {"num_cards": 4}),
        ("parallel", "TextGoofspiel-v0", {"num_cards": 4}),
    ],
)
def test_pettingzoo_wrapper_passes_spec_checks(kind: Any, env_id: str, keywords: dict[str, Any]) -> None:
    made = pettingzoo.make(kind, env_id, observation="tensor", **keywords)
    env = torchrl_envs.PettingZooWrapper(made, use_mask=True)
    if env_id != "TextKuhnPoker-v0":  # it asks for an action after three steps, and there a match can be over by then
        check_env_specs(env)
    assert len(env.rollout(30, break_when_any_done=False)) == 30
    for seed in range(5):
        env.set_seed(seed)
        played = env.rollout(100)
        assert played["next", "done"][-1].item()
        match = made.unwrapped.played
        assert match is not None
        assert match.ending.seat is None, "masks leave legal moves alone"
        paid = [played["next", group, "reward"].sum(0).flatten().tolist() for group in env.group_map]
        assert [reward for group in paid for reward in group] == pytest.approx(list(match.returns))


def test_ppo_step_learns_from_legal_matches(
    program: Callable[[str], Any], matches: list[MatchResult], replies_of_learner: Callable[[list[MatchResult]], int]
) -> None:
    import torch

    torch.manual_seed(0)
    recipe = program("torchrl_ppo")
    actor, critic = recipe.make_networks(recipe.make_env())
    before = [weights.detach().clone() for weights in (*actor.parameters(), *critic.parameters())]
    batch, losses = recipe.train(actor, critic, frames=256)
    ended = batch["next", "done"]
    assert batch.numel() == 256
    assert int(ended.sum()) == len(matches) > 50
    assert 256 - 5 <= replies_of_learner(matches) <= 256  # the last match goes on
    paid = batch["next", "reward"][ended].tolist()
    assert sorted(paid) == sorted(match.returns[seat_of_learner(match)] for match in matches)
    assert all(losses[name].isfinite() for name in ("loss_objective", "loss_critic", "loss_entropy"))
    assert not any(old.equal(new) for old, new in zip(before, (*actor.parameters(), *critic.parameters())))


def seat_of_learner(match: MatchResult) -> int:
    return next(seat for seat, player in enumerate(match.job.players) if isinstance(player, OutsideSeat))
