"""Public histories of hands, derived from the engine's history and cached between decisions.

Some engines omit public facts from a seat's view, so the facts must be derived from the history. It is much faster to
continue from the previous decision than to start from the deal each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

_MAX_CACHED = 5000
"""Maximum number of cached hand histories. Each takes one or two kilobytes."""


class HandHistory(Protocol):
    """The history of a hand so far."""

    def copy(self: H) -> H: ...

    def advance(self, item: int) -> None:
        """Apply the next engine history entry."""


H = TypeVar("H", bound=HandHistory)


class HandHistories(Generic[H]):
    """A cache of hand histories for all matches of a game. Callers must not modify what `get` returns."""

    def __init__(self, begin: Callable[[Sequence[int]], tuple[H, int]]) -> None:
        """`begin` takes an engine history. It returns a hand history for the first entries, and their number."""
        self._begin = begin
        self._cache: dict[bytes, H] = {}

    def get(self, history: Sequence[int]) -> H:
        """Return the hand history for an engine history."""
        key = bytes(history)
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        done = len(key)
        while cached is None and done:
            done -= 1
            cached = self._cache.get(key[:done])
        hand, done = self._begin(key) if cached is None else (cached.copy(), done)
        for item in key[done:]:
            hand.advance(item)
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[key] = hand
        return hand
