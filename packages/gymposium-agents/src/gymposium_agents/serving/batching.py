"""Requests from many clients, batched for an engine that works on one batch at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from gymposium_agents.chat.tokens import Completion, Sampling, TokenRequest
from gymposium_agents.engines.protocol import ConcurrentTokenEngine, TokenEngine

MOST_OF = 0.75
"""Share of the expected requests that a batch waits for."""
LONGEST = 0.06
"""Maximum number of seconds that a batch waits for the expected requests."""
GAP = 0.005
"""Seconds that a batch with enough requests waits after each request for another one."""
MOST = 256
"""Maximum number of requests in a batch."""

Submit = Callable[[TokenRequest, Sampling], "Future[Completion]"]


@dataclass(slots=True)
class _WaitingRequest:
    request: TokenRequest
    sampling: Sampling
    answer: Future[Completion]


class RequestBatcher:
    """A batcher that lets any token engine answer single requests. An engine with `submit` is asked directly. For other
    engines, waiting requests form a batch, which a separate thread answers."""

    def __init__(self, engine: TokenEngine, expected: Callable[[], int] = lambda: 0) -> None:
        """`expected` returns the number of clients that may ask soon, including waiting ones. A large batch hardly
        takes longer than a small one, so a batch briefly waits until most of them have asked."""
        self._engine, self._expected = engine, expected
        self._waiting: deque[_WaitingRequest] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self.batches = 0
        """Number of batches so far."""
        self.requests = 0
        """Number of requests in all batches so far."""
        self._thread: threading.Thread | None = None
        if not isinstance(engine, ConcurrentTokenEngine):
            self._thread = threading.Thread(target=self._work, name="batches", daemon=True)
            self._thread.start()

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        """Start one completion. The future raises whatever the engine raises."""
        if isinstance(self._engine, ConcurrentTokenEngine):
            return self._engine.submit(request, sampling)
        answer: Future[Completion] = Future()
        with self._changed:
            self._waiting.append(_WaitingRequest(request, sampling, answer))
            self._changed.notify()
        return answer

    def close(self) -> None:
        """End the thread after its batch. Waiting requests are cancelled."""
        with self._changed:
            self._ended = True
            for one in self._waiting:
                one.answer.cancel()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while batch := self._take_batch():
            try:
                done = self._engine.generate([one.request for one in batch], batch[0].sampling)
            except BaseException as error:  # noqa: BLE001 - every error is passed on to those that asked
                for one in batch:
                    one.answer.set_exception(error)
                continue
            self.batches += 1
            self.requests += len(batch)
            for one, completion in zip(batch, done, strict=True):
                one.answer.set_result(completion)

    def _take_batch(self) -> list[_WaitingRequest]:
        """Return the next batch, oldest request first. Its requests have the same sampling settings. Empty at the
        end."""
        with self._changed:
            while not self._waiting:
                if self._ended:
                    return []
                self._changed.wait()
            self._gather()
            sampling = self._waiting[0].sampling if self._waiting else None
            batch = [one for one in self._waiting if one.sampling == sampling][:MOST]
            taken = {id(one) for one in batch}
            self._waiting = deque(one for one in self._waiting if id(one) not in taken)
            return [one for one in batch if one.answer.set_running_or_notify_cancel()] or self._take_batch()

    def _gather(self) -> None:
        """Wait for further requests while more are expected."""

        def lacks(share: float) -> bool:
            return not self._ended and len(self._waiting) < min(MOST, share * self._expected())

        until = time.monotonic() + LONGEST
        while lacks(MOST_OF) and (left := until - time.monotonic()) > 0:
            self._changed.wait(left)
        while lacks(1.0) and self._changed.wait(GAP):
            pass
