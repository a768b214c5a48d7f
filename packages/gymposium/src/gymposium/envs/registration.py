"""The env ids: every game of every plugin, in Gymnasium and in PettingZoo. Nothing is imported for it but
their registries: an id names its class by text."""

from __future__ import annotations

from collections.abc import Iterable

import gymnasium
import pettingzoo

from gymposium.plugins.host import host
from gymposium.plugins.specs import GameSpec


def register_envs() -> None:
    """Register all games that are not registered yet. Call it again after a plugin was loaded from a file."""
    for spec in host().games.values():
        kwargs = {"game": spec.name}
        if not _known(gymnasium.registry.get(spec.env_id), kwargs):
            # The env refuses steps out of order and actions that are none by itself: no wrapper has to.
            gymnasium.register(
                spec.env_id,
                "gymposium.envs.gym:TextGameEnv",
                vector_entry_point="gymposium.envs.vector:TextGameVectorEnv",
                order_enforce=False,
                disable_env_checker=True,
                kwargs=kwargs,
            )
        if not _known(pettingzoo.aec_registry.get(spec.env_id), kwargs):
            pettingzoo.register("aec", spec.env_id, "gymposium.envs.aec:env", kwargs=kwargs)
        if all_move_at_once(spec) and not _known(pettingzoo.parallel_registry.get(spec.env_id), kwargs):
            pettingzoo.register("parallel", spec.env_id, "gymposium.envs.parallel:TextGameParallelEnv", kwargs=kwargs)


def unregister_envs(specs: Iterable[GameSpec]) -> None:
    """Remove these games from all registries."""
    for spec in specs:
        for registry in (gymnasium.registry, pettingzoo.aec_registry, pettingzoo.parallel_registry):
            registry.pop(spec.env_id, None)


def all_move_at_once(spec: GameSpec) -> bool:
    """Whether all live seats move in every step, as PettingZoo's parallel environments must."""
    return spec.dynamics == "simultaneous"


def _known(registered: gymnasium.envs.registration.EnvSpec | pettingzoo.EnvSpec | None, kwargs: dict[str, str]) -> bool:
    """Registered already by us for the same game. Another owner of the id is left to the registries, which
    warn that it is overridden."""
    return (
        registered is not None
        and registered.kwargs == kwargs
        and isinstance(registered.entry_point, str)
        and registered.entry_point.startswith("gymposium.envs.")
    )
