"""Registration of every plugin's games with Gymnasium and PettingZoo.

Only the registries are imported. Each id refers to its environment class by an import path.
"""

from __future__ import annotations

from collections.abc import Iterable

import gymnasium
import pettingzoo

from gymposium.errors import PluginError
from gymposium.plugins.host import host
from gymposium.plugins.specs import GameSpec


def register_envs() -> None:
    """Register all games that are not registered yet. Call it again after loading a plugin from a file.

    A game is skipped if Gymnasium or PettingZoo rejects its id because another package uses it. The plugin host's
    complaints then name the game."""
    for spec in host().games.values():
        try:
            _register_game(spec)
        except gymnasium.error.Error as error:
            complaint = (
                f"gymposium plugin {host().owner(spec).name!r}: its game {spec.name!r} has no environment "
                f"{spec.env_id}: {' '.join(str(error).split())}"
            )
            if host().strict:
                raise PluginError(complaint) from error
            if complaint not in host().complaints:
                host().complaints.append(complaint)


def _register_game(spec: GameSpec) -> None:
    kwargs = {"game": spec.name}
    if not _is_registered(gymnasium.registry.get(spec.env_id), kwargs):
        # No wrappers are needed: the environment rejects invalid actions and out-of-order steps.
        gymnasium.register(
            spec.env_id,
            "gymposium.envs.gym:TextGameEnv",
            vector_entry_point="gymposium.envs.vector:TextGameVectorEnv",
            order_enforce=False,
            disable_env_checker=True,
            nondeterministic=spec.results_are_recorded,
            kwargs=kwargs,
        )
    if not _is_registered(pettingzoo.aec_registry.get(spec.env_id), kwargs):
        pettingzoo.register("aec", spec.env_id, "gymposium.envs.aec:env", kwargs=kwargs)
    # in PettingZoo's parallel environments all live agents act in every step
    if spec.dynamics == "simultaneous" and not _is_registered(pettingzoo.parallel_registry.get(spec.env_id), kwargs):
        pettingzoo.register("parallel", spec.env_id, "gymposium.envs.parallel:TextGameParallelEnv", kwargs=kwargs)


def unregister_envs(specs: Iterable[GameSpec]) -> None:
    """Remove these games from all registries."""
    for spec in specs:
        for registry in (gymnasium.registry, pettingzoo.aec_registry, pettingzoo.parallel_registry):
            registry.pop(spec.env_id, None)


def _is_registered(
    entry: gymnasium.envs.registration.EnvSpec | pettingzoo.EnvSpec | None, kwargs: dict[str, str]
) -> bool:
    """Return whether this module has registered the same game under this id.

    Another package's entry does not count: the registries warn when it is overridden."""
    return (
        entry is not None
        and entry.kwargs == kwargs
        and isinstance(entry.entry_point, str)
        and entry.entry_point.startswith("gymposium.envs.")
    )
