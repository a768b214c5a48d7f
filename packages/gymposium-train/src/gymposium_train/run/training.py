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
from gymposium.util.visible import quantity
from gymposium_train.backends.protocol import LearningModel
from gymposium_train.backends.trainee import make_trainee
from gymposium_train.config.directory import check_state, is_complete
from gymposium_train.config.schedules import RunProgress, compute_growth
from gymposium_train.credit.make import make_credit
from gymposium_train.rollout import Group, SourceStart, make_source
from gymposium_train.rollout.results import compute_failed_share
from gymposium_train.run.best import BestPoint
from gymposium_train.run.checkpoints import (
    STATE,
    CheckpointKeeper,
    checkpoint_path,
    list_complete_checkpoints,
    load_checkpoint,
    remove_incomplete_checkpoints,
    remove_later_checkpoints,
)
from gymposium_train.run.cold_start import make_auxiliary_sft
from gymposium_train.run.health import (
    MAX_IDLE_STEPS,
    MOST_SETBACKS,
    Health,
    StopRule,
    describe_problems,
    quote_replies,
)
from gymposium_train.run.live import StageBar, summarize_metrics
from gymposium_train.run.loop import Training
from gymposium_train.run.measures import CurveSchedule, measure_curve_point
from gymposium_train.run.reporting import measure_peak_memory
from gymposium_train.run.samples_file import SamplesFile
from gymposium_train.run.teachers import make_token_teacher
from gymposium_train.run.under_way import RunContext
from gymposium_train.util.progress import print_message


def reinforce_policy(run: RunContext) -> None:
    """Train the model by reinforcement learning, from the newest checkpoint if there is one."""
    directory, config = run.directory, run.config
    result = directory.model if config.model.tune == "full" else directory.adapter
    if is_complete(result):
        return
    pace = RunProgress(config, used=directory.results().get("cold_start_cpu_seconds", 0.0))
    with run.backend.reinforcement_model(run.start) as model:
        steps = _take_all_steps(run, model, pace)
        # before the result is complete, because a resumed run then does nothing here
        directory.add_results(
            train_cpu_seconds=pace.trained, steps=steps.done, kept_step=steps.kept, setbacks=steps.health.setbacks
        )
        model.save(result)


def _take_all_steps(run: RunContext, model: LearningModel, pace: RunProgress) -> _StepLoop:
    """Take all steps. Returns once they are done and the engines and the source are closed."""
    directory, config, credit = run.directory, run.config, make_credit(run.config.credit)
    reward = make_reward(config.reward)
    with (
        make_trainee(
            config, directory.path, model, run.games, run.teacher if config.distillation_weight else None
        ) as trainee,
        run.open_recorder("train") as record,
        ExitStack() as resources,
    ):
        start = SourceStart(
            config=config,
            games=run.games,
            players=trainee.players,
            reward=reward,
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
            show=print_message,
        )
        training = Training(
            config=config,
            trainee=trainee,
            source=make_source(start),
            credit=credit,
            reward=reward,
            pace=pace,
            keep=samples.keep,
            auxiliary_sft=make_auxiliary_sft(run, model),
            teach_tokens=make_token_teacher(config) if config.teaches_tokens else None,
        )
        steps = _StepLoop(run, training)
        directory.remove_later_metrics(TRAIN, steps.done)
        trainee.publish()
        steps.take()
        for remark in training.reward.remarks():
            print_message(remark, style="yellow")
        return steps


