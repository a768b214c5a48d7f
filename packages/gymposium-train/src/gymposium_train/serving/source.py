"""The source `sessions`: trajectories of agents that use the model over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gymposium.runs.sessions import SessionsFile
from gymposium_agents.player import LanguageModelPlayer
from gymposium_train.rollout import SourceStart, StepRollout
from gymposium_train.serving.service import Policies, Service
from gymposium_train.serving.settings import SessionSettings
from gymposium_train.serving.trajectories import SessionGroup, group_of

FILE = "sessions.sqlite"
"""Name of the file of sessions in the directory of a run."""


@dataclass(slots=True)
class SessionSource:
    """A `RolloutSource` that gives the groups of the jobs of a service."""

    service: Service
    stop_here: Callable[[], object] = lambda: None

    @property
    def runs_ahead(self) -> bool:
        return False

    def roll_out(self, step: int, go_on: Callable[[], object]) -> StepRollout[SessionGroup]:
        def each() -> None:
            go_on()
            self.stop_here()

        service, job = self.service, self.service.take(step, each)
        taken = [group.key for group in service.file.groups(job=job.id) if group.state != "dropped"]
        groups = [group_of(service.file, key) for key in taken]
        rows = [row for key in taken for row in service.file.sessions(group=key)]
        states = Counter(row.state for row in rows)
        lengths = [len(one.turns) for group in groups for one in group.trajectories]
        metrics = {
            "rollout/matches": float(len(lengths)),
            "rollout/silent": float(states["ended"] - len(lengths)),
            "rollout/broken": float(states["dropped"] + states["expired"]),
            "rollout/decisions": sum(lengths) / max(1, len(lengths)),
        }
        return StepRollout(
            [group for group in groups if group.trajectories],
            silent=states["ended"] - len(lengths),
            metrics=metrics,
            state=self.state(),
        )

    def learned(self, step: int, metrics: Mapping[str, Any]) -> None:
        self.service.learned(step, metrics)

    def state(self) -> dict[str, Any]:
        return {}  # the file of sessions says which groups each step has

    def restore(self, state: dict[str, Any]) -> None:
        pass


def session_source(settings: SessionSettings, start: SourceStart) -> SessionSource:
    """Make the source `sessions`, and serve it until the run ends."""
    from gymposium_train.serving.server import serve

    players = start.players
    service = Service(
        SessionsFile(start.directory / FILE),
        Policies(
            lambda: cast(LanguageModelPlayer, players.learner()),
            lambda policy: cast(LanguageModelPlayer, players.recent(policy)),
            start.config.engine.staleness,
        ),
        settings,
        start.config.seed,
        start.config.rollout.group_size,
    )
    start.resources.callback(service.close)
    start.resources.enter_context(serve(service, settings, start.directory))
    return SessionSource(service, start.stop_here)
