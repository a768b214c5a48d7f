"""This trainer's adapter for the trainer conformance kit: rollouts, credit, learner and publishing on a small model.

pytest --pyargs gymposium_testing.trainers --trainer gymposium_train.conformance:SelfPlayTrainer
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

from gymposium.match import MatchResult
from gymposium.players.protocol import Ask
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.grammar import make_reward
from gymposium.rewards.protocol import Reward
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import BASE, Completion, TurnTokens
from gymposium_agents.conformance import (
    LITTLE,
    MUCH,
    SETTINGS,
    STEPPING,
    TRAINING,
    ModelReader,
    compute_reply_gradient,
    flatten_gradients,
    make_small_player_model,
    make_trained_match,
)
from gymposium_agents.models.loading import LoadedModel
from gymposium_testing.trainers import MovePolicy, RolledOut, TokenIds, TrainedRow, TrainerTask, TrainingBudget, Vector
from gymposium_train.backends.local_model import LocalModel
from gymposium_train.backends.trainee import make_trainee
from gymposium_train.config import Entropy, Kl, Legality, Optimizer, Prompting, RolloutSettings, Stage, TrainConfig
from gymposium_train.config.schedules import RunProgress
from gymposium_train.credit.baseline import BaselineSettings
from gymposium_train.credit.make import make_credit
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.learner.rows import make_rows
from gymposium_train.objective.pg import PgSettings
from gymposium_train.rollout import Group, MatchPlanner, MatchRollouts
from gymposium_train.rollout.plan import MatchGroup
from gymposium_train.run.loop import Training

LEARNING_RATE = 1e-2
TRAINING_STEPS, GROUPS, GROUP_SIZE = 150, 32, 4


class SelfPlayTrainer:
    """This trainer as a `RowTrainer`: a training run with nearly default settings, and single steps of plain policy
    gradient with a baseline per seat."""

    self_play = True
    seat_baseline = True
    kl = True

    def train(self, task: TrainerTask, budget: TrainingBudget) -> MovePolicy:
        steps = min(TRAINING_STEPS, budget.matches // (GROUPS * GROUP_SIZE))
        model = LearningUnderTest(task, budget.seed, make_training_config(task, budget.seed, steps), TRAINING, LITTLE)
        for step in range(steps):
            groups, _ = model.training.play(step)
            model.training.learn(step, groups)
            model.training.trainee.publish()
        return model.policy

    def begin(self, task: TrainerTask, seed: int) -> LearningUnderTest:
        return LearningUnderTest(task, seed, make_step_config(task, seed), STEPPING, MUCH)


class LearningUnderTest:
    """A `Training` of the loop as a `TrainingModel`."""

    def __init__(self, task: TrainerTask, seed: int, config: TrainConfig, size: SmallModel, imitation: int) -> None:
        self._game, self._config = task.game, config
        loaded = self._loaded = make_small_player_model(
            task, seed, config.prompting.context, size=size, imitation=imitation
        )
        reader = ModelReader(task, loaded.chat, config.prompting.context)
        self.read, self.replies = reader.read, reader.replies
        self._learner = LocalLearner(
            loaded.model, loaded.pad, self._config.optimizer, loss=Loss.from_config(self._config)
        )
        self._parameters = [*self._learner.named.values()]
        resources = ExitStack()
        weakref.finalize(self, resources.close)
        folder = Path(resources.enter_context(tempfile.TemporaryDirectory()))
        self._states = (folder / f"state-{number}" for number in count())
        self.training = self._make_training(loaded, folder, resources)
        self.training.trainee.publish()

    def _make_training(self, loaded: LoadedModel, folder: Path, resources: ExitStack) -> Training:
        model = LocalModel(self._config, loaded, self._learner)
        trainee = resources.enter_context(make_trainee(self._config, folder, model, [self._game]))
        return Training(
            config=self._config,
            trainee=trainee,
            source=MatchRollouts(MatchPlanner(self._config, [self._game], trainee.players)),
            credit=make_credit(self._config.credit),
            reward=make_reward("returns"),
            pace=RunProgress(self._config),
        )

    def roll_out(self, matches: int, seed: int) -> RolledOut:
        rollout = RolloutSettings(groups=matches, group_size=1, growth=1.0)
        config = self._config.model_copy(update={"seed": seed, "rollout": rollout})
        played: list[MatchResult] = []
        planner = MatchPlanner(config, [self._game], self.training.trainee.players)
        groups, _ = MatchRollouts(planner, record=played.append).roll_out(0)
        numbers: dict[str | None, int] = {one.job.id: number for number, one in enumerate(played)}
        rows = [_list_rows(numbers[one.match], group, one) for group in groups for one in group.trajectories]
        return RolledOut(
            tuple(make_trained_match(one.events, one.turns) for one in played), tuple(chain.from_iterable(rows))
        )

    def step(self, rows: Sequence[TrainedRow], kl_weight: float = 0.0) -> Vector:
        kl = self._config.kl.model_copy(update={"weight": kl_weight})
        self.training.config = self._config.model_copy(update={"kl": kl})
        for parameter in self._parameters:
            parameter.grad = None  # no update if nothing can be learned
        by_seat = sorted(rows, key=lambda row: (row.match, row.seat))
        groups = [make_row_group([*of_seat]) for _, of_seat in groupby(by_seat, key=lambda row: (row.match, row.seat))]
        self.training.learn(0, groups)
        direction = -flatten_gradients(self._parameters, [parameter.grad for parameter in self._parameters])
        self.training.trainee.publish()
        return direction

    def log_probs(self, rows: Sequence[TokenIds]) -> list[list[float]]:
        return [[0.0, *found] for found in self._learner.score([(row[:1], row[1:]) for row in rows])]

    def gradient(self, prompt: TokenIds, reply: TokenIds) -> Vector:
        return compute_reply_gradient(self._loaded.model, self._parameters, prompt, reply)

    def policy(self, ask: Ask) -> list[float]:
        """Return the rollout player's move probabilities."""
        (found,) = self.training.trainee.player.distributions([ask])
        return [found.legal_mass * p for p in found.probabilities]

    def save(self) -> Path:
        state = next(self._states)
        state.mkdir()
        self._learner.save_state(state)
        return state

    def restore(self, state: Any) -> None:
        self._learner.load_state(state)
        self.training.trainee.publish()


