"""The cutting of planned matches into parts that take some seconds each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gymposium.runs.executors.protocol import PartDone, PlannedMatches, RunPart

SECONDS = 10.0
"""Time that a part should take. Shorter parts cost more to send, longer ones leave workers idle at the end."""
FIRST = 8
"""Number of matches in the first part, whose time is not known."""
GROWTH = 8
"""How many times larger than the last part that was measured a part may be."""


class Cut:
    """The missing matches of one plan, cut into parts as workers ask for them.

    The time of a part decides the sizes of later ones, so they differ from run to run. Records do not, unless the
    replies of a player depend on what it is asked beside: then parts end only where a batch ends."""

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
        """`missing` are the numbers of the `count` matches to play, in order, which are taken as they are needed.
        `at_once` of them are played side by side. With `whole_batches` no batch is divided."""
        self.matches = matches
        self._missing, self._left = iter(missing), count
        self._next = next(self._missing, None)
        self._at_once, self._watchdog, self._whole = at_once, watchdog, whole_batches
        self._size = FIRST
        self.out = 0
        """Number of parts that are being played."""
        self.stopped = False
        """True if no further part is to be played."""

    @property
    def rest(self) -> int:
        """Number of matches that are in no part yet."""
        return 0 if self.stopped else self._left

    def parts(self) -> Iterator[RunPart]:
        """The parts, each cut when it is asked for, until none is left or no further one is to be played."""
        while self.rest:
            yield self.part()

    def part(self) -> RunPart:
        """The next part."""
        numbers: list[int] = []
        while self._next is not None and (len(numbers) < self._size or self._divides(numbers[-1], self._next)):
            numbers.append(self._next)
            self._next = next(self._missing, None)
        self._left -= len(numbers)
        self.out += 1
        return RunPart(self.matches, tuple(numbers), self._at_once, self._watchdog)

    def add(self, done: PartDone) -> None:
        """Note that a part of these matches is done."""
        self.out -= 1
        self.stopped = self.stopped or done.stopped or done.error is not None
        if done.lines and done.seconds > 0:
            fitting = int(SECONDS * len(done.lines) / done.seconds)
            self._size = max(1, min(fitting, GROWTH * len(done.lines)))

    def _divides(self, last: int, following: int) -> bool:
        """Whether a part that ends between these matches divides a batch that must be whole."""
        return self._whole and last // self._at_once == following // self._at_once
