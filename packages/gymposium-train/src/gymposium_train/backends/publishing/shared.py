"""The engine that shares the learner's model, and its publisher, which copies no weights."""

from __future__ import annotations

from gymposium.errors import BadOption
from gymposium.util.settings import NoSettings
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.protocol import EngineStart, HostingEngine
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.lora.store import AdapterStore
from gymposium_train.backends.publishing.kept import AdapterVersions


def make_shared_engine(start: EngineStart, settings: NoSettings) -> HostingEngine:
    """Make the engine `shared`, which samples from the learner's model."""
    if start.learner is None:
        raise BadOption(
            "engine=shared is not available to players, because it samples from the learner's model during a run. "
            "Use another engine."
        )
    return start.learner.engine()


class SharedAdapterPublisher(AdapterVersions):
    """A LoRA publisher whose engine plays the learner's own adapter.

    Past versions are saved to disk and loaded beside it on demand. They are frozen, and active only while they answer,
    so the learner's model does not change."""

    _engine: TransformersEngine

    def __init__(self, engine: TransformersEngine, store: AdapterStore) -> None:
        """`engine` samples from the learner's model with its adapter."""
        super().__init__(engine, store, staleness=0)

    def publish(self, policy: Policy) -> TransformersEngine:
        self._engine.weights_changed(policy)
        self._newest.append(policy)
        for past in self._past:
            self._load_version(past)  # a version that was current until now
        return self._engine

    def keep(self, policy: Policy) -> None:
        self._store.publish(self._engine.model, policy.version)
        self._mark_kept(policy)
        self._remove_others(policy, ())
