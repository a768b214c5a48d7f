"""Publisher for an engine with a separate base model. Adapters are saved, and the engine loads them from disk."""

from __future__ import annotations

from typing import Any

from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.protocol import HostingEngine
from gymposium_agents.lora.store import AdapterStore
from gymposium_train.backends.publishing.kept import AdapterVersions


class HostedAdapterPublisher(AdapterVersions):
    """A publisher that saves the learner's adapter and lets the engine load it.

    The engine holds the versions that rollouts may still play, and the past versions in use. A retired version's files
    are removed one publish later, because a server may still be reading them."""

    def __init__(self, engine: HostingEngine, model: Any, store: AdapterStore, staleness: int) -> None:
        """`model` is the learner's model with its adapter."""
        super().__init__(engine, store, staleness=staleness)
        self._model = model

    def publish(self, policy: Policy) -> HostingEngine:
        if policy != self._engine.policy:
            self._store.publish(self._model, policy.version)
            if policy in self._engine.adapters:  # a resumed run loaded it as a past version
                self._engine.retire(policy)
            self._engine.publish(self._store.path(policy), policy)
            self._newest.append(policy)
            held = self._engine.adapters
            self._remove_others(policy, held)
            for version in held:
                if version not in self._newest and version not in self._past:
                    self._engine.retire(version)
        return self._engine

    def keep(self, policy: Policy) -> None:
        self._mark_kept(policy)
