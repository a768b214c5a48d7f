"""Public histories of hands, worked out from the engine's history and cached from one decision to the next.

Some engines leave public facts out of a seat's view, so they have to be worked out from the history. Doing so from the
deal at each decision is slow; continuing from the previous decision is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

_KEPT = 5000
"""Most hand histories in the cache; each takes one or two kilobytes."""


class HandHistory(Protocol):
    """What has happened in a hand so far."""

    def copy(self: H) -> H: ...

    def go_on(self, item: int) -> None:
        """Apply the next entry of the engine's history."""
        ...


H = TypeVar("H", bound=HandHistory)


class HandHistories(Generic[H]):
    """Cache of the hand histories of all matches of a game. Callers must not change what `of` returns."""

    def __init__(self, begin: Callable[[Sequence[int]], tuple[H, int]]) -> None:
        """`begin` takes an engine's history and returns a hand history of its first entries, and their number."""
        self._begin = begin
        self._cache: dict[bytes, H] = {}

    def of(self, history: Sequence[int]) -> H:
        """Return the hand history that the engine's history leads to."""
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
            hand.go_on(item)
        if len(self._cache) >= _KEPT:
            self._cache.clear()
        self._cache[key] = hand
        return hand
