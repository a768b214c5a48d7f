"""The adapter of TRL's `GRPOTrainer` for the conformance kit of trainers, with `Rollout` on a small model.

    pytest --pyargs gymposium_testing.trainers --trainer gymposium_trl.conformance:GrpoUnderTest

Steps come from `GRPOTrainer.training_step`: TRL scores the rows and computes its loss and gradient.
"""

from __future__ import annotations

import copy
import tempfile
import warnings
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from trl import GRPOConfig, GRPOTrainer

from gymposium.players.protocol import Ask
from gymposium.players.random import RandomPlayer
from gymposium.records.trajectories import Trajectory
from gymposium.util.streams import derive_seed, stream
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.conformance import (
    MUCH,
    SETTINGS,
    STEPPING,
    TRAINING,
    ModelReader,
    MovesByContext,
    compute_reply_gradient,
    flatten_gradients,
    make_small_player_model,
    make_trained_match,
)
from gymposium_agents.models.loading import load_model
from gymposium_testing.trainers import MovePolicy, RolledOut, TokenIds, TrainedRow, TrainerTask, TrainingBudget, Vector
from gymposium_trl.rollout import Rollout

MATCHES_OF_A_ROLLOUT = 256
LEAST_RATE = 2e-4
"""The minimum learning rate in training."""
TRAINING_KL, LEAST_KL = 0.5, 0.02
"""Weight of the KL term at the start of training, and its minimum. It falls with the square of the remaining share of
training, so the policy distinguishes prompts before it becomes confident in its moves."""


@dataclass(frozen=True, slots=True)
class GrpoSettings:
    """Settings of a `GrpoModel` and its updates."""

    size: SmallModel
    imitation: int
    spread: float
    """Number of steps and spread of the initial imitation (`make_small_player_model`)."""
    copies: int
    """Number of matches in a group."""
    epochs: int
    minibatches: int
    """Number of passes over a step's rows, and of minibatches per pass."""
    learning_rate: float


STEPS = GrpoSettings(STEPPING, MUCH, 0.0, copies=4, epochs=1, minibatches=1, learning_rate=2e-3)
TRAININGS = GrpoSettings(TRAINING, 600, 1.2, copies=8, epochs=4, minibatches=8, learning_rate=1e-3)
"""Settings for single steps of the plain policy gradient, and for whole training runs."""


class GrpoUnderTest:
    """A `RowTrainer`: GRPO without normalization, against random play."""

    self_play = False
    seat_baseline = True
    kl = True

    def train(self, task: TrainerTask, budget: TrainingBudget) -> MovePolicy:
        model = GrpoModel(task, budget.seed, TRAININGS)
        rollouts = budget.matches // MATCHES_OF_A_ROLLOUT
        for number in range(rollouts):
            left = 1.0 - number / rollouts
            model.set_learning_rate(max(LEAST_RATE, TRAININGS.learning_rate * left))
            rolled_out = model.roll_out(MATCHES_OF_A_ROLLOUT, derive_seed(budget.seed, number))
            model.step(rolled_out.rows, max(LEAST_KL, TRAINING_KL * left**2))
        return MovesByContext(task, model)

    def begin(self, task: TrainerTask, seed: int) -> GrpoModel:
        return GrpoModel(task, seed, STEPS)


