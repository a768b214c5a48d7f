"""Runs on several processes, which torchrun starts.

The first process does the run: it plays, measures and writes. In reinforcement learning the others hold parts of the
model that learns, and repeat the calls of the first one's learner. Only the first one does the cold start and the
control.
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
from gymposium_train.config.checks import Rule
from gymposium_train.config.problems import BadConfig
from gymposium_train.directory import RunDirectory
from gymposium_train.learner import Learner, LocalLearner, Loss
from gymposium_train.learner.distributed import DistributedLearner
from gymposium_train.parallel.environment import processes
from gymposium_train.parallel.world import Processes, joined
from gymposium_train.run.models import trainable


@dataclass(frozen=True, slots=True)
class _Learning:
    """The message that reinforcement learning begins, with the data that the other processes need."""

    config: TrainConfig
    model: str | Path


def check_processes(config: TrainConfig) -> None:
    """Raise `BadConfig` if the run cannot be distributed over the processes that torchrun started."""
    if processes() == 1:
        return
    rules = (
        Rule(
            engine_spec(config.engine.kind).shares_learner,
            f"engine.kind = {config.engine.kind}: on several processes the model that learns is in parts, so it cannot "
            "play. Set engine.kind=own, for a whole one in the first process, or vllm.",
        ),
        Rule(
            config.optimizer.layout == "shared",
            "optimizer.layout = shared: all processes must run the model equally often, and with this layout that "
            "depends on the common prefixes in a process's rows. Set layout=padded or packed.",
        ),
        Rule(
            config.model.load == "4bit",
            "model.load = 4bit: quantized weights cannot be shared out over processes. Leave load out, or train in one "
            "process.",
        ),
    )
    if problems := [rule.sentence for rule in rules if rule.broken]:
        raise BadConfig(problems)


@contextmanager
def leading(directory: RunDirectory) -> Iterator[Processes]:
    """Connect the processes: the first one does the run inside the block, and the others help. If the run fails, they
    are not told: torchrun ends them."""
    with joined() as world:
        try:
            yield world
        except KeyboardInterrupt:
            world.command()
            raise
        world.command(directory.path)


def help_to_learn() -> RunDirectory:
    """Do the work of a process that is not the first; returns the run when it is done. Ctrl-C is handled by the first
    process, which stops at a safe moment and then releases the others: this raises `KeyboardInterrupt` then."""
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
    """The model at `model` as it is played and saved, and its learner, for the duration of the block. If several
    processes learn, the model is a copy in the CPU's memory."""
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
    """This process's learner for reinforcement learning."""
    return LocalLearner(loaded.model, loaded.pad, config.optimizer, loss=Loss.of(config), dumps=dumps, world=world)
