"""The plugin of gymposium-train: commands, the engine that shares the learner's model, and built-in credits,
objectives, sources and backends."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium.plugins.hookspecs import hookimpl
from gymposium.plugins.specs import (
    BackendSpec,
    CommandSpec,
    CreditSpec,
    EngineSpec,
    ObjectiveSpec,
    RewardSpec,
    SourceSpec,
)


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="train",
        summary="Train a language model to play games: cold start, GRPO or PPO, evaluation, report.",
        entry_point="gymposium_train.cli.train:command",
        order=19,
    )
    yield CommandSpec(
        name="sft",
        summary="Fine-tune a language model on chats.",
        entry_point="gymposium_train.cli.sft:command",
        order=18,
    )
    yield CommandSpec(
        name="serve",
        summary="Serve a model to agents through the APIs of OpenAI and Anthropic, and train it on their sessions.",
        entry_point="gymposium_train.cli.serve:command",
        order=23,
    )


@hookimpl
def gymposium_engines() -> Iterable[EngineSpec]:
    yield EngineSpec(
        name="shared",
        summary="The learner's model in memory, for single-process training runs only.",
        entry_point="gymposium_train.backends.publishing.shared:make_shared_engine",
        shares_learner=True,
        all_weights=True,
    )


@hookimpl
def gymposium_credits() -> Iterable[CreditSpec]:
    for name, summary in {
        "grpo": "The reward minus its group's mean (Shao et al., 2024).",
        "rloo": "The reward minus the mean of the other members of its group (Ahmadian et al., 2024).",
        "baseline": "The reward minus the mean for the same game and seat in the step.",
        "rae": (
            "The reward minus a moving average for the same game and seat (Liu et al., 2025, SPIRAL), for self-play."
        ),
        "gae": "A critic's advantage over turns (Schulman et al., 2016), for PPO.",
        "gigpo": "GRPO plus a comparison of turns at the same state (Feng et al., 2025).",
        "off": "Rewards do not count, only a teacher.",
    }.items():
        place = f"gymposium_train.credit.{name}:{name.capitalize()}"
        yield CreditSpec(name=name, summary=summary, entry_point=place, settings=f"{place}Settings")


@hookimpl
def gymposium_objectives() -> Iterable[ObjectiveSpec]:
    for name, summary in {
        "ppo": "Clipped ratios of tokens (Schulman et al., 2017).",
        "gspo": "Clipped ratios of whole turns (Zheng et al., 2025).",
        "cispo": "Clipped weights on the log-probabilities (MiniMax, 2025).",
        "pg": "Policy gradient with truncated importance weights.",
    }.items():
        place = f"gymposium_train.objective.{name}:{name.capitalize()}"
        yield ObjectiveSpec(name=name, summary=summary, entry_point=place, settings=f"{place}Settings")


@hookimpl
def gymposium_sources() -> Iterable[SourceSpec]:
    yield SourceSpec(
        name="matches",
        summary="Matches against other players and past versions, played by the run.",
        entry_point="gymposium_train.rollout.matches:make_match_source",
        settings="gymposium_train.config.source:MatchSettings",
    )
    yield SourceSpec(
        name="sessions",
        summary="Sessions of agents in other processes that use the model over HTTP: gymposium serve.",
        entry_point="gymposium_train.serving.source:make_session_source",
        settings="gymposium_train.serving.settings:SessionSettings",
        opens={"run": "a program", "scores": "code from a module"},
    )


@hookimpl
def gymposium_backends() -> Iterable[BackendSpec]:
    yield BackendSpec(
        name="local",
        summary="Learning on this machine with torch, in one process or several started by torchrun.",
        entry_point="gymposium_train.backends.local:LocalBackend",
        settings="gymposium_train.config.backend:LocalSettings",
    )


@hookimpl
def gymposium_rewards() -> Iterable[RewardSpec]:
    yield RewardSpec(
        name="posted",
        form="posted",
        pattern="posted",
        summary="The rewards that clients of gymposium serve give at the end of their sessions.",
        entry_point="gymposium_train.serving.trajectories:make_posted_reward",
    )
