"""Past adapter versions. Kept versions are marked on disk, and an engine plays them as opponents."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from gymposium.util.durable import sync_path
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.protocol import HostingEngine
from gymposium_agents.lora.store import AdapterStore

KEPT = "KEPT"
"""Name of the file that marks a kept version."""


class AdapterVersions:
    """Base class of LoRA adapter publishers. It tracks the versions on disk and in the engine."""

    def __init__(self, engine: HostingEngine, store: AdapterStore, *, staleness: int) -> None:
        """`staleness` is the number of publishes that rollouts may lag."""
        self._engine, self._store = engine, store
        self._newest: deque[Policy] = deque(maxlen=staleness + 1)
        """The versions that rollouts may still play."""
        self._past: set[Policy] = set()
        """The past versions that play as opponents."""

    @property
    def context(self) -> int:
        return self._engine.context

    def past(self, policy: Policy) -> HostingEngine:
        self._load_version(policy)
        self._past.add(policy)
        return self._engine

    def let_go(self, policy: Policy) -> None:
        self._past.discard(policy)
        if policy in self._engine.adapters and policy not in self._newest:
            self._engine.retire(policy)

    def _load_version(self, policy: Policy) -> None:
        """Load a version into the engine, unless it is already there: the published version needs no second copy."""
        directory = self._store.path(policy)
        if policy not in self._engine.adapters:
            self._engine.load(directory, policy)

    def _mark_kept(self, policy: Policy) -> None:
        """Mark this version as kept on disk."""
        directory = self._store.path(policy)
        (directory / KEPT).touch()
        sync_path(directory)

    def _remove_others(self, present: Policy, needed: Collection[Policy]) -> None:
        """Remove the files of versions that are neither kept nor needed. Also removes versions newer than the current
        one. An interrupted run left them, and the resumed run learns them again."""
        for policy in self._store.list():
            kept = (self._store.path(policy) / KEPT).is_file()
            if policy.version > present.version or not (kept or policy in needed):
                self._store.remove(policy)