class CopiedRandomPlayer(RandomPlayer):
    """A random player that makes the same draws in all copies of a match, so a group's rewards differ only through the
    model's moves. With independent draws, one training run in four unlearns a prompt in Kuhn poker."""

    def __init__(self, copies: int) -> None:
        self.seed, self._copies = 0, copies

    def _choose(self, ask: Ask) -> str:
        call, _, number = ask.key.rpartition("-")
        moves = ask.legal_moves
        assert moves is not None
        return stream(self.seed, call, int(number) // self._copies, ask.seat, ask.turn).choice(moves)


class GrpoModel:
    """A `GRPOTrainer` as a `TrainingModel`."""

    def __init__(self, task: TrainerTask, seed: int, settings: GrpoSettings) -> None:
        self._settings = settings
        resources = ExitStack()
        weakref.finalize(self, resources.close)
        folder = Path(resources.enter_context(tempfile.TemporaryDirectory()))
        start = make_small_player_model(
            task, seed, size=settings.size, imitation=settings.imitation, spread=settings.spread
        )
        start.save(folder / "model")  # from where TRL loads its reference
        loaded = load_model(folder / "model")
        loaded.model.requires_grad_(True)
        reader = ModelReader(task, loaded.chat)
        self.read, self.replies = reader.read, reader.replies
        self._game = task.game
        self._opponent = CopiedRandomPlayer(settings.copies)
        self._rollout = Rollout(
            task.game,
            opponents=self._opponent,
            prompt=SETTINGS.style,
            reply=SETTINGS.reply,
            max_tokens=SETTINGS.max_tokens,
            on_illegal="forfeit",
        )
        self._given: dict[str, list[Any]] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rollout_func is said to be experimental
            self._trainer: Any = GRPOTrainer(
                model=loaded.model,
                processing_class=loaded.chat.tokenizer,
                train_dataset=self._rollout.dataset(2, seed=seed),
                rollout_func=lambda prompts, trainer: self._given,
                reward_funcs=lambda rewards, **fields: rewards,
                args=_make_config(folder, seed, settings),
            )
        self._trainer.current_gradient_accumulation_steps = 1
        self._trainer.create_optimizer()
        self._model = self._trainer.model.train()
        self._parameters = [*self._model.parameters()]

    def roll_out(self, matches: int, seed: int) -> RolledOut:
        self._trainer.args.seed = self._opponent.seed = seed
        copies = self._settings.copies
        prompts = [row for row in self._rollout.dataset(matches // copies, seed=seed)["prompt"] for _ in range(copies)]
        fields = self._rollout(prompts, self._trainer)
        trajectories: list[Trajectory] = fields["trajectory"]
        rewards = self._rollout.reward(prompts, trajectories, lambda name, value: None)
        rows = []
        for number, (trajectory, reward) in enumerate(zip(trajectories, rewards, strict=True)):
            assert reward is not None  # random play forfeits no match
            before = len(fields["prompt_ids"][number])
            rows.append(
                TrainedRow(
                    number,
                    trajectory.seat,
                    number // copies,
                    (*fields["prompt_ids"][number], *fields["completion_ids"][number]),
                    (*[0] * before, *fields["env_mask"][number]),
                    (*[0.0] * before, *fields["logprobs"][number]),
                    reward,
                    self._trainer.state.global_step,
                )
            )
        matches_played = [make_trained_match(one.events, one.turns) for one in trajectories]
        return RolledOut(tuple(matches_played), tuple(rows))

    def step(self, rows: Sequence[TrainedRow], kl_weight: float = 0.0) -> Vector:
        starts = [row.mask.index(1) for row in rows]
        self._given = {
            "prompt_ids": [[*row.tokens[:start]] for row, start in zip(rows, starts, strict=True)],
            "completion_ids": [[*row.tokens[start:]] for row, start in zip(rows, starts, strict=True)],
            "logprobs": [[*row.log_probs[start:]] for row, start in zip(rows, starts, strict=True)],
            "env_mask": [[*row.mask[start:]] for row, start in zip(rows, starts, strict=True)],
            "rewards": [row.reward for row in rows],
        }
        trainer = self._trainer
        parts = self._settings.minibatches
        trainer.beta, trainer.args.per_device_train_batch_size = kl_weight, len(rows) // parts
        prompts = [{"prompt": f"row {number}"} for number in range(len(rows))]
        for _ in range(self._settings.epochs * parts):
            trainer.optimizer.zero_grad()
            trainer.training_step(trainer.model, prompts, None)
            trainer.optimizer.step()
        direction = -flatten_gradients(self._parameters, [parameter.grad for parameter in self._parameters])
        trainer.state.global_step += 1
        return direction

    def set_learning_rate(self, rate: float) -> None:
        for group in self._trainer.optimizer.param_groups:
            group["lr"] = rate

    @torch.no_grad()
    def log_probs(self, rows: Sequence[TokenIds]) -> list[list[float]]:
        longest, pad = max(map(len, rows)), self._trainer.processing_class.pad_token_id
        ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
        attention = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        found, *_ = self._trainer._get_per_token_logps_and_entropies(self._model, ids, attention, longest - 1)
        return [[0.0, *of_row[: len(row) - 1]] for of_row, row in zip(found.tolist(), rows, strict=True)]

    def gradient(self, prompt: TokenIds, reply: TokenIds) -> Vector:
        return compute_reply_gradient(self._model, self._parameters, prompt, reply)

    def save(self) -> Any:
        trainer = self._trainer
        return copy.deepcopy((self._model.state_dict(), trainer.optimizer.state_dict(), trainer.state.global_step))

    def restore(self, state: Any) -> None:
        weights, optimizer, self._trainer.state.global_step = copy.deepcopy(state)
        self._model.load_state_dict(weights)
        self._trainer.optimizer.load_state_dict(optimizer)


def _make_config(folder: Path, seed: int, settings: GrpoSettings) -> GRPOConfig:
    """Return settings whose single-update steps are the plain policy gradient, with a reference."""
    return GRPOConfig(
        output_dir=str(folder / "trl"),
        num_generations=settings.copies,
        num_iterations=settings.epochs,
        per_device_train_batch_size=2 * settings.copies,
        steps_per_generation=settings.minibatches,
        loss_type="dr_grpo",
        scale_rewards="none",
        max_completion_length=SETTINGS.max_tokens,
        temperature=SETTINGS.temperature,
        beta=1.0,
        learning_rate=settings.learning_rate,
        adam_beta2=0.95,
        max_grad_norm=1e9,
        max_steps=1,
        seed=seed,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
    )
