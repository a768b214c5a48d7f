"""The service of a run: agents' sessions, and the training jobs made of them. Independent of HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gymposium.runs.sessions import SessionsFile
from gymposium_train.serving.jobs import Jobs
from gymposium_train.serving.learner import Policies, ServedLearner
from gymposium_train.serving.sessions import Sessions
from gymposium_train.serving.settings import SessionSettings


@dataclass(frozen=True, slots=True)
class Service:
    """The service of one run."""

    file: SessionsFile
    learner: ServedLearner
    sessions: Sessions
    jobs: Jobs

    def status(self) -> dict[str, Any]:
        """Return the state of the service as plain data."""
        learner, sessions = self.learner, self.sessions
        newest = None if learner.step is None else learner.policies.newest().current_policy
        return {
            "state": learner.phase,
            "step": learner.step,
            "policy": None if newest is None else {"name": newest.name, "version": newest.version},
            **self.file.counts(),
            "requests": dict(sessions.counts),
            "differences": dict(sessions.differences.most_common(10)),
            "overridden": dict(sessions.overridden.most_common(10)),
            "requests_per_batch": sessions.requests_per_batch(),
            "clients": dict(sessions.clients),
        }

    def close(self) -> None:
        """End the engines' threads and close the file."""
        with self.learner.change():
            self.learner.phase = "ended"
        self.sessions.close()
        self.file.close()


def make_service(
    file: SessionsFile,
    policies: Policies,
    settings: SessionSettings,
    *,
    seed: int,
    group_size: int,
    needs_groups: bool = False,
    steps: int | None = None,
) -> Service:
    """Make the service of a run from its sessions file, which may be new or written by an earlier process. `steps` is
    the run's number of steps. Raises `GymposiumError` for a malformed file."""
    file.check_rows()
    learned = max((job.step for job in file.jobs("done") if job.step is not None), default=-1)
    learner = ServedLearner(policies, learned, steps)
    sessions = Sessions(file, learner, settings, seed, group_size, needs_groups)
    return Service(file, learner, sessions, Jobs(file, learner, sessions, settings.groups))
