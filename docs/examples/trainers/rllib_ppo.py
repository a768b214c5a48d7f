"""One step of RLlib's PPO on tic-tac-toe against random play, with masked actions."""

from typing import Any

import gymnasium
from gymnasium.spaces import Dict, flatten, flatten_space
from gymnasium.wrappers import TransformObservation
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

NAMES = {"observations": "observation", "action_mask": "action_mask"}
"""The keys that RLlib's masking module reads, and the environment's names for them."""


def make_env(keywords: dict[str, Any]) -> gymnasium.Env:
    env = gymnasium.make("gymposium:TextTicTacToe-v0", observation="dict", **keywords)
    parts: Any = env.observation_space
    return TransformObservation(
        env,
        lambda seen: {name: flatten(parts[ours], seen[ours]) for name, ours in NAMES.items()},
        Dict({name: flatten_space(parts[ours]) for name, ours in NAMES.items()}),
    )


def config() -> PPOConfig:
    register_env("tic_tac_toe", make_env)
    return (
        PPOConfig()
        .environment("tic_tac_toe", env_config={"seat": "random"})
        .env_runners(num_env_runners=0, batch_mode="complete_episodes")
        .rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
        .training(train_batch_size_per_learner=64, minibatch_size=32, num_epochs=2, lr=1e-3, gamma=1.0)
        .debugging(seed=0)
    )


if __name__ == "__main__":
    algo: PPO = config().build_algo()
    learned = algo.train()
    played, losses = learned["env_runners"], learned["learners"]["default_policy"]
    print(f"{played['num_episodes']} matches, mean return {played['episode_return_mean']:+.2f}")
    print(f"loss {losses['total_loss']:+.3f}")
    algo.stop()
