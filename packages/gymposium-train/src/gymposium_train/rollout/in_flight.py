"""Matches in flight: a growing number of jobs, played in the caller's thread or beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from threading import Thread

from gymposium.match import FeedClosed, JobFeed, MatchJob, MatchResult
from gymposium.records import record_matches
from gymposium_train.rollout.protocol import Executor


class MatchesInFlight:
    """The matches of a run's jobs. They end in any order."""

    def __init__(self, executor: Executor, record: Callable[[MatchResult], object], *, beside: bool) -> None:
        """`record` is called with each finished match. With `beside`, a thread plays from the first job on, until
        `close`. Otherwise, matches are played in `get`."""
        self._executor, self._record = executor, record
        self._feed = JobFeed()
        self._here: Iterator[MatchResult] = iter(())
        self._finished: SimpleQueue[MatchResult | BaseException] = SimpleQueue()
        self._thread = Thread(target=self._run, name="rollouts", daemon=True) if beside else None

    def add(self, jobs: Iterable[MatchJob]) -> None:
        """Begin more matches."""
        self._feed.add(jobs)
        if self._thread is not None and self._thread.ident is None:
            self._thread.start()

    def get(self) -> MatchResult:
        """Wait for the next finished match. Raises whatever playing raised."""
        if self._thread is not None:
            return _unwrap(self._finished.get())
        played = next(self._here, None)
        if played is None:  # the earlier jobs are done
            self._here = self._play()
            played = next(self._here)
        return played

    def list_finished(self) -> Iterator[MatchResult]:
        """Yield the finished matches without waiting."""
        try:
            while True:
                yield _unwrap(self._finished.get_nowait())
        except Empty:
            return

    def close(self) -> None:
        """Abandon the running matches, and end the thread."""
        self._feed.close()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _play(self) -> Iterator[MatchResult]:
        return record_matches(self._executor.play(self._feed), self._record)

    def _run(self) -> None:
        try:
            while self._feed.wait():
                for played in self._play():
                    self._finished.put(played)
        except FeedClosed:
            pass
        except BaseException as error:  # noqa: BLE001  # `get` raises it in the caller's thread
            self._finished.put(error)


def _unwrap(finished: MatchResult | BaseException) -> MatchResult:
    if isinstance(finished, BaseException):
        raise finished
    return finished
