"""Publishing to an engine with its own base model: adapters are saved, and the engine loads them by directory."""

from __future__ import annotations

from collections import deque
from typing import Any

from gymposium_agents.engines.protocol import HostingEngine
from gymposium_agents.lora.store import AdapterStore
from gymposium_agents.tokens import Policy
from gymposium_train.publishing.kept import mark_kept, remove_others


class HostedAdapters:
    """Saves the learner's adapter at each publish, and has the engine load it. The engine holds the versions that
    rollouts may still play, and those of the past; files of a version that it let go are removed one publish later,
    since a server may be reading them."""

    def __init__(self, engine: HostingEngine, model: Any, store: AdapterStore, staleness: int) -> None:
        """`model` is the learner's, with its adapter; rollouts may be `staleness` publishes behind."""
        self._engine, self._model, self._store = engine, model, store
        self._newest: deque[Policy] = deque(maxlen=staleness + 1)
        self._past: set[Policy] = set()

    @property
    def context(self) -> int:
        return self._engine.context

    def publish(self, policy: Policy) -> HostingEngine:
        if policy != self._engine.policy:
            self._store.publish(self._model, policy.version)
            if policy in self._engine.adapters:  # it was loaded as one of the past, by a run that goes on from there
                self._engine.retire(policy)
            self._engine.publish(self._store.path(policy), policy)
            self._newest.append(policy)
            held = self._engine.adapters
            remove_others(self._store, policy, held)
            for old in held:
                if old not in self._newest and old not in self._past:
                    self._engine.retire(old)
        return self._engine

    def keep(self, policy: Policy) -> None:
        mark_kept(self._store, policy)

    def past(self, policy: Policy) -> HostingEngine:
        place = self._store.path(policy)
        if policy not in self._engine.adapters:
            self._engine.load(place, policy)
        self._past.add(policy)
        return self._engine

    def let_go(self, policy: Policy) -> None:
        self._past.discard(policy)
        if policy in self._engine.adapters and policy not in self._newest:
            self._engine.retire(policy)
