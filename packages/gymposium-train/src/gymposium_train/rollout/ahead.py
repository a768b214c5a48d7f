"""Rollouts ahead of updates, with an upper bound on the number of steps that the sampling weights lag the learner.

A version of the weights is *of step s* if it has learned from all steps before s. With a bound of k, the rollout of
step s may begin as soon as the published weights are of step s - k or later. With 0 every rollout waits for the update
before it: training is strictly on-policy, and nothing runs concurrently. With 1, one rollout is played while the
learner updates, and so on; rollouts are then up to k steps old when they are learned from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Thread
from types import TracebackType
from typing import Generic, Self, TypeVar

from gymposium.errors import BadOption

T = TypeVar("T")


class BrokenOff(Exception):
    """Raised in the thread that plays, to end a rollout that is not needed any more. It never leaves that thread."""


@dataclass(frozen=True, slots=True)
class Taken(Generic[T]):
    """The rollout of a step, and the age of its weights."""

    rollout: T
    staleness: int
    """Number of steps that the sampling weights lag the learner at most. They lag less if newer weights were published
    while the rollout began."""


class Ahead(Generic[T]):
    """Plays the rollouts of `steps` in order, ahead of their updates.

        with Ahead(play, bound, range(first, last)) as ahead:
            for step in range(first, last):
                taken = ahead.take(step)
                …  # learn from taken.rollout, and publish
                ahead.published(step)

    `play` plays the rollout of a step with the weights that are published when it begins. With a bound of 0 it runs in
    `take`, in the caller's thread; otherwise it runs in another thread, which ends with the block: a rollout that is
    being played then continues until it calls `go_on`."""

    def __init__(self, play: Callable[[int], T], bound: int, steps: range) -> None:
        if bound < 0:
            raise BadOption(f"Rollouts cannot be {bound} steps behind: take 0, which is on-policy, or more.")
        if steps.step != 1:
            raise BadOption(f"Steps follow one another: range({steps.start}, {steps.stop}), not {steps}.")
        self._play, self._bound, self._steps = play, bound, steps
        self._weights = steps.start
        """The step of the published weights."""
        self._finished: deque[tuple[int, Taken[T]]] = deque()
        self._failure: BaseException | None = None
        self._ended = False
        """True if no further rollout is played."""
        self._closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="rollouts", daemon=True) if bound else None

    def take(self, step: int) -> Taken[T]:
        """Wait for the rollout of this step. Raises what `play` raised."""
        if self._thread is None:
            return Taken(self._play(step), 0)
        if self._thread.ident is None:  # not in `__enter__`: Ctrl-C there would leave the thread running
            self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._finished or self._ended)
            if not self._finished:
                raise self._failure or ValueError(f"Step {step} was asked for, and all of {self._steps} were taken.")
            if self._finished[0][0] != step:
                raise ValueError(f"Step {step} was asked for, and step {self._finished[0][0]} is next.")
            return self._finished.popleft()[1]

    def published(self, step: int) -> None:
        """Note that the weights that learned from this step are published."""
        with self._changed:
            self._weights = step + 1
            self._changed.notify_all()

    def go_on(self) -> None:
        """Raise `BrokenOff` after the end of the block. Call it repeatedly while a rollout is played."""
        if self._closed:
            raise BrokenOff

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            for step in self._steps:
                staleness = self._wait_to_begin(step)
                rollout = self._play(step)
                with self._changed:
                    self._finished.append((step, Taken(rollout, staleness)))
                    self._changed.notify_all()
        except BrokenOff:
            pass  # the rollout is not needed
        except BaseException as error:  # noqa: BLE001  # `take` raises it in the caller's thread
            self._failure = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _wait_to_begin(self, step: int) -> int:
        """Wait until the rollout of this step may begin. Returns the number of steps that the weights are behind it."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or step - self._weights <= self._bound)
            self.go_on()
            return step - self._weights
