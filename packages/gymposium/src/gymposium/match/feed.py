"""Jobs that arrive while matches are played."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import Condition
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gymposium.match.result import MatchJob


class FeedClosed(Exception):
    """Raised in `play` once its feed is closed."""


class JobFeed:
    """Jobs for `gymposium.match.play`, which any thread may add while it plays.

    With `rounds`, new matches begin in the next round. With `streaming`, they begin at once. `play` ends when no match
    is running and no job is waiting. It may then be called again with the same feed."""

    def __init__(self, jobs: Iterable[MatchJob] = ()) -> None:
        self._waiting = deque(jobs)
        self._closed = False
        self._changed = Condition()
        self._wake: Callable[[], object] = lambda: None

    def add(self, jobs: Iterable[MatchJob]) -> None:
        """Append jobs."""
        with self._changed:
            self._waiting.extend(jobs)
            self._changed.notify_all()
            self._wake()

    def close(self) -> None:
        """End `play` with `FeedClosed` before its next match or round, and abandon its running matches."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._wake()

    def wait(self) -> bool:
        """Wait for a job. Returns False once the feed is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            return not self._closed

    def listen(self, wake: Callable[[], object]) -> None:
        """Call `wake` after each change, in the thread that makes it."""
        with self._changed:
            self._wake = wake

    def __iter__(self) -> Iterator[MatchJob]:
        return self

    def __next__(self) -> MatchJob:
        """Return the next job. Raises `StopIteration` if none is waiting now, and `FeedClosed` once the feed is
        closed."""
        with self._changed:
            if self._closed:
                raise FeedClosed
            if not self._waiting:
                raise StopIteration
            return self._waiting.popleft()
