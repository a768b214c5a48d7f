"""Progress of long work: bars in a terminal, plain lines elsewhere, and Ctrl-C that waits for a safe moment."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gymposium.cli.text import err, printable


def say(message: str, style: str = "") -> None:
    """A line for the person who watches, on stderr."""
    err().print(printable(message), style=style, soft_wrap=True)


class Stage:
    """One stage under way; `advance` moves its bar and says how it goes."""

    def __init__(self, name: str, total: int, lines: int, bar: Progress | None) -> None:
        self._name, self._total, self._lines, self._bar = name, total, lines, bar
        self._done = 0
        self._task = bar.add_task(name, total=total, note="") if bar is not None else None

    def advance(self, note: str = "", steps: int = 1) -> None:
        before, self._done = self._done, self._done + steps
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=steps, note=note)
        elif self._total and self._done * self._lines // self._total > before * self._lines // self._total:
            say(f"{self._name}: {self._done}/{self._total}  {note}")


@contextmanager
def stage(name: str, total: int, lines: int = 1) -> Iterator[Stage]:
    """Show a stage of `total` steps: a bar, or so many lines where there is no terminal."""
    console = err()
    if not console.is_terminal:
        yield Stage(name, total, lines, None)
        return
    columns = (
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console) as bar:
        yield Stage(name, total, lines, bar)


class Interruption:
    """Whether Ctrl-C was pressed. The first one waits for the next safe moment; a second one stops at once."""

    def __init__(self) -> None:
        self.pressed = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        # not through rich, which may be in the middle of a line
        os.write(sys.stderr.fileno(), b"\nStopping at the next safe moment (Ctrl-C again: at once) ...\n")

    def stop_here(self) -> None:
        """This is a safe moment: raises `KeyboardInterrupt` where Ctrl-C was pressed."""
        if self.pressed:
            raise KeyboardInterrupt


@contextmanager
def interruption() -> Iterator[Interruption]:
    """Catch Ctrl-C while inside."""
    caught = Interruption()
    before = signal.signal(signal.SIGINT, caught)
    try:
        yield caught
    finally:
        signal.signal(signal.SIGINT, before)
