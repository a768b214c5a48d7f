"""Tasks: a program with its debug prints, its input and its output."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass

from gymposium.errors import BadRecord, GymposiumError
from gymposium_trace.running.backends import Backend
from gymposium_trace.running.limits import Limits

MOST_PROGRAM = 20_000
"""Maximum number of characters in a program, debug prints included, and in its input."""
MOST_LINES = 2_000
"""Maximum number of lines in a program."""
MOST_TRUTH = 4_000
"""Maximum number of characters in an output, because the player has to write it."""
MOST_TRUTH_OURS = 1_200
"""Maximum number of characters in a generated program's output. A program with a longer output is replaced by a new
draw."""


class UnusableProgram(GymposiumError):
    """Error for a rejected program. The message says why."""


class StoppedProgram(UnusableProgram):
    """Error for a program that exceeded a limit, but might not exceed it on another run."""


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a match, drawn by chance."""

    program: str
    inputs: str
    """Standard input of the program."""
    truth: str
    """Standard output of the program."""
    python: str = ""
    """Python version that ran the program; empty for generated programs, whose output does not depend on it."""

    def dump(self) -> str:
        """Return the task as a chance outcome of a match."""
        more = {name: part for name, part in (("inputs", self.inputs), ("python", self.python)) if part}
        return json.dumps({"program": self.program, **more, "truth": self.truth})

    @classmethod
    def load(cls, text: str) -> Task:
        """Read the task from a chance outcome. Raises `BadRecord`."""
        try:
            parts = json.loads(text)
            task = cls(**{"inputs": "", **parts})
        except (ValueError, TypeError, RecursionError) as error:
            raise BadRecord(
                f"{text[:80]!r} does not hold a program and its output ({error}). Restore the record from a copy."
            ) from error
        if not all(isinstance(part, str) for part in (task.program, task.inputs, task.truth, task.python)):
            raise BadRecord("A program, its input and its output must be text. Restore the record from a copy.")
        if not task.truth.strip():
            raise BadRecord("The program of a task must print something. Restore the record from a copy.")
        return task


def check_size(program: str, inputs: str) -> None:
    """Raise `UnusableProgram` if a program or its input is too long or has characters that Python cannot read."""
    if len(program) > MOST_PROGRAM or len(inputs) > MOST_PROGRAM:
        raise UnusableProgram(f"it, or its input, is longer than {MOST_PROGRAM} characters")
    if (lines := len(program.splitlines())) > MOST_LINES:
        raise UnusableProgram(f"it has {lines} lines, more than {MOST_LINES}")
    if "\0" in program:
        raise UnusableProgram("it contains a NUL character")
    try:
        (program + inputs).encode()
    except UnicodeEncodeError as error:
        raise UnusableProgram("it, or its input, contains a lone surrogate") from error


def make_task(program: str, inputs: str, backend: Backend, limits: Limits, *, ours: bool) -> Task:
    """Run the program twice and return the task with its output.

    Raises `UnusableProgram` if the runs differ, fail, reach a limit, or print nothing.
    """
    check_size(program, inputs)
    first, second = backend.run(program, inputs, limits, 2)
    for run in (first, second):
        if complaint := run.complaint():
            raise StoppedProgram(complaint) if run.was_stopped else UnusableProgram(complaint)
    if first.stdout != second.stdout:
        raise UnusableProgram("two runs print different things")
    try:
        truth = first.stdout.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnusableProgram("its output is not UTF-8") from error
    if not truth.strip():
        raise UnusableProgram("it prints nothing")
    most = MOST_TRUTH_OURS if ours else MOST_TRUTH
    if len(truth) > most:
        raise UnusableProgram(f"it prints more than {most} characters")
    return Task(program, inputs, truth, "" if ours else f"CPython {platform.python_version()}")
