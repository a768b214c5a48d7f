"""One update of PPO, written as CleanRL's ppo.py, on tic-tac-toe against random play with masked actions."""

from typing import Any, NamedTuple

import gymnasium
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor, nn
from torch.distributions import Categorical


class Batch(NamedTuple):
    """The played steps, by step and environment. `dones` says whether an observation is the first of a match."""

    obs: Tensor
    masks: Tensor
    actions: Tensor
    logprobs: Tensor
    values: Tensor
    rewards: Tensor
    dones: Tensor


class Agent(nn.Module):
    """A policy and a value, which share a layer. Illegal actions have no probability."""

    def __init__(self, envs: VectorEnv) -> None:
        super().__init__()
        space: Any = envs.single_observation_space
        actions: Any = envs.single_action_space
        self.trunk = nn.Sequential(nn.Flatten(), nn.Linear(space.sample().size, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, int(actions.n)), nn.Linear(64, 1)

    def forward(self, obs: Tensor, masks: Tensor) -> tuple[Categorical, Tensor]:
        hidden = self.trunk(obs)
        return Categorical(logits=self.actor(hidden).masked_fill(~masks, -1e9)), self.critic(hidden).squeeze(-1)


def make_envs(num_envs: int = 8) -> VectorEnv:
    """Create the environments. With `SameStep`, the observation after a match is the first of the next, as CleanRL
    expects."""
    return gymnasium.make_vec(
        "gymposium:TextTicTacToe-v0", num_envs, observation="tensor", seat="random", autoreset_mode="SameStep"
    )


def play(envs: Any, agent: Agent, num_steps: int = 64, seed: int = 0) -> tuple[Batch, Tensor]:
    """Play, and return the batch and the values of the observations after it (0 where a match is over)."""
    steps = []
    seen, _ = envs.reset(seed=seed)
    done = torch.zeros(envs.num_envs)
    for _ in range(num_steps):
        obs, masks = torch.as_tensor(seen), torch.as_tensor(envs.unwrapped.action_masks()).bool()
        with torch.no_grad():
            policy, value = agent(obs, masks)
        action = policy.sample()
        seen, reward, terminated, truncated, _ = envs.step(action.numpy())
        first, done = done, torch.as_tensor(terminated | truncated).float()
        steps.append((obs, masks, action, policy.log_prob(action), value, torch.as_tensor(reward).float(), first))
    with torch.no_grad():
        _, after = agent(torch.as_tensor(seen), torch.as_tensor(envs.unwrapped.action_masks()).bool())
    return Batch(*map(torch.stack, zip(*steps, strict=True))), (1 - done) * after


def compute_advantages(batch: Batch, after: Tensor, gamma: float = 1.0, gae_lambda: float = 0.95) -> Tensor:
    """Return advantages by generalized advantage estimation."""
    values = torch.cat([batch.values, after[None]])
    goes_on = torch.cat([1 - batch.dones[1:], torch.ones_like(batch.dones[:1])])
    advantages, last = torch.zeros_like(batch.rewards), torch.zeros_like(after)
    for t in reversed(range(len(batch.rewards))):
        delta = batch.rewards[t] + gamma * values[t + 1] * goes_on[t] - batch.values[t]
        advantages[t] = last = delta + gamma * gae_lambda * goes_on[t] * last
    return advantages


def update(agent: Agent, batch: Batch, advantages: Tensor, epochs: int = 4, minibatches: int = 4) -> float:
    """Learn from the batch with the clipped objective, and return the loss of the last minibatch."""
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
    flat = Batch(*(part.flatten(0, 1) for part in batch))
    advantages = advantages.flatten()
    returns, loss = advantages + flat.values, torch.zeros(())
    for _ in range(epochs):
        for rows in torch.randperm(len(returns)).chunk(minibatches):
            policy, values = agent(flat.obs[rows], flat.masks[rows])
            ratio = (policy.log_prob(flat.actions[rows]) - flat.logprobs[rows]).exp()
            scaled = (advantages[rows] - advantages[rows].mean()) / (advantages[rows].std() + 1e-8)
            policy_loss = torch.max(-scaled * ratio, -scaled * ratio.clamp(0.8, 1.2)).mean()
            value_loss = 0.5 * (values - returns[rows]).square().mean()
            loss = policy_loss + 0.5 * value_loss - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    envs = make_envs()
    agent = Agent(envs)
    batch, after = play(envs, agent)
    loss = update(agent, batch, compute_advantages(batch, after))
    print(f"{int(batch.dones.sum())} matches, loss {loss:+.3f}")
