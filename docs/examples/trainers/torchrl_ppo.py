"""One step of PPO with TorchRL on tic-tac-toe against random play, with masked actions."""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import ActionMask, Compose, DTypeCastTransform, EnvBase, ExcludeTransform, GymEnv, TransformedEnv
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE


def make_env() -> EnvBase:
    game = GymEnv("gymposium:TextTicTacToe-v0", observation="dict", seat="random", categorical_action_encoding=True)
    boolean = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    return TransformedEnv(game, Compose(ExcludeTransform("text"), boolean, ActionMask()))


def make_networks(env: EnvBase) -> tuple[ProbabilisticActor, ValueOperator]:
    cells, actions = env.observation_spec["observation"].shape.numel(), env.action_spec.n

    def network(outputs: int) -> nn.Module:
        return nn.Sequential(nn.Flatten(-3), nn.Linear(cells, 64), nn.Tanh(), nn.Linear(64, outputs))

    actor = ProbabilisticActor(
        TensorDictModule(network(actions), in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    return actor, ValueOperator(network(1), in_keys=["observation"])


def train(actor: ProbabilisticActor, critic: ValueOperator, frames: int = 256) -> tuple[TensorDict, TensorDict]:
    """Play, learn once from all decisions, and return them with the losses."""
    collector = Collector(
        make_env(), actor, frames_per_batch=frames, total_frames=frames, auto_register_policy_transforms=False
    )
    collector.set_seed(0)
    [batch] = collector
    collector.shutdown()
    GAE(gamma=1.0, lmbda=0.95, value_network=critic)(batch)
    losses = ClipPPOLoss(actor, critic)(batch.flatten())
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3)
    (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
    optimizer.step()
    return batch, losses


if __name__ == "__main__":
    torch.manual_seed(0)
    batch, losses = train(*make_networks(make_env()))
    ended = batch["next", "done"]
    print(f"{int(ended.sum())} matches, mean return {batch['next', 'reward'][ended].mean():+.2f}")
