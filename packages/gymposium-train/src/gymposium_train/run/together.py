"""Runs on several processes, which torchrun starts.

The first process does the run: it plays, measures and writes. In imitation and reinforcement learning the others hold
parts of the model that learns, and repeat the calls of the first one's learner. Only the first one does the control.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from gymposium_agents.engines.registry import engine_spec
from gymposium_train.backends.local_model import LearningBegins, imitator, local_learner
from gymposium_train.backends.models import imitating_model, trainable
from gymposium_train.config import TrainConfig
from gymposium_train.config.checks import Rule
from gymposium_train.config.problems import BadConfig
from gymposium_train.directory import RunDirectory
from gymposium_train.learner.distributed import DistributedLearner
from gymposium_train.parallel.environment import processes
from gymposium_train.parallel.world import Processes, joined


def check_processes(config: TrainConfig) -> None:
    """Raise `BadConfig` if the run cannot be distributed over the processes that torchrun started."""
    if processes() == 1:
        return
    rules = (
        Rule(
            config.backend.kind != "local",
            f"backend.kind = {config.backend.kind}: the model does not learn here, so there is nothing to distribute. "
            f"Start the run without torchrun.",
        ),
        Rule(
            engine_spec(config.engine.kind).shares_learner,
            f"engine.kind = {config.engine.kind}: on several processes the model that learns is in parts, so it cannot "
            "play. Set engine.kind=own, for a whole one in the first process, or vllm.",
        ),
        Rule(
            config.optimizer.layout == "shared",
            "optimizer.layout = shared: all processes must run the model equally often, and with this layout that "
            "depends on the common prefixes in a process's rows. Set layout=packed, or leave it out.",
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
    job: LearningBegins | Path | None
    with joined() as world:
        while isinstance(job := world.command(), LearningBegins):
            if job.config.model.name is None:
                torch.set_num_threads(1)
            make, learner_of = (imitating_model, imitator) if job.imitates else (trainable, local_learner)
            loaded = make(job.config, job.model, empty=True)
            learner = DistributedLearner(learner_of(job.config, loaded, world))
            learner.follow()
            del learner, loaded
    if job is None:
        raise KeyboardInterrupt
    return RunDirectory(job)
