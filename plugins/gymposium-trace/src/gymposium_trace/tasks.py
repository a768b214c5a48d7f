"""A task: a program with its debug prints, what it reads, and what it prints."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass

from gymposium.errors import BadRecord, GymposiumError
from gymposium_trace.running.backends import Backend
from gymposium_trace.running.limits import Limits

MOST_PROGRAM = 20_000
"""Characters of the longest program that counts, debug prints included, and of its input."""
MOST_TRUTH = 4_000
"""Characters of the longest output that counts: somebody has to write it."""
MOST_TRUTH_OURS = 1_200
"""The same for programs of our own, which are drawn again until one is that short."""


class DoesNotCount(GymposiumError):
    """The program is no task; the message says why."""


class Stopped(DoesNotCount):
    """It was stopped at a limit, which on another machine, or at another time, it might keep."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is drawn for a match."""

    program: str
    inputs: str
    """Its standard input."""
    truth: str
    """What it prints to standard output."""
    python: str = ""
    """The Python that ran it, where another may print something else: programs that are not ours."""

    def dump(self) -> str:
        """As the chance outcome of a match."""
        more = {name: part for name, part in (("inputs", self.inputs), ("python", self.python)) if part}
        return json.dumps({"program": self.program, **more, "truth": self.truth})

    @classmethod
    def load(cls, text: str) -> Task:
        """The task that a chance outcome tells. Raises `BadRecord`."""
        try:
            parts = json.loads(text)
            task = cls(**{"inputs": "", **parts})
        except (ValueError, TypeError, RecursionError) as error:
            raise BadRecord(f"{text[:80]!r} tells no program and what it prints ({error}).") from error
        if not all(isinstance(part, str) for part in (task.program, task.inputs, task.truth, task.python)):
            raise BadRecord("A program, its input and its output must be text.")
        if not task.truth.strip():
            raise BadRecord("The program prints nothing, so there is nothing to predict.")
        return task


def make_task(program: str, inputs: str, backend: Backend, limits: Limits, *, ours: bool) -> Task:
    """Run the program twice and take what it prints for the truth. Raises `DoesNotCount` where the runs differ, end
    with an error or at a limit, or print nothing."""
    if len(program) > MOST_PROGRAM or len(inputs) > MOST_PROGRAM:
        raise DoesNotCount(f"it, or its input, is longer than {MOST_PROGRAM} characters")
    try:
        first, second = backend.run(program, inputs, limits, 2)
    except UnicodeEncodeError as error:
        raise DoesNotCount("it, or its input, holds half a character (a lone surrogate)") from error
    for run in (first, second):
        if complaint := run.complaint():
            raise Stopped(complaint) if run.was_stopped else DoesNotCount(complaint)
    if first.stdout != second.stdout:
        raise DoesNotCount("two runs print different things")
    try:
        truth = first.stdout.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DoesNotCount("what it prints is not UTF-8") from error
    if not truth.strip():
        raise DoesNotCount("it prints nothing")
    most = MOST_TRUTH_OURS if ours else MOST_TRUTH
    if len(truth) > most:
        raise DoesNotCount(f"it prints more than {most} characters")
    return Task(program, inputs, truth, "" if ours else f"CPython {platform.python_version()}")
