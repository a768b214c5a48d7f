"""The stage of reinforcement learning: steps, checkpoints, points of the curve."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gymposium.driver import MatchResult
from gymposium.errors import GymposiumError
from gymposium.rewards.grammar import make_reward
from gymposium_agents.loading import LoadedModel
from gymposium_agents.lora.saving import save_lora
from gymposium_train.ahead import Ahead
from gymposium_train.checkpoints import keep_newest, load_checkpoint, remove_broken, save_checkpoint
from gymposium_train.credit.make import make_credit
from gymposium_train.directory import is_whole, written_whole
from gymposium_train.learner import Learner
from gymposium_train.loop import Training
from gymposium_train.progress import say
from gymposium_train.reporting import peak_memory
from gymposium_train.rollout import LocalExecutor, MatchPlanner, MatchRollouts, StepRollout
from gymposium_train.run.cold_start import auxiliary_sft
from gymposium_train.run.measures import curve_point
from gymposium_train.run.models import taught, trained
from gymposium_train.run.together import learning
from gymposium_train.run.under_way import UnderWay
from gymposium_train.run.watching import TRAIN
from gymposium_train.samples_file import SamplesFile
from gymposium_train.trainee import make_trainee

MAX_IDLE_STEPS = 10
"""Abort after this many consecutive steps with nothing to learn from."""


def reinforce(run: UnderWay) -> None:
    """Train the model by reinforcement learning, from the newest checkpoint if there is one."""
    directory, config = run.directory, run.config
    _, adapter = trained(directory, config)
    result = directory.model if adapter is None else adapter
    if is_whole(result):
        return
    with (
        learning(config, taught(directory, config), directory.dumps, run.world) as (loaded, learner),
        make_trainee(config, directory.path, loaded, learner, run.games) as trainee,
    ):
        planner = MatchPlanner(config, run.games, trainee.players)
        source = MatchRollouts(planner, LocalExecutor(config.engine.schedule))
        training = Training(
            config=config,
            trainee=trainee,
            source=source,
            credit=make_credit(config.credit),
            reward=make_reward(config.reward),
            keep=_samples_file(run, loaded).keep,
            auxiliary_sft=auxiliary_sft(run, loaded),
        )
        done, cpu = _restore(run, training, learner)
        directory.forget(TRAIN, done)
        trainee.publish()
        cpu = _steps(run, training, source, loaded.model, done, cpu)
        for remark in training.reward.remarks():
            say(remark, style="yellow")
    with learner.in_float32(), written_whole(result) as staging:
        if adapter is None:
            loaded.save(staging)
        else:
            save_lora(loaded.model, staging)
        run.asked.save(staging)
        directory.add_results(train_cpu_seconds=cpu)


def _restore(run: UnderWay, training: Training, learner: Learner) -> tuple[int, float]:
    """Restore the newest complete checkpoint. Returns the steps done and the CPU seconds spent on them."""
    for broken in remove_broken(run.directory.checkpoints):
        say(f"removed, not complete: {broken}", style="yellow")
    complete = keep_newest(run.directory.checkpoints, run.config.checkpoints.keep)
    if not complete:
        return 0, 0.0
    state = load_checkpoint(complete[-1], learner)
    training.restore(state["training"])
    say(f"Resuming behind step {state['step']} ({complete[-1]})")
    return int(state["step"]), float(state["cpu_seconds"])


def _steps(run: UnderWay, training: Training, source: MatchRollouts, model: Any, first: int, cpu: float) -> float:
    """The steps that are left; returns the CPU seconds of all. A run that is stopped, by whomever, has a checkpoint of
    its last whole step."""
    config, steps, idle = run.config, range(first, run.config.steps), 0
    with (
        run.view.stage("Training", config.steps, lines=20) as bar,
        run.recorder("train") as record,
        Ahead(training.play, config.engine.staleness, steps) as ahead,
    ):
        source.record = _both(record, ahead.go_on)
        bar.advance(steps=first)
        for step in steps:
            began = time.perf_counter(), time.process_time()
            taken = ahead.take(step)
            played = time.process_time()
            metrics = training.learn(step, taken.rollout)
            metrics |= training.trainee.publish()
            ahead.published(step)
            cpu += time.process_time() - began[1]
            metrics |= {
                "rollout/staleness": taken.staleness,
                "perf/cpu_rollout": played - began[1],
                "perf/cpu_seconds": cpu,
                "perf/seconds": time.perf_counter() - began[0],
                **peak_memory(),
            }
            done = step + 1
            bar.advance(_note(metrics))
            try:
                if config.evaluation.every and done % config.evaluation.every == 0 and done < config.steps:
                    metrics |= curve_point(run, done, training.trainee.greedy)
                run.watchers.trained(done, metrics)
                run.interruption.stop_here()
            except BaseException:
                _save(run, training, model, done, cpu)
                raise
            if done % config.checkpoints.every == 0 or done == config.steps:
                _save(run, training, model, done, cpu)
            idle = 0 if metrics["train/rows"] else idle + 1
            if idle == MAX_IDLE_STEPS:
                raise _nothing_to_learn(idle, taken.rollout, training)
    return cpu


def _samples_file(run: UnderWay, loaded: LoadedModel) -> SamplesFile:
    config, pieces = run.config, loaded.chat.pieces
    critic = make_credit(config.credit).critic is not None
    return SamplesFile(run.directory.samples_file, config.samples, config.steps, pieces, critic=critic)


def _save(run: UnderWay, training: Training, model: Any, done: int, cpu: float) -> None:
    state = {"step": done, "cpu_seconds": cpu, "training": training.state()}
    keep = run.config.checkpoints.keep
    learner = training.trainee.learner
    run.watchers.saved(save_checkpoint(run.directory.checkpoints, learner, model, state, keep=keep))


def _both(record: Callable[[MatchResult], object], go_on: Callable[[], None]) -> Callable[[MatchResult], object]:
    def each(played: MatchResult) -> None:
        record(played)
        go_on()

    return each


def _nothing_to_learn(steps: int, rollout: StepRollout[Any], training: Training) -> GymposiumError:
    unrated = "".join(f" {count} groups could not be rated: {why}" for why, count in training.unrated.most_common(3))
    return GymposiumError(
        f"In {steps} steps in a row there was nothing to learn from: every match of each group was paid alike, or no "
        f"row was short enough.{unrated} Replies were read as {rollout.readings}. Try a longer cold start, a weaker "
        f"opponent, larger groups or, for replies that are cut off, a larger asking.max_tokens."
    )


def _note(metrics: dict[str, Any]) -> str:
    shown = {"reward": "rollout/reward", "win": "rollout/win", "entropy": "train/entropy"}
    signs = {"reward": "+.2f"}
    return "  ".join(
        f"{word} {metrics[name]:{signs.get(word, '.2f')}}" for word, name in shown.items() if name in metrics
    )
