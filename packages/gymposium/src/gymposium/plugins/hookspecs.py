"""Hooks that a plugin can implement. Each yields frozen specs.

A plugin is a module (or object) named by an entry point of the group `gymposium`:

    [project.entry-points.gymposium]
    my_games = "my_package.plugin"

with, in `my_package/plugin.py`:

    from gymposium import GameSpec, hookimpl

    @hookimpl
    def gymposium_games():
        yield GameSpec(name="my_game", title="My game", summary="…", entry_point="my_package.game:MyGame")
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

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
    RewardSpec,
    SourceSpec,
    Spec,
)

PROJECT = "gymposium"
API_VERSION = 1
"""Version of the plugin API. A plugin may set `GYMPOSIUM_API = 1`. It is rejected if the number differs."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def gymposium_games() -> Iterable[GameSpec]:
    """Offer games. Each gets an id in Gymnasium and PettingZoo, and a name in every command.

    Example: `yield GameSpec(name="nim", title="Nim", summary="Take sticks.", entry_point="nim.game:Nim")`
    """
    raise NotImplementedError


@hookspec
def gymposium_disguises() -> Iterable[DisguiseSpec]:
    """Offer disguises of games: the same games with other wording.

    Example: `yield DisguiseSpec(name="nim", summary="Sticks as coins.", entry_point="coins.words:disguise_nim")`
    """
    raise NotImplementedError


@hookspec
def gymposium_opponents() -> Iterable[OpponentSpec]:
    """Offer players, each by the form of its name.

    Example: `yield OpponentSpec(name="greedy", form="greedy", pattern="greedy", summary="Takes most.",
    entry_point="nim.players:greedy")`
    """
    raise NotImplementedError


@hookspec
def gymposium_rewards() -> Iterable[RewardSpec]:
    """Offer rewards, each by the form of its name.

    A reward is a function that maps a group of trajectories to one reward each.

    Example: `yield RewardSpec(name="brief", form="brief", pattern="brief", summary="Wins, the shorter the better.",
    entry_point="nim.rewards:Brief")`
    """
    raise NotImplementedError


@hookspec
def gymposium_loggers() -> Iterable[LoggerSpec]:
    """Offer loggers for the metrics of training runs, each by the name of its table in a config.

    Example: `yield LoggerSpec(name="csv", summary="A table of numbers.", entry_point="nim.loggers:CsvLogger",
    settings="nim.loggers:CsvSettings")`
    """
    raise NotImplementedError


@hookspec
def gymposium_engines() -> Iterable[EngineSpec]:
    """Offer engines for training runs and `lm:` players, each by its `engine.kind` in a config.

    An engine samples a language model's replies.

    Example: `yield EngineSpec(name="sglang", summary="An SGLang server.", entry_point="my_package.engine:make",
    settings="my_package.settings:Settings")`
    """
    raise NotImplementedError


@hookspec
def gymposium_credits() -> Iterable[CreditSpec]:
    """Offer credit assignments for training runs, each by its `credit.kind` in a config.

    Example: `yield CreditSpec(name="rank", summary="Ranks within a group.", entry_point="nim.credit:Rank",
    settings="nim.credit:RankSettings")`
    """
    raise NotImplementedError


@hookspec
def gymposium_objectives() -> Iterable[ObjectiveSpec]:
    """Offer policy losses for training runs, each by its `objective.kind` in a config.

    Example: `yield ObjectiveSpec(name="awr", summary="Exponential weights.", entry_point="nim.awr:Awr",
    settings="nim.awr:AwrSettings")`
    """
    raise NotImplementedError


@hookspec
def gymposium_sources() -> Iterable[SourceSpec]:
    """Offer sources of trajectories to learn from, each by its `source.kind` in a config.

    Example: `yield SourceSpec(name="questions", summary="Questions of a file.", entry_point="quiz.source:Questions",
    settings="quiz.source:QuestionSettings")`
    """
    raise NotImplementedError


@hookspec
def gymposium_backends() -> Iterable[BackendSpec]:
    """Offer training backends. A config selects one by `backend.kind`. A backend holds the learning model.

    Example: `yield BackendSpec(name="remote", summary="Learning on a service.", entry_point="remote.backend:Remote",
    settings="remote.settings:RemoteSettings")`
    """
    raise NotImplementedError


@hookspec
def gymposium_executors() -> Iterable[ExecutorSpec]:
    """Offer executors, which play a run's matches, each by its name for `--executor`.

    Example: `yield ExecutorSpec(name="slurm", summary="Jobs of a Slurm cluster.", entry_point="my_package.slurm:make")`
    """
    raise NotImplementedError


@hookspec
def gymposium_commands() -> Iterable[CommandSpec]:
    """Offer commands of `gymposium`, each by its name on the command line.

    Example: `yield CommandSpec(name="nimber", summary="Print nimbers.", entry_point="nim.cli:nimber")`
    """
    raise NotImplementedError


HOOKS: dict[str, type[Spec]] = {
    "gymposium_games": GameSpec,
    "gymposium_disguises": DisguiseSpec,
    "gymposium_opponents": OpponentSpec,
    "gymposium_rewards": RewardSpec,
    "gymposium_loggers": LoggerSpec,
    "gymposium_engines": EngineSpec,
    "gymposium_credits": CreditSpec,
    "gymposium_objectives": ObjectiveSpec,
    "gymposium_sources": SourceSpec,
    "gymposium_backends": BackendSpec,
    "gymposium_executors": ExecutorSpec,
    "gymposium_commands": CommandSpec,
}
"""All hooks, each with the spec class that it yields."""
