"""Division of planned matches into parts that take a few seconds each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gymposium.runs.executors.protocol import PartResult, PlannedMatches, RunPart

SECONDS = 10.0
"""Target time per part, in seconds. Shorter parts cost more to send; longer parts leave workers idle at the end."""
FIRST = 8
"""Number of matches in the first part, whose duration cannot be estimated."""
GROWTH = 8
"""Maximum size of a part, relative to the last measured part."""


class PartCutter:
    """A plan's missing matches, split into parts on demand.

    A part's time determines the size of later parts, so parts differ between runs. The records do not, unless a
    player's replies depend on the other asks in its batch. For such players, parts end only where batches end."""

    def __init__(
        self,
        matches: PlannedMatches,
        missing: Iterable[int],
        count: int,
        *,
        at_once: int,
        watchdog: float | None,
        whole_batches: bool,
    ) -> None:
        """`missing` yields the numbers of the `count` matches to play, in order, and is consumed on demand.

        `at_once` matches are played concurrently. With `whole_batches`, no batch is split."""
        self.matches = matches
        self._missing, self._left = iter(missing), count
        self._next = next(self._missing, None)
        self._at_once, self._watchdog, self._whole = at_once, watchdog, whole_batches
        self._size = FIRST
        self.in_progress = 0
        """Number of parts in progress."""
        self.stopped = False
        """True if no more parts may start."""

    @property
    def remaining(self) -> int:
        """Number of matches that are not in any part yet."""
        return 0 if self.stopped else self._left

    def parts(self) -> Iterator[RunPart]:
        """Yield parts, created on demand, until no match is left or no further part may start."""
        while self.remaining:
            yield self.next_part()

    def next_part(self) -> RunPart:
        """Return the next part."""
        numbers: list[int] = []
        while self._next is not None and (len(numbers) < self._size or self._splits_batch(numbers[-1], self._next)):
            numbers.append(self._next)
            self._next = next(self._missing, None)
        self._left -= len(numbers)
        self.in_progress += 1
        return RunPart(self.matches, tuple(numbers), self._at_once, self._watchdog)

    def add(self, done: PartResult) -> None:
        """Record that the part with these matches is done."""
        self.in_progress -= 1
        self.stopped = self.stopped or done.stopped or done.error is not None
        if done.lines and done.seconds > 0:
            fitting = int(SECONDS * len(done.lines) / done.seconds)
            self._size = max(1, min(fitting, GROWTH * len(done.lines)))

    def _splits_batch(self, last: int, following: int) -> bool:
        """Return whether a part that ends between these matches splits an indivisible batch."""
        return self._whole and last // self._at_once == following // self._at_once
