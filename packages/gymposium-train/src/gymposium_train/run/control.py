"""The control: what the same CPU time does when it is spent on more SFT, from the same cold start.

Fresh random matches of every game, of which the moves are kept that the cold start keeps, the whole model, one cosine
over the budget; where the cold start was made from files, the files again. It runs behind the reinforcement learning,
when its budget is known to the second.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count, islice

from gymposium.driver import MatchResult
from gymposium_agents.loading import LoadedModel
from gymposium_train.cold_start import Pair, batches, imitate
from gymposium_train.directory import is_whole, written_whole
from gymposium_train.learner import LocalLearner
from gymposium_train.run.cold_start import lessons, pairs_of, play_at_random
from gymposium_train.run.models import load, taught
from gymposium_train.run.under_way import UnderWay
from gymposium_train.run.watching import CONTROL

GAMES = 1_000
"""Number of fresh matches in a lot."""
STEPS = 8
"""Number of SFT steps on each lot."""


def control(run: UnderWay) -> None:
    """Spend the CPU time of the reinforcement learning on more SFT, games included, and make at least one step."""
    if is_whole(run.directory.control):
        return
    config = run.config
    loaded = load(config, taught(run.directory, config), whole=True)
    learner = LocalLearner(loaded.model, loaded.pad, config.optimizer, dumps=run.directory.dumps)
    run.directory.forget(CONTROL, 0)
    budget = run.directory.results()["train_cpu_seconds"]
    began, cpu = time.process_time(), 0.0

    def spent(step: int) -> float:
        return (time.process_time() - began) / budget if step and budget else float(step)

    with run.view.stage("Control (more SFT), CPU seconds", round(budget), lines=6) as bar:
        for metrics in imitate(learner, _material(run, loaded), config.cold_start, progress=spent):
            before, cpu = cpu, time.process_time() - began
            step = int(metrics.pop("step"))
            run.watchers.imitated(CONTROL, step, {**metrics, "perf/cpu_seconds": cpu})
            bar.advance(f"loss {metrics['train/sft_loss']:.3f}", round(cpu) - round(before))
            run.interruption.stop_here()
    cpu = time.process_time() - began
    with learner.in_float32(), written_whole(run.directory.control) as staging:
        loaded.save(staging)
        run.asked.save(staging)
        run.directory.add_results(control_cpu_seconds=cpu)


def _material(run: UnderWay, loaded: LoadedModel) -> Iterator[list[Pair]]:
    """Batches of the cold start's files in another order, or of lot after lot of fresh random matches."""
    size, seed = run.config.cold_start.batch, run.config.seed
    if run.config.cold_start.data:
        yield from batches(pairs_of(run, lessons(run), loaded), size, seed, "control")
    with run.recorder("control") as record:

        def each(played: MatchResult) -> None:
            record(played)
            run.interruption.stop_here()

        for lot in count():
            played = [
                play_at_random(run, game, number, GAMES, f"control-{lot}", each)
                for number, game in enumerate(run.games)
            ]
            pairs = pairs_of(run, played, loaded)
            yield from islice(batches(pairs, size, seed, "control", lot), STEPS)
