"""What all cold starts share: lots of lessons as tokens, steps with their metrics and points of the learning curve, and
the results."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from gymposium.runs.curves import COLD_START
from gymposium.util.visible import plural, quantity
from gymposium_agents.players.player import choose_reader, make_engine_player
from gymposium_train.backends.protocol import LearningModel
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.run.lessons import Lesson, Lessons, imitate_batches, mix_batches, tokenize_lessons
from gymposium_train.run.live import StageBar, summarize_metrics
from gymposium_train.run.measures import measure_curve_point
from gymposium_train.run.under_way import RunContext
from gymposium_train.util.progress import print_message

POINT_SECONDS = 20.0
"""CPU seconds between two points of the learning curve. A point is taken between two lots."""

Lots = list[list[Lesson]]
"""The lessons to imitate, in lots: one per game for random matches, or one for all files."""


class ImitationStage:
    """A cold start under way: its CPU time, its metrics, and the points of its learning curve."""

    def __init__(self, run: RunContext, model: LearningModel, bar: StageBar, began: float) -> None:
        """`began` is the CPU time of the process at the start."""
        self.run, self.model, self._bar = run, model, bar
        self.measured: dict[str, float] = {}
        """Metrics that are part of each following step."""
        self.counts: Counter[str] = Counter()
        """The counts of the lessons (`Lessons.count`)."""
        self.began = self._last_point = began
        """The CPU time of the process at the start, later by the time spent on points of the learning curve."""
        self._points: dict[str, float] = {}
        run.directory.remove_later_metrics(COLD_START, 0)

    @property
    def spent(self) -> float:
        """CPU seconds since the start, without points of the learning curve."""
        return time.process_time() - self.began

    def measure_curve(self, step: int) -> None:
        """Measure a point of the learning curve if one is due. Its time does not count toward the cold start."""
        before = time.process_time()
        if self.run.config.evaluation.every == 0 or before - self._last_point < POINT_SECONDS:
            return
        player = make_engine_player(
            "lm:cold_start", self.model.engine(), self.model.chat, self.run.config.evaluated_player
        )
        self._points.update(measure_curve_point(self.run, f"curve-cold-{step}", player)[0])
        self._last_point = time.process_time()
        self.began += self._last_point - before

    def take_steps(
        self,
        material: Iterator[list[Demonstration]],
        progress: Callable[[int], float],
        shown: Callable[[], int] | None = None,
    ) -> None:
        """Imitate batches until `progress(step)` reaches 1, and save the model. `shown` returns what the bar should
        have advanced by. By default, it advances by one per step."""
        run, settings, before = self.run, self.run.config.cold_start, 0
        for metrics in imitate_batches(self.model.learner, material, settings, progress=progress):
            found = metrics | self.measured | self._points
            run.watchers.stepped(COLD_START, int(found.pop("step")), found)
            self._points.clear()
            now = before + 1 if shown is None else shown()
            self._bar.advance(summarize_metrics(found), now - before)
            before = now
            run.interruption.stop_here()
        save_results(run, self.model, self.counts, self.began)


def tokenize_lots(run: RunContext, lots: Lots, model: LearningModel) -> list[Lessons]:
    """Return the lots as the model's tokens."""
    config, chat = run.config, model.chat
    context = min(config.optimizer.max_row or model.context, model.context)
    form = choose_reader(config.prompting.reply, chat)
    return [
        tokenize_lessons(lot, chat, context=context, max_tokens=config.prompting.reply_limit, form=form) for lot in lots
    ]


def iterate_batches(
    tokens: Sequence[Lessons], run: RunContext, *key: str | int, first: int = 0
) -> Iterator[list[Demonstration]]:
    """Yield endless batches of the cold start's size from tokenized lots. `key` and `first` are as in `mix_batches`."""
    size, seed = run.config.cold_start.batch, run.config.seed
    return mix_batches([lot.demonstrations for lot in tokens], size, seed, *key, first=first)


def save_results(run: RunContext, model: LearningModel, counts: Counter[str], began: float) -> None:
    """Write the counts of lessons and the CPU time since `began` to the results, and save the model."""
    run.directory.add_results(
        cold_start={name: counts[name] for name in ("replies", "too_long", "cut_off")},
        cold_start_cpu_seconds=time.process_time() - began,
    )
    model.save(run.directory.cold_start)


def report_problems(run: RunContext, counts: Counter[str]) -> None:
    """Report the first lot's numbers of lessons that do not fit, and of those that do not teach a new model what is
    legal."""
    config = run.config
    listed = all(game.num_actions and not game.spec.tools for game in run.games)
    if counts["unguided"] and listed and run.games and config.model.name is None:
        print_message(
            f"{counts['unguided']} of {quantity(counts['replies'], 'reply', 'replies')} to "
            f"imitate {plural(counts['unguided'], 'does', 'do')} not teach the model what is legal, so "
            f"many of its moves may fail. Their lines name no legal moves, or the replies do not follow "
            f"prompting.reply={config.prompting.reply}. To get lines with legal moves, use gymposium synth.",
            style="yellow",
        )
    if counts["too_long"]:
        print_message(
            f"{counts['too_long']} of the first {quantity(counts['replies'] + counts['too_long'], 'lesson')} of the "
            f"cold start {plural(counts['too_long'], 'is', 'are')} left out, because they exceed the model's context.",
            style="yellow",
        )
    if counts["cut_off"]:
        print_message(
            f"{counts['cut_off']} of the first {quantity(counts['replies'], 'reply', 'replies')} to imitate "
            f"{plural(counts['cut_off'], 'is', 'are')} longer than "
            f"prompting.max_tokens = {config.prompting.reply_limit}, so the model would be cut off. Raise "
            f"prompting.max_tokens.",
            style="yellow",
        )