class _StepLoop:
    """The steps of a run: the state so far, and the parts that decide what follows a step."""

    def __init__(self, run: RunContext, training: Training) -> None:
        directory = run.directory
        self._run, self._training, self._pace = run, training, training.pace
        self.done = 0
        """Number of steps done."""
        self.health = Health()
        judges_points = run.config.checkpoints.best and run.config.evaluation.every != 0
        self._best = BestPoint(run.games if judges_points else (), 0, {}, {})
        self._judged_from = 0
        """After a rollback, the first step whose replies are judged."""
        self._is_warned = False
        """Whether the latest step was unhealthy, so that a run that only warns has said so."""
        for broken in remove_incomplete_checkpoints(directory.checkpoints):
            print_message(f"Removed an incomplete checkpoint: {broken}", style="yellow")
        self._checkpoints = CheckpointKeeper(
            directory, training.trainee.learner, keep=run.config.checkpoints.keep, report=run.watchers.saved
        )
        if saved := list_complete_checkpoints(directory.checkpoints):
            self._restore_newest(saved[-1])
        self._stop = StopRule(self._pace, self.health)
        self._curve = CurveSchedule(run.config.evaluation.every, self._pace, self.done)

    @property
    def kept(self) -> int:
        """The step whose weights are the result, once all steps are done."""
        return self._best.step if self._best.is_lost else self.done

    def _restore_newest(self, newest: Path) -> None:
        """Restore the state of the newest checkpoint."""
        with check_state(newest / STATE):
            state = load_checkpoint(newest, self._training.trainee.learner)
            self._training.restore(state["training"])
            self.done, self.health = int(state["step"]), Health(**state["health"])
            self._best = BestPoint.restored(self._best.games, state["best"])
            cpu_seconds = float(state["cpu_seconds"])
        remove_later_checkpoints(self._run.directory.best, self.done)
        self._pace.used += cpu_seconds
        print_message(f"Resuming after step {self.done} ({newest})")

    def take(self) -> None:
        """Take the remaining steps. If the run is stopped, its last complete step has a checkpoint."""
        run, config, pace, stop = self._run, self._run.config, self._pace, self._stop
        shown = pace.count_done(self.done)
        with self._checkpoints, self._open_bar(shown) as bar:
            if not self.done:
                self._measure_start()
                self._save_checkpoint()
                self._save_best()
            while not stop.is_over(self.done):
                self._checkpoints.collect(wait=False)
                setbacks = self.health.setbacks
                metrics = self._take_step()
                before, shown = shown, pace.count_done(self.done)
                bar.advance(summarize_metrics(metrics), shown - before)
                try:
                    metrics |= self._measure_point()
                    run.watchers.stepped(TRAIN, self.done, metrics)
                    run.interruption.stop_here()
                except BaseException:
                    self._save_checkpoint()
                    raise
                is_over = stop.is_over(self.done)
                if is_over or self.done % config.checkpoints.every == 0 or self.health.setbacks > setbacks:
                    self._save_checkpoint()
                if config.source.kind != "matches":  # others learn that a step is done, so it must be on disk
                    self._checkpoints.collect()
                self._training.source.learned(self.done - 1, metrics)
                if stop.idle == MAX_IDLE_STEPS and not is_over:
                    raise _explain_no_rows(metrics, self._training)
        if (kept := self.kept) != self.done:
            best = checkpoint_path(run.directory.best, kept)
            load_checkpoint(best, self._training.trainee.learner, weights_only=True)
            print_message(
                f"The last weights are clearly worse than those of step {kept}. Training ends with the weights of "
                f"step {kept}.",
                style="yellow",
            )

    def _take_step(self) -> dict[str, Any]:
        """Take one step, and return its metrics. If replies or the update show that the policy is
        broken, the step ends with earlier weights or a warning."""
        step, training = self.done, self._training
        began = time.perf_counter(), time.process_time()
        try:
            groups, metrics = training.play(step)
        except KeyboardInterrupt:  # nothing was learned from this step yet
            self._save_checkpoint()
            raise
        played = time.process_time()
        wrong = self.health.check_rollout(metrics) if step >= self._judged_from else ""
        if not wrong:
            self._checkpoints.note_healthy(step - metrics["rollout/staleness"])
        if wrong and training.config.rolls_back:
            metrics["train/rows"] = 0
        else:
            metrics |= training.learn(step, groups, self.health.rate_scale)
            wrong = wrong or self.health.check_update(metrics, training.config.objective.clip_limit)
        if wrong and training.config.rolls_back:
            self._roll_back(wrong, groups)
        elif wrong and not self._is_warned:
            self._warn(wrong, groups)
        self._is_warned = bool(wrong)
        self._stop.note(metrics)
        for problem in describe_problems(step + 1, metrics, groups, self._stop.tied):
            print_message(problem, style="yellow")
        metrics |= training.trainee.publish()
        self.done += 1
        training.source.published(self.done)
        self._pace.step(time.process_time() - began[1])
        return metrics | {
            "train/setbacks": self.health.setbacks,
            "perf/cpu_rollout": played - began[1],
            "perf/cpu_seconds": self._pace.trained,
            "perf/seconds": time.perf_counter() - began[0],
            **measure_peak_memory(),
        }

    def _warn(self, wrong: str, groups: Sequence[Group]) -> None:
        """Report that the policy seems broken. Training continues."""
        replies = quote_replies(groups, failed=True)
        print_message(
            f"Step {self.done + 1}: {wrong}{f': {replies}' if replies else ''}. Training continues. To return to the "
            f"last healthy weights instead, set checkpoints.rollback=true. A lower optimizer.learning_rate may prevent "
            f"this.",
            style="yellow",
        )

    def _roll_back(self, wrong: str, groups: Sequence[Group]) -> None:
        """Return to the weights of the last healthy checkpoint, and halve the learning rate."""
        state = self._checkpoints.roll_back()
        self._training.credit.restore(state["training"]["credit"])
        self.health.setbacks += 1
        self._judged_from = self.done + 1 + self._run.config.engine.staleness
        replies = quote_replies(groups, failed=True)
        print_message(
            f"Step {self.done + 1}: {wrong}{f': {replies}' if replies else ''}. Returning to the weights of step "
            f"{self._checkpoints.healthy}, "
            + (
                f"with {self.health.rate_scale:g} of the learning rate."
                if self.health.setbacks <= MOST_SETBACKS
                else f"and training ends after {self.health.setbacks} rollbacks."
            ),
            style="yellow",
        )

    def _measure_start(self) -> None:
        """Measure the policy before the first step, in the deals of the points that are compared with it."""
        if self._best.games:
            began = time.process_time()
            _, returns = measure_curve_point(self._run, "curve-0", self._training.trainee.evaluated)
            self._best.returns = self._best.last = returns
            self._pace.spend(time.process_time() - began)

    def _measure_point(self) -> dict[str, float]:
        """Measure a point of the learning curve if one is due, and save the weights if it is the best so far. Returns
        its metrics."""
        run, began = self._run, time.process_time()
        is_due = bool(run.games) and self._curve.is_due(self.done, is_over=self._stop.is_over(self.done))
        self._curve.note(self.done)
        if not is_due:
            return {}
        metrics, returns = measure_curve_point(run, f"curve-{self.done}", self._training.trainee.evaluated)
        if self._best.note(self.done, returns):
            self._save_best()
        self._pace.spend(time.process_time() - began)
        return metrics

    def _open_bar(self, done: int) -> AbstractContextManager[StageBar]:
        """Return the progress bar. It counts steps, whose duration grows, or the CPU seconds of a budget."""
        pace, steps = self._pace, self._run.config.steps
        work = [compute_growth(self._run.config, pace(step)) for step in range(steps or 0)]
        name = "Training" if steps is not None else "Training, CPU seconds"
        return self._run.view.stage(name, pace.work, lines=20, done=done, work=work)

    def _save_checkpoint(self) -> None:
        self._checkpoints.save(self._collect_state())

    def _save_best(self) -> None:
        """Save the weights as the best so far, if the run may end with them."""
        if self._best.games:
            self._checkpoints.save_best(self._collect_state())

    def _collect_state(self) -> dict[str, Any]:
        return {
            "step": self.done,
            "cpu_seconds": self._pace.trained,
            "health": asdict(self.health),
            "best": self._best.state(),
            "training": self._training.state(),
        }


def _explain_no_rows(metrics: Mapping[str, Any], training: Training) -> GymposiumError:
    unrated = "".join(
        f" {quantity(count, 'group')} could not be rated: {why}" for why, count in training.unrated.most_common(3)
    )
    return GymposiumError(
        f"{MAX_IDLE_STEPS} consecutive steps had nothing to learn from: all matches of each group earned the same "
        f"reward, could not be rated, or had only rows that were too long.{unrated} In the last step, "
        f"{compute_failed_share(metrics):.0%} of the replies had no legal move. Try a longer cold start, a weaker "
        f"opponent, or larger groups. If replies are cut off, raise prompting.max_tokens."
    )
