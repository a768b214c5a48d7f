"""The display of a run in progress: progress bars and the newest metrics in a terminal, plain lines elsewhere. Nothing
of it is stored."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gymposium.cli.text import displaying, err
from gymposium.visible import visible
from gymposium_train.progress import say

WIDTH = 32
"""Number of newest values in a sparkline."""
QUIET = 10.0
"""Maximum number of seconds without a line in a log, while steps are done."""
EVALUATION = "eval/"
"""Beginning of the names of metrics that are results of evaluations."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_FIRST = (
    "rollout/reward",
    "rollout/win",
    "rollout/score",
    "rollout/stage",
    "rollout/stage_score",
    "train/sft_loss",
    "train/entropy",
    "train/move_entropy",
    "train/kl",
    "train/approx_kl",
    "train/clipfrac",
    "train/explained_variance",
    "train/value_loss",
    "train/grad_norm",
    "train/mismatch_kl",
    "rollout/illegal",
    "rollout/unparsable",
    "rollout/cut_off",
    "rollout/groups_tied",
    "train/learning_rate",
    "perf/seconds",
    "perf/tokens_per_second_rollout",
)
"""Metrics to show first, after the points of the learning curve. Other metrics follow if there is room."""


class StageBar(Protocol):
    """The progress of one stage."""

    def advance(self, note: str = "", steps: int = 1) -> None:
        """Advance by `steps`. `note` is a short text on the current state."""


class View(Protocol):
    """Displays the progress of a run."""

    def stage(
        self, name: str, total: int, lines: int = 1, *, done: int = 0, work: Sequence[float] = ()
    ) -> AbstractContextManager[StageBar]:
        """Begin a stage of `total` steps, of which `done` are done: a bar in a terminal, elsewhere `lines` lines and
        one every `QUIET` seconds. `work` is the relative cost of each step, from which the time left is estimated; by
        default all steps cost the same."""

    def show(self, metrics: Mapping[str, Any], stage: str = "") -> None:
        """Show the newest metrics, by their flat names. Values that are not numbers are ignored. With the first metrics
        of a stage, those of the stage before it disappear; evaluations, which name no stage, stay."""


class Lines:
    """A view for logs and pipes, which prints lines for each stage. `clock` returns the time in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    @contextmanager
    def stage(
        self, name: str, total: int, lines: int = 1, *, done: int = 0, work: Sequence[float] = ()
    ) -> Iterator[StageBar]:
        yield _LineStage(name, total, lines, done, work, self._clock)

    def show(self, metrics: Mapping[str, Any], stage: str = "") -> None:
        """Print nothing: the most important metrics are in the notes of the stage, and all are in their file."""


class _LineStage:
    def __init__(
        self, name: str, total: int, lines: int, done: int, work: Sequence[float], clock: Callable[[], float]
    ) -> None:
        self._name, self._total, self._lines, self._clock = name, total, lines, clock
        self._first = self._done = done
        self._work = work
        self._began = self._last = clock()

    def advance(self, note: str = "", steps: int = 1) -> None:
        before, self._done = self._done, self._done + steps
        now = self._clock()
        reached = self._total and self._done * self._lines // self._total > before * self._lines // self._total
        if reached or now - self._last >= QUIET:
            self._last = now
            say(f"{self._name}: {self._done}/{self._total}{self._left(now)}  {note}")

    def _left(self, now: float) -> str:
        """The estimate of the time left, if it is a minute or more."""
        cost = cost_of(self._first, self._done, self._work)
        seconds = (now - self._began) * cost_of(self._done, self._total, self._work) / cost if cost else 0.0
        return f", {round(seconds / 60)} min left" if seconds >= 60 else ""


class Terminal:
    """A view for terminals: the bar of the current stage, and a table of metrics with their recent values. When a stage
    ends, its bar is replaced by a line above the table."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._history: dict[str, deque[float]] = {}
        self._stage = ""
        self._bars = Progress(
            TextColumn("{task.description:<28}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
        )

    @contextmanager
    def stage(
        self, name: str, total: int, lines: int = 1, *, done: int = 0, work: Sequence[float] = ()
    ) -> Iterator[StageBar]:
        bar = _BarStage(self._bars, visible(name), total, done, work)
        try:
            yield bar
        finally:
            self._bars.remove_task(bar.task)
        self._console.print(Text(f"{visible(name):<28} {bar.done}/{total}  {bar.note}"))

    def show(self, metrics: Mapping[str, Any], stage: str = "") -> None:
        if stage and stage != self._stage:
            self._stage = stage
            self._history = {name: values for name, values in self._history.items() if name.startswith(EVALUATION)}
        for name, value in metrics.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                self._history.setdefault(name, deque(maxlen=WIDTH)).append(float(value))

    def render(self) -> RenderableType:
        """The table and the bars, at most as high as the terminal."""
        room = self._console.size.height - len(self._bars.tasks) - 3
        names = sorted(self._history, key=_place)[: max(0, room)]
        if not names:
            return self._bars.get_renderable()
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim")
        table.add_column(justify="right")
        table.add_column()
        table.add_column(style="cyan")
        for name in names:
            values = self._history[name]
            table.add_row(Text(visible(name)), f"{values[-1]:.4g}", arrow(values), sparkline(values))
        return Group(table, self._bars.get_renderable())


class _BarStage:
    """A bar as long as the work of its steps, from which rich estimates the time left."""

    def __init__(self, bars: Progress, name: str, total: int, done: int, work: Sequence[float]) -> None:
        self._bars, self._total, self._work = bars, total, work
        self.done, self.note = done, ""
        self.task = bars.add_task(name, total=cost_of(0, total, work), note="", count=f"{done}/{total}")
        bars.update(self.task, completed=cost_of(0, done, work))

    def advance(self, note: str = "", steps: int = 1) -> None:
        before, self.done, self.note = self.done, self.done + steps, visible(note)
        cost = cost_of(before, self.done, self._work)
        self._bars.update(self.task, advance=cost, note=self.note, count=f"{self.done}/{self._total}")


def cost_of(first: int, end: int, work: Sequence[float]) -> float:
    """The work of the steps from `first` up to but not including `end`; 1 for each step if `work` is empty."""
    return math.fsum(work[first:end]) if work else end - first


@contextmanager
def view() -> Iterator[View]:
    """The view for stderr: `Terminal` if it is a terminal, else `Lines`."""
    console = err()
    if not console.is_terminal:
        yield Lines()
        return
    terminal = Terminal(console)
    live = Live(console=console, get_renderable=terminal.render, transient=True, refresh_per_second=4)
    with live, displaying(console):
        yield terminal


def sparkline(values: Sequence[float]) -> str:
    """Values as a row of blocks: the lowest value is the lowest block, the highest a full one. Equal values are blocks
    of half height."""
    low, high = min(values), max(values)
    if low == high:
        return _BLOCKS[3] * len(values)
    return "".join(_BLOCKS[round((value - low) / (high - low) * (len(_BLOCKS) - 1))] for value in values)


def arrow(values: Sequence[float]) -> str:
    """The trend of values: the mean of the newer half less that of the older half, as a share of their range."""
    half, spread, ordered = len(values) // 2, max(values) - min(values), list(values)
    if not half or not spread:
        return "→"
    change = (sum(ordered[-half:]) - sum(ordered[:half])) / half / spread
    return "↗" if change > 0.1 else "↘" if change < -0.1 else "→"


def _place(name: str) -> tuple[int, str]:
    if name.startswith(EVALUATION):
        return -1, name
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST)), name