def make_training_config(task: TrainerTask, seed: int, steps: int) -> TrainConfig:
    """Return the config of a training run. Settings have their defaults, except where a short run on a small model
    needs others."""
    return TrainConfig(
        games=(task.game.name,),
        seed=seed,
        steps=steps,
        stages=(Stage(opponents={task.opponent: 1.0}),),
        prompting=_make_prompting("state"),
        rollout=RolloutSettings(groups=GROUPS, group_size=GROUP_SIZE, growth=1.0),
        entropy=Entropy(weight=0.3),
        optimizer=Optimizer(learning_rate=3e-3),
    )


def make_step_config(task: TrainerTask, seed: int) -> TrainConfig:
    """Return the config of plain policy-gradient steps, with the KL term of the loss."""
    return TrainConfig(
        games=(task.game.name,),
        seed=seed,
        steps=1,
        stages=(Stage(opponents={task.opponent: 1.0}),),
        prompting=_make_prompting("full"),
        credit=BaselineSettings(normalise=False),
        objective=PgSettings(aggregate=1.0),
        kl=Kl(weight=1.0, final_share=1.0),
        legality=Legality(weight=0.0),
        optimizer=Optimizer(
            learning_rate=LEARNING_RATE, warmup_steps=0, epochs=1, minibatches=1, max_grad_norm=1e9, target_kl=0.0
        ),
    )


def _make_prompting(context: str) -> Prompting:
    return Prompting(
        prompt=SETTINGS.style,
        reply=SETTINGS.reply,
        context=context,
        max_tokens=SETTINGS.max_tokens,
        temperature=SETTINGS.temperature,
        on_illegal="forfeit",
    )


@dataclass(frozen=True, slots=True)
class RowTurn:
    """A turn in a row (a `TracedTurn`)."""

    trace: TurnTokens


@dataclass(frozen=True, slots=True)
class RowTrajectory:
    """The rows of one seat in one match (a `TokenTrajectory`)."""

    turns: tuple[RowTurn, ...]
    truncated: bool = False
    unanswered: None = None

    @classmethod
    def from_rows(cls, rows: Sequence[TrainedRow]) -> RowTrajectory:
        """Make the trajectory of some rows."""
        turns = []
        for row in rows:
            places = [*chain([0], row.mask, [0])]
            starts = [n for n in range(len(row.mask)) if places[n + 1] > places[n]]
            stops = [n for n in range(1, len(row.mask) + 1) if places[n + 1] < places[n]]
            for start, stop in zip(starts, stops, strict=True):
                sampled = Completion(row.tokens[start:stop], row.log_probs[start:stop], "stop", BASE)
                turns.append(RowTurn(TurnTokens(row.tokens[:start], sampled)))
        return cls(tuple(turns))


def make_row_group(rows: Sequence[TrainedRow]) -> Group:
    """Make a group of one trajectory, the rows of a seat in a match, with their reward."""
    return Group(
        role=f"seat {rows[0].seat}",
        trajectories=[RowTrajectory.from_rows(rows)],
        rewards=(Reward(rows[0].reward),),
    )


def _list_rows(number: int, group: MatchGroup, trajectory: Trajectory) -> list[TrainedRow]:
    """Return the rows of one seat in one match, as the learner gets them."""
    (version,) = {turn.trace.completion.policy.version for turn in trajectory.turns}
    reward = trajectory.returns[trajectory.seat]
    found = []
    for row in make_rows([turn.trace for turn in trajectory.turns]):
        mask, log_probs = [0] * len(row.ids), [0.0] * len(row.ids)
        for span in row.spans:
            mask[span.start : span.stop] = [1] * len(span)
            log_probs[span.start : span.stop] = span.engine
        found.append(TrainedRow(number, group.seat, None, row.ids, tuple(mask), tuple(log_probs), reward, version))
    return found
