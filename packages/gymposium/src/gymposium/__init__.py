"""gymposium: text games as environments for reinforcement learning and language models.

Importing the package registers every game, built in or from a plugin, with Gymnasium and PettingZoo:

    import gymnasium, gymposium
    env = gymnasium.make("TextGoofspiel-v0", opponent="random")

Engines and models are imported on first use.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymposium.plugins.hookspecs import hookimpl
from gymposium.plugins.specs import (
    BackendSpec,
    CommandSpec,
    CreditSpec,
    DisguiseSpec,
    EngineSpec,
    ExecutorSpec,
    GameSpec,
    LoggerSpec,
    ObjectiveSpec,
    OpponentSpec,
    Parameter,
    RewardSpec,
    SourceSpec,
)

if TYPE_CHECKING:
    from gymposium.envs.table import Table
    from gymposium.games.registry import load_game
    from gymposium.players.grammar import make_player
    from gymposium.rewards.grammar import make_reward
    from gymposium.runs.playing import play

    __version__: str

__all__ = [
    "BackendSpec",
    "CommandSpec",
    "CreditSpec",
    "DisguiseSpec",
    "EngineSpec",
    "ExecutorSpec",
    "GameSpec",
    "LoggerSpec",
    "ObjectiveSpec",
    "OpponentSpec",
    "Parameter",
    "RewardSpec",
    "SourceSpec",
    "Table",
    "__version__",
    "hookimpl",
    "load_game",
    "make_player",
    "make_reward",
    "play",
]


_ON_USE = {
    "Table": "gymposium.envs.table",
    "load_game": "gymposium.games.registry",
    "make_player": "gymposium.players.grammar",
    "make_reward": "gymposium.rewards.grammar",
    "play": "gymposium.runs.playing",
}
"""Module of each lazily imported name."""


def __getattr__(name: str) -> Any:
    if name in _ON_USE:
        return getattr(import_module(_ON_USE[name]), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("gymposium")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def _register() -> None:
    """Register all games with Gymnasium and PettingZoo, and warn about broken plugins."""
    from gymposium.envs.registration import register_envs
    from gymposium.plugins.host import PluginWarning, host

    register_envs()
    if _is_started_as_command():
        return  # a worker process of the command, which has already shown the complaints
    for complaint in host().list_complaints():
        try:
            warnings.warn(complaint, PluginWarning, stacklevel=3)  # the line that imports gymposium
        except PluginWarning:
            # With -W error, warnings are errors. A broken plugin must not stop this import even then: the switch for
            # that is GYMPOSIUM_PLUGINS_STRICT.
            print(complaint, file=sys.stderr)


def _is_command() -> bool:
    """Return whether this process runs the `gymposium` command (as script or with `-m`) or the trial of a plugin.

    Such processes load plugins and register games only when needed. --version, --help and `list` import neither
    Gymnasium nor PettingZoo."""
    modules = ("gymposium", "gymposium_agents", "gymposium_train", "gymposium.cli.main")
    if any(flag == "-m" and module in modules for flag, module in pairwise(sys.orig_argv)):
        return True
    return "gymposium.plugins.trial_process" in sys.orig_argv or (
        # a worker process has the sys.argv of its parent, but its own sys.orig_argv
        _is_started_as_command() and sys.argv[0] in sys.orig_argv
    )


def _is_started_as_command() -> bool:
    """Return whether `sys.argv` names the command's script or module.

    A different script named `gymposium` never reaches this code, because `import gymposium` would import that
    script."""
    started = Path(sys.argv[0]) if sys.argv else Path()
    package = started.parent.name if started.name == "__main__.py" else ""
    return (
        started.stem == "gymposium"
        or started.parts[-3:] == ("gymposium", "cli", "main.py")
        or package in ("gymposium", "gymposium_agents", "gymposium_train")
    )


if not _is_command():
    _register()
