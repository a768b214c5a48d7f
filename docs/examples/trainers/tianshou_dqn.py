"""One update of Tianshou's DQN on tic-tac-toe against random play."""

from typing import Any

import gymnasium
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net
from tianshou.utils.torch_utils import policy_within_training_step


class ForTianshou(gymnasium.Wrapper):
    """A wrapper for Tianshou, which expects the mask in the observation, as `mask` beside `obs`. It omits infos,
    because Tianshou stacks them and the lists of legal moves differ in length."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        space: Any = env.observation_space
        self.observation_space = gymnasium.spaces.Dict({"obs": space["observation"], "mask": space["action_mask"]})

    def reset(self, **given: Any) -> tuple[Any, dict[str, Any]]:
        seen, _ = self.env.reset(**given)
        return {"obs": seen["observation"], "mask": seen["action_mask"]}, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, _ = self.env.step(action)
        return {"obs": seen["observation"], "mask": seen["action_mask"]}, reward, terminated, truncated, {}


def make_env() -> gymnasium.Env:
    return ForTianshou(gymnasium.make("gymposium:TextTicTacToe-v0", observation="dict", seat="random"))


def make_algorithm() -> DQN:
    env: Any = make_env()
    net = Net(state_shape=env.observation_space["obs"].shape, action_shape=env.action_space.n, hidden_sizes=(64, 64))
    policy = DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.1)
    return DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0, target_update_freq=100)


def train(algorithm: DQN, matches: int = 32) -> tuple[VectorReplayBuffer, Any]:
    """Play matches, and learn once from all of their decisions."""
    envs = DummyVectorEnv([make_env] * 8)
    envs.seed(0)
    buffer = VectorReplayBuffer(total_size=8_000, buffer_num=len(envs))
    collector = Collector(algorithm, envs, buffer, exploration_noise=True)
    collector.reset()
    with policy_within_training_step(algorithm.policy):
        played = collector.collect(n_episode=matches)
        learned = algorithm.update(buffer, sample_size=None)
    print(f"{played.n_collected_episodes} matches, mean return {played.returns.mean():+.2f}, loss {learned.loss:.3f}")
    return buffer, learned


if __name__ == "__main__":
    torch.manual_seed(0)
    train(make_algorithm())
