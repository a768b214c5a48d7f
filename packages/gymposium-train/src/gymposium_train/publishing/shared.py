"""The engine that shares the learner's model: what is learned is played at once, and nothing is copied."""

from __future__ import annotations

from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.loading import LoadedModel
from gymposium_agents.lora.store import AdapterStore
from gymposium_agents.tokens import Policy
from gymposium_train.publishing.kept import mark_kept, remove_others


class SharedAdapter:
    """The learner's adapter plays. Versions of the past are saved, and loaded beside it when they are to play: frozen,
    and active only while they are asked, so that the learner finds the model as it left it."""

    def __init__(self, loaded: LoadedModel, store: AdapterStore) -> None:
        """`loaded` is the learner's model, with its adapter."""
        self._engine = loaded.engine()
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
