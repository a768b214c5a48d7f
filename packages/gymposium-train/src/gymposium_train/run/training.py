"""The stage of reinforcement learning: steps, checkpoints, and points of the learning curve."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.rewards.grammar import make_reward
from gymposium.runs.curves import TRAIN
from gymposium.util.durable import remove_directory
from gymposium_train.backends.protocol import LearningModel
from gymposium_train.backends.trainee import make_trainee
from gymposium_train.config.directory import is_whole, state_checked
from gymposium_train.config.schedules import Pace, growth
from gymposium_train.credit.make import make_credit
from gymposium_train.rollout import Group, SourceStart, StepRollout, make_source
from gymposium_train.rollout.ahead import Ahead, StepRolloutWithAge
from gymposium_train.rollout.results import failed_share
from gymposium_train.run.best import Best
from gymposium_train.run.checkpoints import (
    STATE,
    complete_checkpoints,
    load_checkpoint,
    read_step,
    remove_broken,
    save_checkpoint,
)
from gymposium_train.run.cold_start import auxiliary_sft
from gymposium_train.run.health import FAILED_LIMIT, MOST_SETBACKS, Health, failed_replies, some_replies
from gymposium_train.run.live import StageBar, summary
from gymposium_train.run.loop import Training
from gymposium_train.run.measures import curve_point, returns_before
from gymposium_train.run.reporting import peak_memory
from gymposium_train.run.samples_file import SamplesFile
from gymposium_train.run.under_way import UnderWay
from gymposium_train.util.progress import say

MOST_STEPS = 1_000_000
"""Maximum number of steps of a run with a budget."""
MEASURING = 0.1
"""Largest share of training CPU seconds that a run with a budget spends on optional points of the learning curve."""
MAX_IDLE_STEPS = 10
"""Number of consecutive steps without rows to learn from that ends a run."""


def reinforce(run: UnderWay) -> None:
    """Train the model by reinforcement learning, from the newest checkpoint if there is one."""
    directory, config = run.directory, run.config
    result = directory.model if config.model.tune == "full" else directory.adapter
    if is_whole(result):
        return
    pace = Pace(config, used=directory.results().get("cold_start_cpu_seconds", 0.0))
    with run.backend.reinforcing(run.start) as model:
        steps = _reinforced(run, model, pace)
        # before the result is complete, because a resumed run then does nothing here
        directory.add_results(
            train_cpu_seconds=steps.cpu, steps=steps.done, kept_step=steps.kept, setbacks=steps.health.setbacks
        )
        model.save(result)


def _reinforced(run: UnderWay, model: LearningModel, pace: Pace) -> _Steps:
    """Take all steps. Returns them once they are done and the engines and the source are closed."""
    directory, config, credit = run.directory, run.config, make_credit(run.config.credit)
    with (
        make_trainee(config, directory.path, model, run.games) as trainee,
        run.recorder("train") as record,
        ExitStack() as resources,
    ):
        start = SourceStart(
            config=config,
            games=run.games,
            players=trainee.players,
            pace=pace,
            directory=directory.path,
            resources=resources,
            record=record,
            stop_here=run.interruption.stop_here,
        )
        samples = SamplesFile(
            directory.samples_file,
            config.samples,
            config.steps,
            model.chat.pieces,
            critic=credit.critic is not None,
            show=say,
        )
        training = Training(
            config=config,
            trainee=trainee,
            source=make_source(start),
            credit=credit,
            reward=make_reward(config.reward),
            pace=pace,
            keep=samples.keep,
            auxiliary_sft=auxiliary_sft(run, model),
        )
        steps = _Steps(run, training)
        directory.forget(TRAIN, steps.done)
        trainee.publish()
        steps.take()
        for remark in training.reward.remarks():
            say(remark, style="yellow")
        return steps


class _Steps:
    """The steps of a run: how many are done, their cost, and the state to roll back to if an update broke the
    policy."""

    def __init__(self, run: UnderWay, training: Training) -> None:
        self._run, self._training = run, training
        self._pace, self._begin = training.pace, training.pace.used
        self.done = 0
        """Number of steps done."""
        self.kept = 0
        """The step whose weights training ended with."""
        self.cpu = 0.0
        """CPU seconds of the steps so far."""
        self.health = Health()
        self._best = Best(0, returns_before(run))
        self._saved: list[Path] = []
        """The checkpoints, oldest first."""
        self._good: Path | None = None
        """The last healthy checkpoint, kept until there is a newer one."""
        self._judged_from = 0
        """The first step whose replies are judged after a rollback."""
        self._measuring = 0.0
        """CPU seconds spent on points of the learning curve since the run began or was resumed."""
        self._points = 0
        """Number of tenths of the run that have a point of the learning curve."""
        self._tied = 0
        """Number of latest consecutive steps with only tied groups."""
        for broken in remove_broken(run.directory.checkpoints):
            say(f"Removed an incomplete checkpoint: {broken}", style="yellow")
        self._saved = complete_checkpoints(run.directory.checkpoints)
        if self._saved:
            with state_checked(self._saved[-1] / STATE):
                state = load_checkpoint(self._saved[-1], training.trainee.learner)
                training.restore(state["training"])
                self.done, self.health = int(state["step"]), Health(**state["health"])
                self._best = Best.restored(state["best"])
                cpu_seconds = float(state["cpu_seconds"])
            for later in (path for path in complete_checkpoints(run.directory.best) if read_step(path) > self.done):
                remove_directory(later)
            self._spend(cpu_seconds)
            training.rate_scale = self.health.rate_scale
            self._good = self._saved[0]
            self._points = self._tenths()
            say(f"Resuming after step {self.done} ({self._saved[-1]})")

    def take(self) -> None:
        """Take the remaining steps. If the run is stopped, its last complete step has a checkpoint."""
        run, config, idle = self._run, self._run.config, 0
        if not self.done:
            self._save()
            self._save_best()
        steps = range(self.done, MOST_STEPS if config.steps is None else config.steps)
        bound = config.engine.staleness if self._training.source.runs_ahead else 0
        with (
            self._stage() as bar,
            Ahead(lambda step: self._training.play(step, ahead.go_on), bound, steps) as ahead,
        ):
            shown = round(self._pace.used)
            while not self._over:
                setbacks = self.health.setbacks
                taken, metrics = self._step(ahead)
                bar.advance(summary(metrics), 1 if config.steps is not None else round(self._pace.used) - shown)
                shown = round(self._pace.used)
                try:
                    if self._has_point():
                        metrics |= self._point()
                    run.watchers.stepped(TRAIN, self.done, metrics)
                    run.interruption.stop_here()
                except BaseException:
                    self._save()
                    raise
                if self.done % config.checkpoints.every == 0 or self.health.setbacks > setbacks or self._over:
                    self._save()
                self._training.source.learned(self.done - 1, metrics)
                idle = 0 if metrics["train/rows"] else idle + 1
                if idle == MAX_IDLE_STEPS and not self._over:
                    raise _nothing_to_learn(idle, taken.rollout, self._training)
        self.kept = self.done
        if config.checkpoints.best and self._best.is_lost:
            self._take_best()

    def _has_point(self) -> bool:
        """Return True if the learning curve has a point after the step just done. The last step always has one."""
        every, before = self._run.config.evaluation.every, self._points
        if not self._run.games:
            return False
        if every is None:
            self._points = self._tenths()
            if self._run.config.steps is None and self._measuring > MEASURING * self.cpu:
                return self._over
            return self._over or self._points > before
        return every > 0 and (self._over or self.done % every == 0)

    def _tenths(self) -> int:
        """Return how many tenths of the run are done."""
        steps = self._run.config.steps
        return int(10 * (self._pace(self.done) if steps is None else self.done / steps))

    def _point(self) -> dict[str, float]:
        """Measure a point of the learning curve, and keep the weights if it is the best so far."""
        run, began = self._run, time.process_time()
        metrics, returns = curve_point(run, f"curve-{self.done}", self._training.trainee.greedy)
        if self._best.note(self.done, returns):
            self._save_best()
        took = time.process_time() - began
        self._measuring += took
        self.cpu += took
        self._pace.spend(self._begin + self.cpu)
        return metrics

    def _take_best(self) -> None:
        """Take the weights of the best point."""
        step = self._best.step
        (saved,) = (path for path in complete_checkpoints(self._run.directory.best) if read_step(path) == step)
        load_checkpoint(saved, self._training.trainee.learner)
        self.kept = step
        say(
            f"The last weights are clearly worse than those of step {step}. Training ends with the weights of step "
            f"{step}.",
            style="yellow",
        )

    @property
    def _over(self) -> bool:
        ended_early = self.health.setbacks > MOST_SETBACKS or self._tied == MAX_IDLE_STEPS
        return ended_early or self._pace.over(self.done)

    def _step(self, ahead: Ahead[StepRollout[Any]]) -> tuple[StepRolloutWithAge[StepRollout[Any]], dict[str, Any]]:
        """Take one step, and return its rollout and its metrics. If replies or the update show that the policy is
        broken, the step ends with earlier weights."""
        step, training = self.done, self._training
        began = time.perf_counter(), time.process_time()
        try:
            taken = ahead.take(step)
        except KeyboardInterrupt:  # nothing was learned from this step yet
            self._save()
            raise
        played = time.process_time()
        metrics: dict[str, Any] = {**taken.rollout.metrics, "train/rows": 0}
        if wrong := self.health.check_rollout(metrics) if step >= self._judged_from else "":
            self._go_back(wrong, taken)
        else:
            played_by = step - taken.staleness
            self._good = max(
                (one for one in self._saved if read_step(one) <= played_by), key=read_step, default=self._good
            )
            metrics = training.learn(step, taken.rollout)
            if wrong := self.health.check_update(metrics):
                self._go_back(wrong, taken)
        self._warn(metrics, taken.rollout.groups)
        metrics |= training.trainee.publish()
        ahead.published(step)
        self.done += 1
        self._spend(self.cpu + time.process_time() - began[1])
        return taken, metrics | {
            "rollout/staleness": taken.staleness,
            "train/setbacks": self.health.setbacks,
            "perf/cpu_rollout": played - began[1],
            "perf/cpu_seconds": self.cpu,
            "perf/seconds": time.perf_counter() - began[0],
            **peak_memory(),
        }

    def _go_back(self, wrong: str, taken: StepRolloutWithAge[StepRollout[Any]]) -> None:
        """Return to the weights of the last healthy checkpoint, remove later ones, and halve the learning rate. Policy
        version numbers keep increasing, so that none is published twice."""
        assert self._good is not None, "there is a checkpoint before the first step"
        while self._saved[-1] != self._good:
            remove_directory(self._saved.pop())
        learner = self._training.trainee.learner
        version = learner.policy_version
        state = load_checkpoint(self._good, learner)
        learner.policy_version = version + 1
        self._training.credit.restore(state["training"]["credit"])
        self.health.setbacks += 1
        self._training.rate_scale = self.health.rate_scale
        self._judged_from = self.done + 1 + self._run.config.engine.staleness
        replies = ", ".join(map(repr, failed_replies(taken.rollout.groups)))
        say(
            f"Step {self.done + 1}: {wrong}{f': {replies}' if replies else ''}. Returning to the weights of step "
            f"{read_step(self._good)}, "
            + (
                f"with {self.health.rate_scale:g} of the learning rate."
                if self.health.setbacks <= MOST_SETBACKS
                else f"and training ends after {self.health.setbacks} rollbacks."
            ),
            style="yellow",
        )

    def _warn(self, metrics: Mapping[str, Any], groups: Sequence[Group]) -> None:
        """Warn about what keeps the run from learning: replies that failed before any update, or only tied groups."""
        where = f"Step {self.done + 1}:"
        if not self.done and (failed := failed_share(metrics)) > FAILED_LIMIT:
            replies = ", ".join(map(repr, failed_replies(groups)))
            say(
                f"{where} {failed:.0%} of the replies fail before any update: {replies}. The run may never start to "
                f"learn. If replies are cut off, raise prompting.max_tokens. Otherwise use a longer cold start or, "
                f"without one, prompts that name the form of a reply (prompting.reply=tags).",
                style="yellow",
            )
        tied = metrics.get("rollout/groups_tied", 0)
        self._tied = self._tied + 1 if tied and tied == metrics["rollout/groups"] else 0
        if self._tied == 1:
            say(
                f"{where} all matches of each group earned the same reward, so there was nothing to learn. Replies: "
                f"{', '.join(map(repr, some_replies(groups)))}.",
                style="yellow",
            )
        elif self._tied == MAX_IDLE_STEPS:
            say(
                f"{where} the {MAX_IDLE_STEPS}th step in a row with equal rewards in every group. Training ends. Try "
                f"a longer cold start, another opponent, or larger groups (rollout.group_size).",
                style="yellow",
            )

    def _spend(self, cpu: float) -> None:
        """Note the CPU seconds of all steps so far."""
        self.cpu = cpu
        self._pace.note(self._begin + cpu)

    def _stage(self) -> AbstractContextManager[StageBar]:
        """Return the progress bar, either of steps, whose duration grows, or of CPU seconds."""
        view, pace, steps = self._run.view, self._pace, self._run.config.steps
        if steps is not None:
            work = [growth(self._run.config, pace(step)) for step in range(steps)]
            return view.stage("Training", steps, lines=20, done=self.done, work=work)
        seconds = round(pace.budget - self._begin)
        return view.stage("Training, CPU seconds", seconds, lines=20, done=round(self.cpu))

    def _save(self) -> None:
        run, keep = self._run, self._run.config.checkpoints.keep
        learner, state = self._training.trainee.learner, self._state()
        saved = save_checkpoint(run.directory.checkpoints, learner, state, keep=keep, besides=self._good)
        self._saved = complete_checkpoints(run.directory.checkpoints)
        run.watchers.saved(saved)

    def _save_best(self) -> None:
        """Save the weights as the best so far. The previous best weights stay until a checkpoint confirms the new
        ones."""
        if self._run.config.checkpoints.best and self._run.config.evaluation.every != 0 and self._run.games:
            learner, directory = self._training.trainee.learner, self._run.directory.best
            save_checkpoint(directory, learner, self._state(), keep=2)

    def _state(self) -> dict[str, Any]:
        return {
            "step": self.done,
            "cpu_seconds": self.cpu,
            "health": asdict(self.health),
            "best": self._best.state(),
            "training": self._training.state(),
        }


def _nothing_to_learn(steps: int, rollout: StepRollout[Any], training: Training) -> GymposiumError:
    unrated = "".join(f" {count} groups could not be rated: {why}" for why, count in training.unrated.most_common(3))
    return GymposiumError(
        f"{steps} consecutive steps had nothing to learn from: all matches of each group earned the same reward, "
        f"could not be rated, or had only rows that were too long.{unrated} Replies were read as {rollout.readings}. "
        f"Try a longer cold start, a weaker opponent, or larger groups. If replies are cut off, raise "
        f"prompting.max_tokens."
    )
