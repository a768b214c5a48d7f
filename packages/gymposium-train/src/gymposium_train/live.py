"""The display of a run in progress: progress bars and the newest metrics in a terminal, plain lines elsewhere. Nothing
of it is stored."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gymposium.cli.text import err
from gymposium.visible import visible
from gymposium_train.progress import say

WIDTH = 32
"""Number of newest values in a sparkline."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_FIRST = (
    "rollout/reward",
    "rollout/win",
    "rollout/score",
    "rollout/stage",
    "rollout/stage_score",
    "train/sft_loss",
    "train/entropy",
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

    def stage(self, name: str, total: int, lines: int = 1) -> AbstractContextManager[StageBar]:
        """Begin a stage of `total` steps: a bar in a terminal, at most `lines` lines elsewhere."""

    def show(self, metrics: Mapping[str, Any]) -> None:
        """Show the newest metrics, by their flat names. Values that are not numbers are ignored."""


class Lines:
    """A view for logs and pipes, which prints a few lines for each stage."""

    @contextmanager
    def stage(self, name: str, total: int, lines: int = 1) -> Iterator[StageBar]:
        yield _LineStage(name, total, lines)

    def show(self, metrics: Mapping[str, Any]) -> None:
        """Print nothing: the most important metrics are in the notes of the stage, and all are in their file."""


class _LineStage:
    def __init__(self, name: str, total: int, lines: int) -> None:
        self._name, self._total, self._lines, self._done = name, total, lines, 0

    def advance(self, note: str = "", steps: int = 1) -> None:
        before, self._done = self._done, self._done + steps
        if self._total and self._done * self._lines // self._total > before * self._lines // self._total:
            say(f"{self._name}: {self._done}/{self._total}  {note}")


class Terminal:
    """A view for terminals: the bar of the current stage, and a table of metrics with their recent values. When a stage
    ends, its bar is replaced by a line above the table."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._history: dict[str, deque[float]] = {}
        self._bars = Progress(
            TextColumn("{task.description:<28}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
        )

    @contextmanager
    def stage(self, name: str, total: int, lines: int = 1) -> Iterator[StageBar]:
        task = self._bars.add_task(visible(name), total=total, note="")
        bar = _BarStage(self._bars, task)
        try:
            yield bar
        finally:
            self._bars.remove_task(task)
        self._console.print(Text(f"{visible(name):<28} {bar.done}/{total}  {bar.note}"))

    def show(self, metrics: Mapping[str, Any]) -> None:
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
    def __init__(self, bars: Progress, task: Any) -> None:
        self._bars, self._task = bars, task
        self.done, self.note = 0, ""

    def advance(self, note: str = "", steps: int = 1) -> None:
        self.done, self.note = self.done + steps, visible(note)
        self._bars.update(self._task, advance=steps, note=self.note)


@contextmanager
def view() -> Iterator[View]:
    """The view for stderr: `Terminal` if it is a terminal, else `Lines`."""
    console = err()
    if not console.is_terminal:
        yield Lines()
        return
    terminal = Terminal(console)
    with Live(console=console, get_renderable=terminal.render, transient=True, refresh_per_second=4):
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
    if name.startswith("eval/"):
        return -1, name
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST)), name
