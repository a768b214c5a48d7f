"""The live display of a run. In a terminal, each phase has a bar, a sparkline and a few metrics. Elsewhere, it prints
plain lines. Nothing is stored."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from fnmatch import fnmatchcase
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gymposium.cli.text import make_stderr_console, use_display
from gymposium.util.visible import visible
from gymposium_train.rollout.results import compute_failed_share
from gymposium_train.util.progress import print_message

WIDTH = 32
"""Number of values in a sparkline."""
QUIET = 10.0
"""Maximum number of seconds between log lines while steps are done."""
EVALUATION = "eval/"
"""Prefix of the names of evaluation metrics."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_SUMMARY = (
    ("train/sft_loss", "loss {:.3f}"),
    ("train/sft_failed", "failed {:.1%}"),
    ("train/teacher_agreement", "agreement {:.1%}"),
    ("train/sft_validation_loss", "validation {:.3f}"),
    ("train/sft_token_accuracy", "accuracy {:.1%}"),
    ("rollout/reward", "reward {:+.2f}"),
    ("rollout/win", "win {:.0%}"),
    ("rollout/teacher_agreement", "agreement {:.0%}"),
    ("train/entropy", "entropy {:.2f}"),
)
"""The metrics shown for a phase, with their formats. The first metric that the phase has is drawn as its sparkline."""
_KL = ("train/kl", "train/approx_kl")
"""The metrics for the KL: to the reference or, without a reference, of the step."""


def summarize_metrics(metrics: Mapping[str, Any]) -> str:
    """Summarize a step's most important metrics on one line: reward, win rate, agreement with a teacher, entropy, KL
    and failed replies, or the imitation loss."""
    parts = [text.format(metrics[name]) for name, text in _SUMMARY if name in metrics]
    parts += [f"KL {metrics[name]:.2g}" for name in _KL if name in metrics][:1]
    if "rollout/illegal" in metrics:
        parts.append(f"failed {compute_failed_share(metrics):.1%}")
    return "  ".join(parts)


def format_result(metrics: Mapping[str, float]) -> str:
    """Summarize one evaluation on one line, by the last part of the metrics' names."""
    by_name = {name.rpartition("/")[2]: value for name, value in metrics.items()}
    parts = [f"{name} {by_name[name]:.1%}" for name in ("win", "draw", "loss") if name in by_name]
    parts += [f"return {by_name['return']:+.3g}"] if not parts and "return" in by_name else []
    return "  ".join(parts)


class StageBar(Protocol):
    """The progress of one stage."""

    def advance(self, note: str = "", steps: int = 1) -> None:
        """Advance by `steps`. `note` is a short text on the current state. After the last step, a call with 0 steps
        sets it to the stage's result."""


class ProgressView(Protocol):
    """A display of a run's progress."""

    def stage(
        self, name: str, total: int, lines: int = 1, *, done: int = 0, work: Sequence[float] = ()
    ) -> AbstractContextManager[StageBar]:
        """Begin a stage of `total` steps, `done` of them already done. Shows a bar in a terminal. Elsewhere, prints
        about `lines` lines and one every `QUIET` seconds. `work` is the relative cost of each step, used to estimate
        the time left. By default, all steps cost the same."""

    def show(self, metrics: Mapping[str, Any], stage: str = "") -> None:
        """Show the newest metrics, by flat name. Values that are not numbers are ignored. The first metrics of a stage
        replace those of the previous stage. Metrics of evaluations belong to no stage and stay."""


class LineView:
    """A view for logs and pipes that prints lines for each stage. `clock` returns the time in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    @contextmanager
    def stage(
        self, name: str, total: int, lines: int = 1, *, done: int = 0, work: Sequence[float] = ()
    ) -> Iterator[StageBar]:
        yield _LineStage(name, total, lines, done, work, self._clock)

    def show(self, metrics: Mapping[str, Any], stage: str = "") -> None:
        """Do nothing: the most important metrics are in the stage's notes, and all of them are in metrics.jsonl."""


class _LineStage:
    def __init__(
        self, name: str, total: int, lines: int, done: int, work: Sequence[float], clock: Callable[[], float]
    ) -> None:
        self._name, self._total, self._lines, self._clock = name, total, lines, clock
        self._first = self._done = done
        self._work = work
        self._began = self._last = clock()

    def advance(self, note: str = "", steps: int = 1) -> None:
        if not steps and self._done == self._total:
            print_message(f"{self._name}: {note}")
            return
        before, self._done = self._done, self._done + steps
        now = self._clock()
        reached = self._total and self._done * self._lines // self._total > before * self._lines // self._total
        if reached or now - self._last >= QUIET:
            self._last = now
            print_message(f"{self._name}: {self._done}/{self._total}{self._format_time_left(now)}  {note}".rstrip())

    def _format_time_left(self, now: float) -> str:
        """Format the estimated time left, if it is a minute or more."""
        cost = estimate_cost(self._first, self._done, self._work)
        seconds = (now - self._began) * estimate_cost(self._done, self._total, self._work) / cost if cost else 0.0
        return f", {round(seconds / 60)} min left" if seconds >= 60 else ""


class _RemainingTimeColumn(TimeRemainingColumn):
    """A column with the labeled time left."""

    def render(self, task: Task) -> Text:
        known = task.time_remaining is not None
        return Text(f"{super().render(task)} left" if known else "", style="progress.remaining")


