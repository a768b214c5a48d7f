"""The jobs that a schedule has not begun."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium.match.result import MatchJob


class WaitingJobs:
    """Jobs in the order in which they begin. A job waits if `at_once` matches are open, or as many as its game allows
    (`Bounded`)."""

    def __init__(self, jobs: Iterable[MatchJob], at_once: int) -> None:
        self._jobs = iter(jobs)
        self._at_once = at_once
        self._held: MatchJob | None = None

    def take(self, open_matches: int) -> MatchJob | None:
        """Return the next job if it may begin beside this number of open matches, of whatever games. Return None if it
        has to wait, or if none is left."""
        if open_matches >= self._at_once:
            return None
        job, self._held = self._held or next(self._jobs, None), None
        bound = None if job is None else getattr(job.game, "at_once", None)  # of `Bounded`
        if bound is not None and open_matches >= bound:
            self._held, job = job, None
        return job
