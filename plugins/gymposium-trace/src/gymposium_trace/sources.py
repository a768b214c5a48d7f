"""Sources of programs: the generator, a JSONL file, a hub. Each creates the task for a seed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from gymposium.errors import BadParameter, GymposiumError, MissingExtra, describe_cause
from gymposium.plugins.command_line import format_command_line
from gymposium.util.plain_file import read_lines
from gymposium.util.streams import Draw, stream
from gymposium.util.strict_json import parse_strict_json
from gymposium_trace.inject import InjectionError, inject
from gymposium_trace.inject_untrusted import inject_untrusted
from gymposium_trace.programs import generate_program
from gymposium_trace.running.limits import Limits
from gymposium_trace.running.probe import choose_generated_backend, choose_untrusted_backend
from gymposium_trace.tasks import StoppedProgram, Task, UnusableProgram, check_size, make_task

_TRIES = 100
"""Maximum number of programs drawn for one seed."""

HUB = "hub:"
MOST_FILE = 2**30
"""Maximum size of a file with programs, in bytes."""
MOST_ROW = 2**20
"""Maximum size of a line in such a file, in bytes."""


class ProgramSkipped(UserWarning):
    """Warning that a program from the source was rejected and another one is drawn."""


class Source(Protocol):
    """Protocol of a source of tasks."""

    def draw(self, seed: int) -> Task:
        """Return the task for this seed. Equal seeds give equal tasks."""
        ...


def open_source(source: str, difficulty: int, prints: int) -> Source:
    """Return the source that a game's parameters name. Nothing is read before the first draw."""
    if source == "generated":
        return GeneratedPrograms(difficulty, prints)
    return DatasetPrograms(source, lambda: read_rows(source), prints)


class GeneratedPrograms:
    """Generated programs of one difficulty."""

    def __init__(self, difficulty: int, prints: int) -> None:
        self._difficulty, self._prints = difficulty, prints

    def draw(self, seed: int) -> Task:
        backend = choose_generated_backend()
        for attempt in range(_TRIES):
            text = generate_program(self._difficulty, Draw(stream(seed, "program", attempt)))
            text = inject(text, self._prints, Draw(stream(seed, "prints", attempt)))
            try:
                return make_task(text, "", backend, Limits(), ours=True)
            except StoppedProgram as error:  # otherwise the task of a seed would depend on the machine's load
                raise GymposiumError(f"The program of seed {seed}: {error}. Is the machine overloaded?") from error
            except UnusableProgram:
                continue
        raise GymposiumError(f"Seed {seed} gives no valid program of difficulty {self._difficulty}. Use another seed.")


class DatasetPrograms:
    """Programs from a file or a hub: objects with `generate_program` and, if it reads input, `inputs`.

    They run only in isolation. A rejected program is skipped with a warning and listed in `skipped`.
    """

    def __init__(self, name: str, read: Callable[[], Sequence[Any]], prints: int) -> None:
        self.name = name
        self._read, self._prints = read, prints
        self.skipped: dict[int, str] = {}
        """The reasons why programs were rejected, by program number from 0."""

    @cached_property
    def rows(self) -> Sequence[Any]:
        """All programs of the source, read on first use. Raises `BadParameter`."""
        rows = self._read()
        if not len(rows):
            raise BadParameter(f"source={self.name}: it has no programs. Write one per line.")
        return rows

    def draw(self, seed: int) -> Task:
        choose_untrusted_backend()  # before reading: programs that cannot run need not be fetched
        for attempt in range(_TRIES):
            number = Draw(stream(seed, "program", attempt)).below(len(self.rows))
            try:  # even if skipped before: it may be accepted with other prints, and a seed has one task
                return self.task(number, Draw(stream(seed, "prints", attempt)))
            except (InjectionError, UnusableProgram) as error:
                if number not in self.skipped:
                    warnings.warn(f"{self.name}: program {number} is skipped: {error}.", ProgramSkipped, stacklevel=2)
                self.skipped[number] = str(error)
        raise BadParameter(
            f"source={self.name}: no valid program found in {_TRIES} tries. "
            f"`{format_command_line('trace', 'check', self.name)}` says what is wrong with each program."
        )

    def task(self, number: int, draw: Draw) -> Task:
        """Return the task of the program with this number. Raises `InjectionError` or `UnusableProgram`."""
        backend = choose_untrusted_backend()
        text, inputs = _parse_row(self.rows[number])
        check_size(text, inputs)
        text = inject_untrusted(text, self._prints, draw)
        return make_task(text, inputs, backend, Limits(), ours=False)


def _parse_row(row: Any) -> tuple[str, str]:
    """Return a row's program and input. JSONL is parsed line by line, so other rows survive a broken one."""
    if isinstance(row, bytes):
        if len(row) > MOST_ROW:
            raise UnusableProgram(f"its line is longer than {MOST_ROW} bytes")
        try:
            row = parse_strict_json(row.decode("utf-8-sig"), any_integer=True)
        except ValueError as error:
            raise UnusableProgram(f"its line is not JSON ({error})") from error
    if not isinstance(row, Mapping) or not isinstance(row.get("program"), str):
        raise UnusableProgram('it has no text called "program"')
    inputs = row.get("inputs")
    if not isinstance(inputs, str | None):
        raise UnusableProgram('its "inputs" are not text')
    return row["program"], inputs or ""


def read_rows(name: str) -> Sequence[Any]:
    """Read `hub:NAME`, `hub:NAME:SPLIT` or a JSONL file. Raises `BadParameter` or `MissingExtra`."""
    if name.startswith(HUB):
        return _read_hub(name)
    rows, size = [], 0
    try:
        for line in read_lines(name):
            if (size := size + len(line)) > MOST_FILE:
                raise BadParameter(f"source={name}: the file has more than {MOST_FILE >> 20} MiB. Split it.")
            if line.strip():
                rows.append(line[: MOST_ROW + 1])
    except OSError as error:
        raise BadParameter(
            f"source={name}: cannot be read ({describe_cause(error)}). Write generated, the path of a JSONL "
            f"file, or hub:NAME."
        ) from error
    return rows


def _read_hub(name: str) -> Sequence[Any]:
    try:
        import datasets  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("The library for data sets of a hub", '"gymposium-trace[hub]"') from error
    dataset, _, split = name.removeprefix(HUB).partition(":")
    try:
        rows: Sequence[Any] = datasets.load_dataset(dataset, split=split or "train")
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise BadParameter(
            f"source={name}: the data set could not be loaded ({error}). Check its name and split."
        ) from error
    return rows