class TerminalView:
    """A view for terminals.

    It shows the phase's progress bar. Below are a sparkline of the main metric, the newest metrics, and one line per
    requested metric. When a phase ends, its bar is replaced by lines above the display."""

    def __init__(self, console: Console, wanted: Sequence[str] = ()) -> None:
        """`wanted` names further metrics, with patterns such as `train/*`."""
        self._console, self._wanted = console, wanted
        self._history: dict[str, deque[float]] = {}
        self._stage = ""
        self._bar: _BarStage | None = None
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            _RemainingTimeColumn(),
            console=console,
            expand=True,
        )

    @contextmanager
    def stage(
        self, name: str, total: int, lines: int = 1, *, done: int = 0, work: Sequence[float] = ()
    ) -> Iterator[StageBar]:
        bar = self._bar = _BarStage(self._bars, visible(name), total, done, work)
        try:
            yield bar
        finally:
            self._bars.remove_task(bar.task)
            self._bar = None
        line, ended = self._format_sparkline(bar), f"{visible(name)}: {bar.done}/{total}"
        if self._find_main_metric() is None:
            self._console.print(Text(f"{ended}  {bar.note}"))
        else:
            self._console.print(Text(ended), *([line] if line else []), sep="\n")
            self._forget_metrics()  # the next phase has its own metrics

    def show(self, metrics: Mapping[str, Any], stage: str = "") -> None:
        if stage and stage != self._stage:
            self._stage = stage
            self._forget_metrics()
        for name, value in metrics.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                self._history.setdefault(name, deque(maxlen=WIDTH)).append(float(value))

    def _forget_metrics(self) -> None:
        """Forget all metrics except evaluations."""
        self._history = {name: values for name, values in self._history.items() if name.startswith(EVALUATION)}

    def _find_main_metric(self) -> deque[float] | None:
        """Return the recent values of the phase's main metric, or None if it has none."""
        return next((self._history[name] for name, _ in _SUMMARY if name in self._history), None)

    def _format_sparkline(self, bar: _BarStage) -> Text | None:
        """Format the sparkline of a phase and its newest metrics on one terminal line. Returns None without metrics."""
        values, note = self._find_main_metric(), bar.note
        if not note:
            return None
        width = self._console.width - len(note) - 4
        drawn = draw_sparkline([*values][-width:]) if values and width > 0 else ""
        return Text.assemble("  ", (f"{drawn}  " if drawn else "", "cyan"), note, no_wrap=True, overflow="ellipsis")

    def render(self) -> RenderableType:
        """Return the display, at most as high as the terminal."""
        lines = max(0, self._console.size.height - len(self._bars.tasks) - 4)
        shown: list[RenderableType] = []
        if names := [name for name in sorted(self._history) if any(fnmatchcase(name, w) for w in self._wanted)][:lines]:
            table = Table.grid(padding=(0, 2))
            table.add_column(style="dim")
            table.add_column(justify="right")
            table.add_column()
            table.add_column(style="cyan", no_wrap=True, overflow="crop")
            for name in names:
                values = self._history[name]
                table.add_row(Text(visible(name)), f"{values[-1]:.4g}", draw_trend(values), draw_sparkline(values))
            shown.append(table)
        shown.append(self._bars.get_renderable())
        if self._bar is not None and (line := self._format_sparkline(self._bar)) is not None:
            shown.append(line)
        return Group(*shown)


class _BarStage:
    """A bar whose length is the total work of its steps. The time left is estimated from it."""

    def __init__(self, bars: Progress, name: str, total: int, done: int, work: Sequence[float]) -> None:
        self._bars, self._total, self._work = bars, total, work
        self.done, self.note = done, ""
        self.task = bars.add_task(name, total=estimate_cost(0, total, work), count=f"{done}/{total}")
        bars.update(self.task, completed=estimate_cost(0, done, work))

    def advance(self, note: str = "", steps: int = 1) -> None:
        before, self.done, self.note = self.done, self.done + steps, visible(note)
        cost = estimate_cost(before, self.done, self._work)
        self._bars.update(self.task, advance=cost, count=f"{self.done}/{self._total}")


def estimate_cost(first: int, end: int, work: Sequence[float]) -> float:
    """Return the work of the steps from `first` up to but not including `end`. If `work` is empty, each step counts as
    1."""
    return math.fsum(work[first:end]) if work else end - first


@contextmanager
def open_view(wanted: Sequence[str] = ()) -> Iterator[ProgressView]:
    """Yield the view for stderr: `TerminalView` for a terminal, else `LineView`. `wanted` names further metrics to
    show in a terminal, with patterns such as `train/*`."""
    console = make_stderr_console()
    if not console.is_terminal:
        yield LineView()
        return
    terminal = TerminalView(console, wanted)
    live = Live(console=console, get_renderable=terminal.render, transient=True, refresh_per_second=4)
    with live, use_display(console):
        yield terminal


def draw_sparkline(values: Sequence[float]) -> str:
    """Draw values as a row of blocks, from the lowest block for the minimum to a full one for the maximum. Equal values
    get blocks of half height."""
    low, high = min(values), max(values)
    if low == high:
        return _BLOCKS[3] * len(values)
    return "".join(_BLOCKS[round((value - low) / (high - low) * (len(_BLOCKS) - 1))] for value in values)


def draw_trend(values: Sequence[float]) -> str:
    """Return the trend of values as an arrow: the mean of the newer half minus that of the older half, relative to
    their range."""
    half, spread, ordered = len(values) // 2, max(values) - min(values), list(values)
    if not half or not spread:
        return "→"
    change = (sum(ordered[-half:]) - sum(ordered[:half])) / half / spread
    return "↗" if change > 0.1 else "↘" if change < -0.1 else "→"
