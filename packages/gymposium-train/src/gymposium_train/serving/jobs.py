"""Groups and jobs of the service: what the learner learns from, and when. Independent of HTTP.

A job is a training step: the groups that are complete when it is requested. State is saved before it is acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.runs.sessions import GroupRow, JobRow, SessionsFile
from gymposium_train.serving.bodies import TRAIN
from gymposium_train.serving.errors import Conflict, NotFound
from gymposium_train.serving.groups import add_job, check_learnable, find_next_job, finish_job, make_unused_key
from gymposium_train.serving.learner import ServedLearner
from gymposium_train.serving.sessions import Sessions

LINGER = 10.0
"""Seconds that the server keeps answering after the end of a run, while clients have not been told that their jobs are
done."""
LOOK = 0.2
"""Seconds between the learner's checks for a stop request."""


@dataclass(slots=True)
class Jobs:
    """The groups and jobs of one run."""

    file: SessionsFile
    learner: ServedLearner
    sessions: Sessions
    groups: int | None
    """Number of complete groups that make a job. None if only clients request jobs."""
    _untold: set[int] = field(init=False)
    """Requested jobs whose clients have not been told that they are done. After a restart, the newest one may be one of
    them."""

    def __post_init__(self) -> None:
        self._untold = set() if self.groups else {job.id for job in self.file.jobs()[-1:]}

    def add_group(self, key: str | None, size: int) -> GroupRow:
        """Add a group. Idempotent. Raises `Conflict` if it already exists with another size."""
        with self.learner.change():
            self.learner.check_unfinished()
            key = key or make_unused_key(self.file)
            found = self.file.group(key)
            if found is None:
                self.file.add_group(key, size, TRAIN)
            elif found.size != size:
                raise Conflict(
                    f"The group {key!r} has the size {found.size}, not {size}. Give its size, or name another group.",
                    "size",
                )
        return self.group(key)

    def group(self, key: str) -> GroupRow:
        """Return the group with this key. Raises `NotFound`."""
        found = self.file.group(key)
        if found is None:
            raise NotFound(f"Unknown group {key!r}. Create it with POST /v1/groups.", "groups")
        return found

    def train(self, keys: Sequence[str] | None) -> JobRow:
        """Request a training step on these groups, or on all complete ones. Listed groups may lack members. Their
        unended sessions are dropped. Another request for the same list returns the same job. Raises `Conflict` if there
        is nothing to learn from."""
        with self.learner.change():
            self.learner.check_unfinished()
            self.sessions.expire()
            groups = self.file.groups(state="complete") if keys is None else [self.group(key) for key in keys]
            if not groups:
                raise Conflict("No group is complete. End the sessions of a group first.")
            asked = groups[0].job
            if asked is not None and {group.key for group in self.file.groups(job=asked)} == {*(keys or ())}:
                return self.job(asked)
            for group in groups:
                self._close_group(group)
            number = add_job(self.file, groups)
            self._untold.add(number)
        return self.job(number)

    def _close_group(self, group: GroupRow) -> None:
        """Close a group by dropping its open sessions. Raises `Conflict` if it cannot be learned from."""
        check_learnable(self.file, group)
        for row in self.file.sessions(group.key):
            if row.state == "open":
                self.sessions.drop(row.id, "training began without it")

    def job(self, number: int) -> JobRow:
        """Return the job with this number. Raises `NotFound`."""
        found = self.file.job(number)
        if found is None:
            raise NotFound(f"Unknown job {number}. Begin one with POST /v1/train.")
        return found

    def report_job(self, number: int) -> JobRow:
        """Return the job with this number, to the client that requested it. Raises `NotFound`."""
        with self.learner.change():
            job = self.job(number)
            if job.state == "done":
                self._untold.discard(number)
        return job

    def left_out(self, number: int) -> dict[str, str]:
        """Return the reasons why groups of a job were left out, by key."""
        return {group.key: group.why for group in self.file.groups(job=number) if group.state == "dropped"}

    def linger(self, seconds: float = LINGER) -> None:
        """Wait up to `seconds` until all clients have been told that their jobs are done. At the end of a run, a client
        may still be about to ask, especially after a restart."""
        with self.learner.change():
            self.learner.phase = "ended"
            self.learner.wait_for(lambda: not self._untold, seconds)

    def take(self, step: int, check: Callable[[], object]) -> JobRow:
        """Wait for the job of a step. Repeating a step gives the same job. Groups with a policy that is too old are
        dropped. `check` is called repeatedly and may raise."""
        with self.learner.change():
            self.learner.begin_step(step)
        with self.learner.change():
            while True:
                job = self.file.find_job(step) or find_next_job(
                    self.file, step, self.groups, self.learner.policies.staleness
                )
                if job is not None:
                    self.learner.phase = "learning"
                    self.file.set_job(job.id, "learning", step=step)
                    break
                self.learner.wait(LOOK)
                check()
                self.sessions.expire()
        return self.job(job.id)

    def learned_before(self, step: int) -> None:
        """Mark all earlier steps as learned, because a killed run may not have done so."""
        with self.learner.change():
            for job in self.file.jobs("learning"):
                if job.step is not None and job.step < step:
                    finish_job(self.file, job, {})

    def learned(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Note that the run has learned from a step and published its policy."""
        with self.learner.change():
            self.learner.phase = "waiting"
            if (job := self.file.find_job(step)) is not None:
                numbers = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
                finish_job(self.file, job, numbers)
