"""Marks of kept adapter versions on disk, and removal of the others."""

from __future__ import annotations

from collections.abc import Collection

from gymposium.durable import sync
from gymposium_agents.lora.store import AdapterStore
from gymposium_agents.tokens import Policy

KEPT = "KEPT"
"""Name of the file that marks a kept version."""


def mark_kept(store: AdapterStore, policy: Policy) -> None:
    """Mark this version as kept."""
    place = store.path(policy)
    (place / KEPT).touch()
    sync(place)


def remove_others(store: AdapterStore, present: Policy, needed: Collection[Policy]) -> None:
    """Remove the adapters of versions that are neither kept nor needed, and of all above the present one: a run that
    was interrupted had come that far, and learns those versions again."""
    for policy in store.list():
        kept = (store.path(policy) / KEPT).is_file()
        if policy.version > present.version or not (kept or policy in needed):
            store.remove(policy)
