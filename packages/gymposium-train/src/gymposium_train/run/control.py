"""The control: more SFT after the same cold start, for as much CPU time as reinforcement learning.

It trains the same weights as the cold start, with a cosine schedule over the time. The data are fresh random matches of
every game, with the cold start's selection of moves. Files used by the cold start are used again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from gymposium.runs.curves import CONTROL
from gymposium_train.backends.local_model import LocalModel, load_imitator
from gymposium_train.backends.models import find_cold_start_model
from gymposium_train.config.directory import is_complete
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.run.cold_start import LOT_STEPS, iterate_lots, iterate_tokenized_lots
from gymposium_train.run.imitating import iterate_batches
from gymposium_train.run.lessons import imitate_batches
from gymposium_train.run.live import summarize_metrics
from gymposium_train.run.under_way import RunContext


def run_control(run: RunContext) -> None:
    """Spend as much CPU time on SFT, including its matches, as reinforcement learning took, and save the model. Takes
    at least one step. An interrupted control begins again."""
    directory, config = run.directory, run.config
    if is_complete(directory.control):
        return
    directory.remove_later_metrics(CONTROL, 0)
    seconds, shown = directory.results()["train_cpu_seconds"], 0
    with run.view.stage("Control (more SFT), CPU seconds", round(seconds), lines=6) as bar:
        model = load_imitator(config, find_cold_start_model(directory, config), directory.dumps)
        began = time.process_time()

        def measure_spent(step: int) -> float:
            return (time.process_time() - began) / seconds if step and seconds else float(step)

        for metrics in imitate_batches(
            model.learner, _iterate_material(run, model), config.cold_start, progress=measure_spent
        ):
            spent = time.process_time() - began
            metrics = {**metrics, "perf/cpu_seconds": spent}
            run.watchers.stepped(CONTROL, int(metrics.pop("step")), metrics)
            bar.advance(summarize_metrics(metrics), round(spent) - shown)
            shown = round(spent)
            run.interruption.stop_here()
        directory.add_results(control_cpu_seconds=time.process_time() - began)
        model.save(directory.control)


def _iterate_material(run: RunContext, model: LocalModel) -> Iterator[list[Demonstration]]:
    """Yield batches of fresh random matches, lot by lot, or of the cold start's files in a different order."""
    for number, (_, tokens) in enumerate(iterate_tokenized_lots(run, iterate_lots(run, "control", "control"), model)):
        yield from islice(iterate_batches(tokens, run, "control", number), LOT_STEPS)
