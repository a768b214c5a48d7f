"""Rollouts ahead of updates, with a bound on how many steps the sampling weights may lag the learner.

Weights are *of step s* once they have learned from all steps before s. With a bound of k, the rollout of step s may
begin as soon as the published weights are of step s - k or later. With k = 0, every rollout waits for the previous
update: training is strictly on-policy and nothing runs concurrently. With k = 1, one rollout is played while the
learner updates, and so on. Rollouts are then up to k steps old when the learner uses them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from types import TracebackType
from typing import Generic, Self, TypeVar

from gymposium.errors import BadOption

T = TypeVar("T")


class RolloutCancelled(Exception):
    """Signal to the playing thread that its rollout is no longer needed. It is never raised outside that thread."""


class RolloutPrefetcher(Generic[T]):
    """A prefetcher that plays the rollouts of `steps` in order, ahead of their updates.

        with Ahead(play, bound, range(first, last)) as ahead:
            for step in range(first, last):
                rollout, staleness = ahead.take(step)
                …  # learn from the rollout, and publish
                ahead.published(step)

    `play` plays the rollout of a step with the weights published when it begins. With a bound of 0 it runs in `take`,
    in the caller's thread. Otherwise it runs in another thread that ends with the block. A rollout in progress then
    continues until it calls `go_on`."""

    def __init__(self, play: Callable[[int], T], bound: int, steps: range) -> None:
        if bound < 0:
            raise BadOption(f"Rollouts cannot be {bound} steps behind. Use 0 (on-policy) or more.")
        if steps.step != 1:
            raise BadOption(f"Steps must be consecutive: use range({steps.start}, {steps.stop}), not {steps}.")
        self._play, self._bound, self._steps = play, bound, steps
        self._weights = steps.start
        """The step that the published weights belong to."""
        self._finished: deque[tuple[int, T, int]] = deque()
        self._failure: BaseException | None = None
        self._ended = False
        """True if no more rollouts will be played."""
        self._closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._play_rollouts, name="rollouts", daemon=True) if bound else None

    def take(self, step: int) -> tuple[T, int]:
        """Wait for the rollout of this step. Returns it and its staleness: the largest lag of the sampling weights in
        steps. The lag is smaller if newer weights were published during the rollout. Raises whatever `play` raised."""
        if self._thread is None:
            return self._play(step), 0
        if self._thread.ident is None:  # not in `__enter__`: Ctrl-C there would leave the thread running
            self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._finished or self._ended)
            if not self._finished:
                raise self._failure or ValueError(f"Cannot take step {step}: all of {self._steps} were taken.")
            if self._finished[0][0] != step:
                raise ValueError(f"Cannot take step {step}: step {self._finished[0][0]} is next.")
            return self._finished.popleft()[1:]

    def published(self, step: int) -> None:
        """Note that the weights trained on this step are published."""
        with self._changed:
            self._weights = step + 1
            self._changed.notify_all()

    def go_on(self) -> None:
        """Raise `RolloutCancelled` once the block has ended. Call it repeatedly while playing a rollout."""
        if self._closed:
            raise RolloutCancelled

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

    def _play_rollouts(self) -> None:
        try:
            for step in self._steps:
                staleness = self._wait_to_begin(step)
                rollout = self._play(step)
                with self._changed:
                    self._finished.append((step, rollout, staleness))
                    self._changed.notify_all()
        except RolloutCancelled:
            pass  # the rollout is no longer needed
        except BaseException as error:  # noqa: BLE001  # `take` raises it in the caller's thread
            self._failure = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _wait_to_begin(self, step: int) -> int:
        """Wait until the rollout of this step may begin, and return by how many steps its weights lag."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or step - self._weights <= self._bound)
            self.go_on()
            return step - self._weights
