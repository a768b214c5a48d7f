"""The stage of reinforcement learning: steps, checkpoints, and points of the learning curve."""

from __future__ import annotations

import time
from typing import Any

from gymposium.driver import MatchResult
from gymposium.errors import GymposiumError
from gymposium.rewards.grammar import make_reward
from gymposium_agents.lora.saving import save_lora
from gymposium_train.ahead import Ahead
from gymposium_train.checkpoints import keep_newest, load_checkpoint, remove_broken, save_checkpoint
from gymposium_train.config.schedules import group_size
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
"""Abort after this many consecutive steps without rows to learn from."""


def reinforce(run: UnderWay) -> None:
    """Train the model by reinforcement learning, from the newest checkpoint if there is one."""
    directory, config, credit = run.directory, run.config, make_credit(run.config.credit)
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
        samples = SamplesFile(
            directory.samples_file,
            config.samples,
            config.steps,
            loaded.chat.pieces,
            critic=credit.critic is not None,
            show=say,
        )
        training = Training(
            config=config,
            trainee=trainee,
            source=source,
            credit=credit,
            reward=make_reward(config.reward),
            keep=samples.keep,
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
        config.prompting.player_settings().save(staging)
        directory.add_results(train_cpu_seconds=cpu)


def _restore(run: UnderWay, training: Training, learner: Learner) -> tuple[int, float]:
    """Restore the newest complete checkpoint. Returns the steps done and the CPU seconds spent on them."""
    for broken in remove_broken(run.directory.checkpoints):
        say(f"Removed an incomplete checkpoint: {broken}", style="yellow")
    complete = keep_newest(run.directory.checkpoints, run.config.checkpoints.keep)
    if not complete:
        return 0, 0.0
    state = load_checkpoint(complete[-1], learner)
    training.restore(state["training"])
    say(f"Resuming after step {state['step']} ({complete[-1]})")
    return int(state["step"]), float(state["cpu_seconds"])


def _steps(run: UnderWay, training: Training, source: MatchRollouts, model: Any, first: int, cpu: float) -> float:
    """Do the remaining steps; returns the CPU seconds of all steps. If the run is stopped, its last complete step has a
    checkpoint."""
    config, steps, idle = run.config, range(first, run.config.steps), 0
    matches = [group_size(config, step) for step in range(config.steps)]  # later steps take longer
    with (
        run.view.stage("Training", config.steps, lines=20, done=first, work=matches) as bar,
        run.recorder("train") as record,
        Ahead(training.play, config.engine.staleness, steps) as ahead,
    ):

        def each(played: MatchResult) -> None:
            record(played)
            ahead.go_on()

        source.record = each
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
                run.watchers.stepped(TRAIN, done, metrics)
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


def _save(run: UnderWay, training: Training, model: Any, done: int, cpu: float) -> None:
    state = {"step": done, "cpu_seconds": cpu, "training": training.state()}
    keep = run.config.checkpoints.keep
    learner = training.trainee.learner
    run.watchers.saved(save_checkpoint(run.directory.checkpoints, learner, model, state, keep=keep))


def _nothing_to_learn(steps: int, rollout: StepRollout[Any], training: Training) -> GymposiumError:
    unrated = "".join(f" {count} groups could not be rated: {why}" for why, count in training.unrated.most_common(3))
    return GymposiumError(
        f"In {steps} steps in a row there was nothing to learn from: every match of each group was paid alike, or no "
        f"row was short enough.{unrated} Replies were read as {rollout.readings}. Try a longer cold start, a weaker "
        f"opponent, larger groups or, for replies that are cut off, a larger prompting.max_tokens."
    )


def _note(metrics: dict[str, Any]) -> str:
    """The most important metrics on one line."""
    formats = {
        "rollout/reward": "reward {:+.2f}",
        "rollout/win": "win {:.2f}",
        "train/entropy": "entropy {:.2f}",
    }
    return "  ".join(text.format(metrics[name]) for name, text in formats.items() if name in metrics)
