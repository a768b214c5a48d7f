"""What all sides are given: the requests of one rollout, round by round, and the rows that are learned from."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymposium.games.registry import load_game
from gymposium.players.protocol import Player
from gymposium.rewards.grammar import make_reward
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest
from gymposium_agents.engines.protocol import TokenEngine
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.backends.local_model import LocalModel
from gymposium_train.backends.trainee import make_trainee
from gymposium_train.config import TrainConfig
from gymposium_train.config.schedules import RunProgress
from gymposium_train.credit.make import make_credit
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.learner.rows import Row, Tokens
from gymposium_train.rollout import LocalExecutor, MatchPlanner, MatchRollouts
from gymposium_train.rollout.protocol import PlayerSource
from gymposium_train.run.loop import Training

Prompts = list[list[Tokens]]


@dataclass(slots=True)
class Work:
    """One step's work."""

    rounds: Prompts
    """The prompts that the engine was asked to continue, call by call."""
    rows: list[Row]
    """What came of them, with credit and weights."""
    update: dict[str, Any]
    """How it was learned from: learning rate, seed of the minibatches."""

    @property
    def turns(self) -> int:
        return sum(map(len, self.rounds))

    @property
    def sampled(self) -> int:
        """Tokens in the rows that were sampled."""
        return sum(row.sampled for row in self.rows)

    def requests(self) -> Iterator[list[TokenRequest]]:
        """Yield the rounds as requests, each with its own random stream."""
        for n, prompts in enumerate(self.rounds):
            yield [TokenRequest(prompt, random.Random(f"{n} {k}")) for k, prompt in enumerate(prompts)]


class Noting(LocalLearner):
    """Our learner, with a note of what it was last given."""

    rows: Sequence[Row] = ()
    how: dict[str, Any]

    def update(self, rows: Sequence[Row], **how: Any) -> dict[str, float]:
        self.rows, self.how = rows, how
        return super().update(rows, **how)


@dataclass(slots=True)
class EngineClock:
    """An engine, with a note of what it was asked and of the CPU time that it took."""

    of: TokenEngine
    rounds: Prompts = field(default_factory=list)
    seconds: float = 0.0

    @property
    def policy(self) -> Policy:
        return self.of.policy

    @property
    def context(self) -> int:
        return self.of.context

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        self.rounds.append([request.prompt for request in requests])
        start = time.process_time()
        completions = self.of.generate(requests, sampling)
        self.seconds += time.process_time() - start
        return completions


@dataclass(slots=True)
class ClockedCast:
    """A cast whose learner plays over a `EngineClock` engine."""

    of: PlayerSource
    engine: EngineClock | None = None
    """That of the last rollout."""

    def learner(self) -> Player:
        player: Any = self.of.learner()
        player.engine = self.engine = EngineClock(player.engine)
        return player  # type: ignore[no-any-return]

    def recent(self, policy: Policy) -> Player:
        return self.of.recent(policy)

    def past(self, policy: Policy) -> Player:
        return self.of.past(policy)

    def keep(self) -> Policy:
        return self.of.keep()

    def let_go(self, policy: Policy) -> None:
        self.of.let_go(policy)


@dataclass(slots=True)
class Ours:
    """Our trainer, ready for its first step."""

    training: Training
    learner: Noting
    cast: ClockedCast

    def step(self, number: int) -> Step:
        """Play, learn, publish."""
        start = time.process_time()
        groups, metrics = self.training.play(number)
        played = time.process_time()
        metrics |= self.training.learn(number, groups)
        learned = time.process_time()
        self.training.trainee.publish()
        done = time.process_time()
        assert self.cast.engine is not None
        work = Work(self.cast.engine.rounds, [*self.learner.rows], self.learner.how)
        return Step(work, metrics, played - start, learned - played, done - learned, self.cast.engine.seconds)


@dataclass(slots=True)
class Step:
    """A step of ours, and the CPU seconds of its parts."""

    work: Work
    metrics: dict[str, Any]
    play: float
    learn: float
    publish: float
    engine: float
    """Of `play`, what the engine took."""

    @property
    def seconds(self) -> float:
        return self.play + self.learn + self.publish


def count_matches(config: TrainConfig) -> int:
    """Return the number of matches per step of a config with `rollout.groups`."""
    assert config.rollout.groups is not None
    return config.rollout.groups * config.rollout.group_size


@contextmanager
def ours(config: TrainConfig, loaded: LoadedModel, directory: Path) -> Iterator[Ours]:
    """Our trainer over a model. Nothing of a run but the steps."""
    learner = Noting(loaded.model, loaded.pad, config.optimizer, loss=Loss.from_config(config))
    games = [load_game(name) for name in config.games]
    with make_trainee(config, directory, LocalModel(config, loaded, learner), games) as trainee:
        cast = ClockedCast(trainee.players)
        training = Training(
            config=config,
            trainee=trainee,
            source=MatchRollouts(MatchPlanner(config, games, cast), LocalExecutor(config.engine.schedule)),
            credit=make_credit(config.credit),
            reward=make_reward(config.reward),
            pace=RunProgress(config),
        )
        trainee.publish()
        yield Ours(training, learner, cast)
