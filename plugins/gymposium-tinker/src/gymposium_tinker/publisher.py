"""The publisher of weights on the Tinker service: snapshots by version."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path

from tinker import ServiceClient, TrainingClient

from gymposium.errors import GymposiumError
from gymposium.util.durable import replace_text
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium_agents.chat.tokens import Policy
from gymposium_tinker.engine import TinkerEngine
from gymposium_tinker.service import resolve_result, translate_errors

DAY = 86_400
"""Number of seconds in a day."""


class Snapshots:
    """A `Publisher` of immutable snapshots of the learner's weights.

    The session holds the snapshots. If versions may become opponents, they are saved under the policy's name, and
    `keep` writes their paths to files."""

    def __init__(
        self,
        service: ServiceClient,
        training: Callable[[], TrainingClient],
        context: int,
        stops: frozenset[int],
        directory: Path,
        *,
        staleness: int,
        keeps: bool,
        days: int,
    ) -> None:
        """`training` returns the client of the model being trained. `directory` is where the paths of kept versions are
        written. `staleness` is
        the number of publishes that rollouts may lag. `keeps` allows keeping versions, for `days` days."""
        self.context = context
        self._service, self._training, self._stops, self._directory = service, training, stops, directory
        self._keeps, self._seconds = keeps, days * DAY
        self._engine: TinkerEngine | None = None
        self._newest: deque[Policy] = deque(maxlen=staleness + 1)
        """The versions that rollouts may still play."""
        self._past: set[Policy] = set()
        self._paths: dict[Policy, str] = {}
        """The paths of the newest versions, if they may be kept."""

    def publish(self, policy: Policy) -> TinkerEngine:
        if self._engine is not None and policy == self._engine.policy:
            return self._engine
        with translate_errors():
            if self._keeps:
                saved = self._training().save_weights_for_sampler(str(policy), ttl_seconds=self._seconds).result()
                self._paths[policy] = saved.path
                client = resolve_result(self._service.create_sampling_client(model_path=saved.path))
            else:
                client = resolve_result(self._training().save_weights_and_get_sampling_client())
        if self._engine is None:
            self._engine = TinkerEngine(self.context, self._stops, policy, client)
        self._engine.add(policy, client)
        self._engine.policy = policy
        self._newest.append(policy)
        for held in self._engine.policies:
            if held not in self._newest and held not in self._past:
                self._engine.retire(held)
        self._paths = {one: path for one, path in self._paths.items() if one in self._newest}
        return self._engine

    def keep(self, policy: Policy) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        replace_text(self._find_file(policy), json.dumps({"path": self._paths[policy]}) + "\n")

    def past(self, policy: Policy) -> TinkerEngine:
        assert self._engine is not None, "a version is published before past ones play"
        if policy not in self._engine.policies:
            if not self._find_file(policy).is_file():
                raise GymposiumError(f"{self._directory} holds no {policy}. Only kept versions can play again.")
            path = parse_strict_json(read_plain_text(self._find_file(policy)))["path"]
            with translate_errors():
                self._engine.add(policy, resolve_result(self._service.create_sampling_client(model_path=path)))
        self._past.add(policy)
        return self._engine

    def let_go(self, policy: Policy) -> None:
        self._past.discard(policy)
        if self._engine is not None and policy in self._engine.policies and policy not in self._newest:
            self._engine.retire(policy)

    def _find_file(self, policy: Policy) -> Path:
        return self._directory / f"{policy}.json"
