"""Ray errors as one line with their cause."""

from __future__ import annotations

import re

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r'^ +File "[^\n]*", line \d+[^\n]*\n(?: {4}[^\n]*(?:\n|\Z))*', re.MULTILINE)
"""A frame of a traceback, with its line of code."""
_MARK = re.compile(r"^ *[~^]+ *$", re.MULTILINE)
_DETAIL = re.compile(r"^\t[^\n]*$", re.MULTILINE)
"""A line in Ray's listing of an actor's ids."""


def describe_cause(error: BaseException) -> str:
    """Return a Ray error's cause as one line: the exception that a task raised, or Ray's text without tracebacks."""
    raised = getattr(error, "cause", None)  # of a task
    if isinstance(raised, BaseException):
        return f"{type(raised).__name__}: {_join_lines(str(raised))}"
    text = _STYLE.sub("", str(error)) + "\n"
    for left_out in (_FRAME, _MARK, _DETAIL):
        text = left_out.sub("", text)
    return _join_lines(text) or type(error).__name__


def _join_lines(text: str) -> str:
    return " ".join(text.split())
