"""The control: more SFT after the same cold start, for the CPU time that reinforcement learning took.

All weights of the model are trained, with a cosine schedule over the time. The data are fresh random matches of every
game, of which the same moves are kept as in the cold start; if the cold start used files, they are used again. The
control runs after the reinforcement learning, when its budget is known.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from gymposium.runs.curves import CONTROL
from gymposium_agents.loading import LoadedModel
from gymposium_train.cold_start import imitate
from gymposium_train.directory import is_whole, written_whole
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.run.cold_start import LOT_STEPS, batches_of, imitator, lessons, tokens_of
from gymposium_train.run.models import load, taught
from gymposium_train.run.under_way import UnderWay


def control(run: UnderWay) -> None:
    """Spend the CPU time of the reinforcement learning on more SFT, its matches included. At least one step is made."""
    if is_whole(run.directory.control):
        return
    config = run.config
    loaded = load(config, taught(run.directory, config), whole=True)
    learner = imitator(config, loaded, run.directory.dumps)
    run.directory.forget(CONTROL, 0)
    budget = run.directory.results()["train_cpu_seconds"]
    began, cpu = time.process_time(), 0.0

    def spent(step: int) -> float:
        return (time.process_time() - began) / budget if step and budget else float(step)

    with run.view.stage("Control (more SFT), CPU seconds", round(budget), lines=6) as bar:
        for metrics in imitate(learner, _material(run, loaded), config.cold_start, progress=spent):
            before, cpu = cpu, time.process_time() - began
            step = int(metrics.pop("step"))
            run.watchers.stepped(CONTROL, step, {**metrics, "perf/cpu_seconds": cpu})
            bar.advance(f"loss {metrics['train/sft_loss']:.3f}", round(cpu) - round(before))
            run.interruption.stop_here()
    cpu = time.process_time() - began
    with learner.in_float32(), written_whole(run.directory.control) as staging:
        loaded.save(staging)
        config.prompting.player_settings().save(staging)
        run.directory.add_results(control_cpu_seconds=cpu)


def _material(run: UnderWay, loaded: LoadedModel) -> Iterator[list[Demonstration]]:
    """Batches of fresh random matches, lot by lot, or of the cold start's files in another order."""
    for number, lot in enumerate(lessons(run, "control", "control")):
        yield from islice(batches_of(tokens_of(run, lot, loaded), run, "control", number), LOT_STEPS)
