"""TRL's loss and gymposium-train's have the same values and gradients on rows of the same matches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from gymposium.records.trajectories import Trajectory
from gymposium.rewards.grammar import make_reward
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import build_config
from gymposium_train.credit.make import make_credit
from gymposium_train.credit.protocol import is_tied
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.learner.rows import Row
from gymposium_train.rollout import Group
from gymposium_train.rollout.samples import make_episodes, rows_to_learn, weigh_turns

from .runs import COPIES, QUIET, RecordingRollout, trainer_for

pytestmark = QUIET

LOW, HIGH = 0.1, 0.25
NEAR = 1e-5


def make_config(model: Path, objective: dict[str, Any], aggregate: Any) -> TrainConfig:
    return build_config(
        {
            "games": ["leduc_poker"],
            "model": {"name": str(model), "tune": "full"},
            "credit": {"kind": "grpo", "normalise": False},
            "objective": {**objective, "aggregate": aggregate},
            "kl": {"weight": 0.0},
            "legality": {"weight": 0.0},
            "prompting": {"reply": "move", "temperature": 0.8},
            "optimizer": {
                "epochs": 1, "minibatches": 1, "max_grad_norm": 1e9, "target_kl": 0.0,
            },
        }
    )  # fmt: skip


def make_rows(trajectories: list[Trajectory], config: TrainConfig) -> list[Row]:
    """The rows that gymposium-train learns from, with its rewards, its credit and its weights of tokens."""
    groups, credit = [], make_credit(config.credit)
    for start in range(0, len(trajectories), COPIES):
        group = trajectories[start : start + COPIES]
        rewards = make_reward("returns")(group)
        [credited] = credit([make_episodes(Group(role="", trajectories=group, rewards=tuple(rewards)))])
        assert not is_tied(credited)  # gymposium leaves groups of equal rewards out, and TRL counts them
        groups.append(credited)
    rows = rows_to_learn(weigh_turns(groups, config.objective.aggregate, longest=10**6))
    assert len(rows) == len(trajectories)
    return rows


def perturb(model: Any) -> None:
    """Change the weights so much that ratios leave their bounds."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.02 * torch.randn(parameter.shape, generator=generator)


@pytest.fixture
def stepped() -> Iterator[list[torch.Tensor]]:
    """The whole gradient of each optimizer step to come."""
    found: list[torch.Tensor] = []

    def note(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        found.append(torch.cat([parameter.grad.flatten() for parameter in parameters]))

    handle = register_optimizer_step_pre_hook(note)
    yield found
    handle.remove()


CLIPPED = {"clip_low": LOW, "clip_high": HIGH}


@pytest.mark.parametrize("moved", [False, True], ids=["first", "later"])
@pytest.mark.parametrize(
    ("trl", "objective", "aggregate"),
    [
        ({"loss_type": "grpo"}, {"kind": "ppo", **CLIPPED}, "sequence"),
        ({"loss_type": "dapo"}, {"kind": "ppo", **CLIPPED}, "token"),
        ({"loss_type": "bnpo"}, {"kind": "ppo", **CLIPPED}, "token"),
        ({"loss_type": "dr_grpo", "max_completion_length": 64}, {"kind": "ppo", **CLIPPED}, 64),
        # TRL's bound is the ratio itself
        (
            {"loss_type": "cispo", "epsilon_high": 1.0 + HIGH},
            {"kind": "cispo", "clip_low": 1.0, "clip_high": HIGH},
            "token",
        ),
        # without a lower bound on the ratio and with one from above, this is the truncated policy gradient
        ({"loss_type": "cispo", "epsilon_high": 1.28}, {"kind": "pg", "cap": 1.28}, "token"),
    ],
    ids=["grpo", "dapo", "bnpo", "dr_grpo", "cispo", "pg"],
)
def test_loss_matches_gymposium_train(
    trl: dict[str, Any],
    objective: dict[str, Any],
    aggregate: Any,
    moved: bool,
    model_directory: Path,
    tmp_path: Path,
    stepped: list[torch.Tensor],
) -> None:
    rollout = RecordingRollout("leduc_poker", prompt="compact", max_tokens=4, on_illegal="random")
    settings = {"epsilon": LOW, "epsilon_high": HIGH, "temperature": 0.8, "scale_rewards": "none", "beta": 0.0, **trl}
    trainer = trainer_for(rollout, model_directory, tmp_path, **settings)
    prompts = [{**row} for row in trainer.train_dataset.select(range(2)) for _ in range(COPIES)]
    inputs = trainer._generate_and_score_completions(prompts)
    [(_, fields)] = rollout.given
    config = make_config(model_directory, objective, aggregate)
    rows = make_rows(fields["trajectory"], config)
    assert [span.advantage for row in rows for span in row.spans] == pytest.approx(
        [float(inputs["advantages"][number]) for number, row in enumerate(rows) for _ in row.spans], abs=1e-6
    )
    assert max(len(row.spans) for row in rows) > 1

    loaded: LoadedModel = load_model(model_directory)
    loaded.model.requires_grad_(True)
    if moved:
        perturb(trainer.model)
        perturb(loaded.model)
        # as with a reused batch or a server: ratios to what the engine reported
        inputs["old_per_token_logps"] = inputs["sampling_per_token_logps"]
    trainer.current_gradient_accumulation_steps = 1
    expected = trainer._compute_loss(trainer.model, inputs)
    gradients = torch.autograd.grad(expected, [*trainer.model.parameters()])

    learner = LocalLearner(loaded.model, loaded.pad, config.optimizer, loss=Loss.from_config(config))
    metrics = learner.update(rows, learning_rate=0.0)
    assert (metrics["train/clipfrac"] > 0.05) == moved
    whole = sum(span.weight * len(span) for row in rows for span in row.spans)  # the metric is a mean
    assert metrics["train/policy_loss"] * whole == pytest.approx(expected.item(), abs=NEAR)
    [found] = stepped
    torch.testing.assert_close(found, torch.cat([one.flatten() for one in gradients]), rtol=1e-4, atol=NEAR)
    assert float(found.norm()) > 100 * NEAR
