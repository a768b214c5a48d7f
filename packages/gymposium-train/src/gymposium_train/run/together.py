"""Runs on several processes, started by torchrun.

The first process does the run: it plays, evaluates and writes. During imitation and reinforcement learning, the others
hold parts or copies of the learner's model, and repeat the first learner's calls. Only the first process does the
control.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from gymposium_train.backends.local_model import (
    LearningStart,
    make_imitation_learner,
    make_reinforcement_learner,
    replicates,
)
from gymposium_train.backends.models import META, load_for_imitation, load_for_reinforcement
from gymposium_train.config.directory import RunDirectory
from gymposium_train.learner.distributed import DistributedLearner
from gymposium_train.learner.parallel.world import Processes, join_processes


@contextmanager
def lead_processes(directory: RunDirectory) -> Iterator[Processes]:
    """Connect the processes: the first one does the run inside the block, and the others help. If the run fails, they
    are not notified, because torchrun ends them."""
    with join_processes() as world:
        try:
            yield world
        except KeyboardInterrupt:
            world.command()
            raise
        world.command(directory.path)


def help_to_learn() -> RunDirectory:
    """Do the work of any process but the first, and return the run when it is done. The first process handles Ctrl-C:
    it stops at a safe point and releases the others. This function then raises `KeyboardInterrupt`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    job: LearningStart | Path | None
    with join_processes() as world:
        while isinstance(job := world.command(), LearningStart):
            if job.config.model.name is None:
                torch.set_num_threads(1)
            load, make_learner, tune = (
                (load_for_imitation, make_imitation_learner, job.config.cold_start.tune)
                if job.imitates
                else (load_for_reinforcement, make_reinforcement_learner, job.config.model.tune)
            )
            loaded = load(job.config, job.model, None if replicates(job.config, tune) else META)
            learner = DistributedLearner(make_learner(job.config, loaded, world))
            learner.follow()
            del learner, loaded
    if job is None:
        raise KeyboardInterrupt
    return RunDirectory(job)
