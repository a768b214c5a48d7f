"""The source `sessions`: trajectories of agents that use the model over HTTP."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, cast

from gymposium.http.listening import TOKEN, check_address
from gymposium.runs.sessions import SessionsFile
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.credit.make import make_credit
from gymposium_train.rollout import SourceStart
from gymposium_train.serving.commands import CommandRunner
from gymposium_train.serving.learner import Policies
from gymposium_train.serving.server import serve
from gymposium_train.serving.service import Service, make_service
from gymposium_train.serving.settings import SessionSettings
from gymposium_train.serving.trajectories import BadGroup, SessionGroup, read_group
from gymposium_train.util.progress import print_message

FILE = "sessions.sqlite"
"""Name of the sessions file in a run's directory."""


@dataclass(slots=True)
class SessionSource:
    """A `RolloutSource` that gets groups from a service's jobs."""

    service: Service
    check: Callable[[], object] = lambda: None
    """Called repeatedly while the source waits. It may raise."""
    taken: int | None = None
    """The step of the latest rollout."""

    def roll_out(self, step: int) -> tuple[list[SessionGroup], dict[str, float]]:
        job = self.service.jobs.take(step, self.check)
        groups = self._read_groups(job.id)
        rows = [row for group in groups for row in self.service.file.sessions(group.key)]
        states = Counter(row.state for row in rows)
        trajectories = [one for group in groups for one in group.trajectories]
        lengths = [len(one.turns) for one in trajectories]
        metrics = {
            "rollout/matches": float(len(lengths)),
            "rollout/silent": float(states["ended"] - len(lengths)),
            "rollout/broken": float(states["dropped"] + states["expired"]),
            "rollout/decisions": sum(lengths) / max(1, len(lengths)),
        }
        if any(lengths):
            metrics["rollout/overridden"] = fmean(turn.overridden for one in trajectories for turn in one.turns)
        self.taken = step
        return [group for group in groups if group.trajectories], metrics

    def _read_groups(self, job: int) -> list[SessionGroup]:
        """Return the groups of a job. Drops and reports groups that cannot be learned from."""
        file, groups = self.service.file, []
        for row in file.groups(job=job):
            if row.state != "dropped":
                try:
                    groups.append(read_group(file, row.key))
                except BadGroup as error:
                    file.set_group(row.key, "dropped", why=str(error), job=job)
                    print_message(f"Dropped the group {row.key!r}: {error}", style="yellow")
        return groups

    def published(self, step: int) -> None:
        pass  # the service limits the age of its groups

    def learned(self, step: int, metrics: Mapping[str, Any]) -> None:
        self.service.jobs.learned(step, metrics)

    def state(self) -> dict[str, Any]:
        return {"taken": self.taken}  # the sessions file stores the groups of each step

    def restore(self, state: dict[str, Any]) -> None:
        self.taken = state["taken"]
        if self.taken is not None:
            self.service.jobs.learned_before(self.taken + 1)


def make_session_source(settings: SessionSettings, start: SourceStart) -> SessionSource:
    """Make the source `sessions`, and serve it until the run ends."""
    players = start.players
    config = start.config
    service = make_service(
        SessionsFile(start.directory / FILE),
        Policies(
            lambda: cast(LanguageModelPlayer, players.learner()),
            lambda policy: cast(LanguageModelPlayer, players.recent(policy)),
            config.engine.staleness,
        ),
        settings,
        seed=config.seed,
        group_size=config.rollout.group_size,
        needs_groups=make_credit(config.credit).needs_groups,
        steps=config.steps,
    )
    start.resources.callback(service.close)
    token = os.environ.get(TOKEN) or None
    check_address(settings.host, token, TOKEN)
    if token is None and settings.run is not None:
        token = secrets.token_urlsafe(16)  # a command that could begin and end sessions would set its own reward
    address = start.resources.enter_context(serve(service, settings, start.directory, config, token))
    start.resources.push(lambda kind, error, at: service.jobs.linger() if kind is None else None)
    if settings.run is None:
        return SessionSource(service, start.stop_here)
    commands = CommandRunner(service, settings, address, token)
    start.resources.callback(commands.close)

    def check() -> None:
        start.stop_here()
        commands.check()

    return SessionSource(service, check)
