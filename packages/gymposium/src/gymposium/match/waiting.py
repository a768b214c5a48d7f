"""Jobs that a schedule has not started."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium.match.result import MatchJob


class JobQueue:
    """Jobs in starting order. A job waits while `at_once` matches, or its game's maximum (`Bounded`), are open."""

    def __init__(self, jobs: Iterable[MatchJob], at_once: int) -> None:
        self._jobs = iter(jobs)
        self._at_once = at_once
        self._deferred: MatchJob | None = None

    def take(self, open_matches: int) -> MatchJob | None:
        """Return the next job if it may start beside this number of open matches.

        Returns None if it has to wait, or if no jobs are left."""
        if open_matches >= self._at_once:
            return None
        job, self._deferred = self._deferred or next(self._jobs, None), None
        bound = None if job is None else getattr(job.game, "at_once", None)  # of `Bounded`
        if bound is not None and open_matches >= bound:
            self._deferred, job = job, None
        return job
