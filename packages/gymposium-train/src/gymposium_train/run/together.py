"""A run on several processes, as torchrun starts them.

The first one does the run: it plays, measures and writes. Beside it the others have a part of the model that learns by
reinforcement, and do with it what the first one's learner does. The cold start and the control are of the first alone.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from gymposium_agents.engines.registry import engine_spec
from gymposium_agents.loading import LoadedModel
from gymposium_train.config import TrainConfig
from gymposium_train.config.problems import BadConfig
from gymposium_train.directory import RunDirectory
from gymposium_train.learner import Learner, LocalLearner, Loss
from gymposium_train.learner.distributed import DistributedLearner
from gymposium_train.parallel.environment import processes
from gymposium_train.parallel.world import Processes, joined
from gymposium_train.run.models import trainable


@dataclass(frozen=True, slots=True)
class _Learning:
    """The message that reinforcement learning begins, with what the other processes need for it."""

    config: TrainConfig
    model: str | Path


def check_processes(config: TrainConfig) -> None:
    """Raise `BadConfig` if the run cannot be distributed over the processes that torchrun started."""
    if processes() == 1:
        return
    problems = []
    if engine_spec(config.engine.kind).shares_learner:
        problems.append(
            f"engine.kind = {config.engine.kind}: on several processes the model that learns is in parts, so it cannot "
            "play. Set engine.kind=own, for a whole one in the first process, or vllm."
        )
    if config.optimizer.layout == "shared":
        problems.append(
            "optimizer.layout = shared: on several processes all must run the model equally often, and how often that "
            "is would depend here on what a process's rows begin with alike. Set layout=padded or packed."
        )
    if config.model.load == "4bit":
        problems.append(
            "model.load = 4bit: quantized weights cannot be shared out over processes. Leave load out, or train in one "
            "process."
        )
    if problems:
        raise BadConfig(problems)


@contextmanager
def leading(directory: RunDirectory) -> Iterator[Processes]:
    """The first process does the run inside the block, and the others help. Where it fails they are not told: torchrun
    ends them."""
    with joined() as world:
        try:
            yield world
        except KeyboardInterrupt:
            world.command()
            raise
        world.command(directory.path)


def help_to_learn() -> RunDirectory:
    """What the other processes do; returns the run when it is done. Ctrl-C is for the first one, which comes to a safe
    moment and then lets go of the others: raises `KeyboardInterrupt` here as well."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    job: _Learning | Path | None
    with joined() as world:
        while isinstance(job := world.command(), _Learning):
            if job.config.model.name is None:
                torch.set_num_threads(1)
            loaded = trainable(job.config, job.model)
            learner = DistributedLearner(local_learner(job.config, loaded, world))
            learner.follow()
            del learner, loaded
    if job is None:
        raise KeyboardInterrupt
    return RunDirectory(job)


@contextmanager
def learning(
    config: TrainConfig, model: str | Path, dumps: Path, world: Processes
) -> Iterator[tuple[LoadedModel, Learner]]:
    """The learner of the model at `model`, for as long as the block lasts, and the model as it is played and saved.
    Where several processes learn, that is one beside the learner's, in the CPU's memory."""
    loaded = trainable(config, model)
    if world.size == 1:
        yield loaded, local_learner(config, loaded, world, dumps)
        return
    world.command(_Learning(config, model))
    whole = LoadedModel(loaded.model.to("cpu"), loaded.chat)
    loaded = trainable(config, model)
    learner = DistributedLearner(local_learner(config, loaded, world, dumps), whole.model)
    with learner.leading():
        yield whole, learner


def local_learner(
    config: TrainConfig, loaded: LoadedModel, world: Processes, dumps: Path | None = None
) -> LocalLearner:
    """The learner of this process, for reinforcement learning."""
    return LocalLearner(loaded.model, loaded.pad, config.optimizer, loss=Loss.of(config), dumps=dumps, world=world)
