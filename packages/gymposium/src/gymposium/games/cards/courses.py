"""What happened in a match, from the engine's history, remembered from one decision to the next.

Where an engine's view leaves out what lies open at a table, it has to be worked out from the history. To do so from
the deal on at each decision is slow; to go on from the decision before is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

_KEPT = 5000
"""Courses that are remembered; each is a kilobyte or two."""


class Course(Protocol):
    """Where a match has come to."""

    def copy(self: C) -> C: ...

    def go_on(self, item: int) -> None:
        """Take in the next entry of the history."""
        ...


C = TypeVar("C", bound=Course)


class Courses(Generic[C]):
    """The courses of all matches of a game. Nobody changes one that is handed out."""

    def __init__(self, begin: Callable[[Sequence[int]], tuple[C, int]]) -> None:
        """`begin` makes the course that a history begins with, and says how many of its entries that takes in."""
        self._begin = begin
        self._known: dict[bytes, C] = {}

    def of(self, history: Sequence[int]) -> C:
        key = bytes(history)
        known = self._known.get(key)
        if known is not None:
            return known
        done = len(key)
        while known is None and done:
            done -= 1
            known = self._known.get(key[:done])
        course, done = self._begin(key) if known is None else (known.copy(), done)
        for item in key[done:]:
            course.go_on(item)
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[key] = course
        return course
