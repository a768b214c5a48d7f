"""The engine that shares the learner's model: it plays each update at once, and copies no weights."""

from __future__ import annotations

from gymposium.errors import BadOption
from gymposium.settings import NoSettings
from gymposium_agents.engines.protocol import EngineStart, HostingEngine
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.lora.store import AdapterStore
from gymposium_agents.tokens import Policy
from gymposium_train.publishing.kept import mark_kept, remove_others


def shared_engine(start: EngineStart, settings: NoSettings) -> HostingEngine:
    """The engine `shared`: it samples from the learner's own model."""
    if start.learner is None:
        raise BadOption("engine=shared samples from the model of a learner in this process, so no player can name it.")
    return start.learner.engine()


class SharedAdapter:
    """Publishes a LoRA by playing the learner's own adapter.

    Past versions are saved to disk and loaded beside it on demand. They are frozen, and active only while they are
    asked, so the learner's model does not change."""

    def __init__(self, engine: TransformersEngine, store: AdapterStore) -> None:
        """`engine` plays the learner's model, with its adapter."""
        self._engine = engine
        self._store = store
        self._past: set[Policy] = set()

    @property
    def context(self) -> int:
        return self._engine.context

    def publish(self, policy: Policy) -> TransformersEngine:
        self._engine.weights_changed(policy)
        for past in self._past:
            self._load(past)  # a version that has only now become one of the past
        return self._engine

    def keep(self, policy: Policy) -> None:
        self._store.publish(self._engine.model, policy.version)
        mark_kept(self._store, policy)
        remove_others(self._store, policy, ())

    def past(self, policy: Policy) -> TransformersEngine:
        self._load(policy)
        self._past.add(policy)
        return self._engine

    def let_go(self, policy: Policy) -> None:
        self._past.discard(policy)
        if policy in self._engine.adapters and policy != self._engine.policy:
            self._engine.retire(policy)

    def _load(self, policy: Policy) -> None:
        """The version that is played now needs no second copy."""
        place = self._store.path(policy)
        if policy not in self._engine.adapters:
            self._engine.load(place, policy)
