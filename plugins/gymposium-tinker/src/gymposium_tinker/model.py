"""A model that is trained on the Tinker service, and its saved states."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tinker import ServiceClient, TrainingClient

from gymposium.errors import GymposiumError
from gymposium.util.plain_file import read_plain_text
from gymposium.util.streams import stream
from gymposium.util.strict_json import parse_strict_json
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import BASE, Policy
from gymposium_agents.models.loading import load_chat, load_context_length, load_stop_tokens
from gymposium_agents.players.player import LanguageModelPlayer, make_engine_player
from gymposium_tinker.engine import TinkerEngine
from gymposium_tinker.learner import STATE, TinkerLearner
from gymposium_tinker.losses import choose_service_loss
from gymposium_tinker.publisher import Snapshots
from gymposium_tinker.service import (
    find_base_model,
    find_context,
    open_session,
    resolve_result,
    translate_errors,
)
from gymposium_tinker.settings import TinkerSettings
from gymposium_train.backends.protocol import BackendStart, Learned
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import stage_directory
from gymposium_train.learner import Loss


@dataclass(frozen=True, slots=True)
class TinkerModel:
    """A LoRA on the service with its learner (a `LearningModel`)."""

    config: TrainConfig
    settings: TinkerSettings
    service: ServiceClient
    chat: Chat
    stops: frozenset[int]
    context: int
    learner: TinkerLearner
    digest: None = None

    def engine(self) -> TinkerEngine:
        with translate_errors():
            client = resolve_result(self.learner.client.save_weights_and_get_sampling_client())
        return TinkerEngine(self.context, self.stops, Policy("learner", self.learner.policy_version), client)

    def publisher(self, name: str, directory: Path, resources: ExitStack) -> Snapshots:
        return Snapshots(
            self.service,
            lambda: self.learner.client,
            self.context,
            self.stops,
            directory,
            staleness=self.config.engine.staleness,
            keeps=any("past" in stage.opponents for stage in self.config.stages),
            days=self.settings.checkpoint_days,
        )

    def save(self, target: Path) -> None:
        save_weights(self.config, self.learner.client, target)


@contextmanager
def open_imitation(start: BackendStart, settings: TinkerSettings) -> Iterator[TinkerModel]:
    """Provide the base model with a new LoRA, for imitation."""
    with open_session(settings) as service:
        yield _make_model(start, settings, service, _create_client(start.config, settings, service), Loss())


@contextmanager
def open_reinforcement(start: BackendStart, settings: TinkerSettings) -> Iterator[TinkerModel]:
    """Provide the LoRA from the cold start, or a new one, for reinforcement learning."""
    config = start.config
    with open_session(settings) as service:
        if config.cold_start.is_used:
            with translate_errors():
                path = _read_state(start.directory.cold_start)["path"]
                client = resolve_result(service.create_training_client_from_state(path))
        else:
            client = _create_client(config, settings, service)
        yield _make_model(start, settings, service, client, Loss.from_config(config))


@contextmanager
def open_player(start: BackendStart, settings: TinkerSettings, learned: Learned) -> Iterator[LanguageModelPlayer]:
    """Provide a player with the run's saved weights, for evaluation."""
    config, directory = start.config, start.directory
    saved = directory.adapter if learned == "trained" else directory.cold_start if config.cold_start.is_used else None
    model = find_base_model(config, settings)
    with open_session(settings) as service:
        with translate_errors():
            if saved is None:
                client = resolve_result(service.create_sampling_client(base_model=model))
            else:
                client = resolve_result(service.create_sampling_client(model_path=_read_state(saved)["sampler"]))
        chat, stops = _load_format(config)
        engine = TinkerEngine(_find_context(config, settings), stops, BASE, client)
        yield make_engine_player(f"lm:{saved or model}", engine, chat, config.evaluated_player)


def export_checkpoint(start: BackendStart, settings: TinkerSettings, checkpoint: Path, target: Path) -> None:
    """Save a checkpoint's weights for sampling."""
    with open_session(settings) as service:
        with translate_errors():
            client = resolve_result(service.create_training_client_from_state(_read_state(checkpoint)["path"]))
        save_weights(start.config, client, target)


def save_weights(config: TrainConfig, client: TrainingClient, target: Path) -> None:
    """Save weights on the service, for training and sampling, without expiry. Write their paths and the player's
    settings to a directory."""
    with translate_errors():
        state, sampler = client.save_state("result", overwrite=True), client.save_weights_for_sampler("result")
        saved = {"path": state.result().path, "sampler": sampler.result().path}
    with stage_directory(target) as staging:
        (staging / STATE).write_text(json.dumps(saved, indent=2) + "\n", encoding="utf-8")
        config.evaluated_player.save(staging)


def _make_model(
    start: BackendStart, settings: TinkerSettings, service: ServiceClient, client: TrainingClient, loss: Loss
) -> TinkerModel:
    config = start.config
    chat, stops = _load_format(config)
    learner = TinkerLearner(
        service,
        client,
        config.optimizer,
        loss=loss,
        on_service=choose_service_loss(config),
        days=settings.checkpoint_days,
    )
    return TinkerModel(config, settings, service, chat, stops, _find_context(config, settings), learner)


def _create_client(config: TrainConfig, settings: TinkerSettings, service: ServiceClient) -> TrainingClient:
    """Return the client of a new LoRA, initialized from the run's seed."""
    with translate_errors():
        return resolve_result(
            service.create_lora_training_client(
                find_base_model(config, settings),
                rank=config.model.lora.rank,
                seed=stream(config.seed, "lora").getrandbits(31),
                train_mlp=settings.train_mlp,
                train_attn=settings.train_attention,
                train_unembed=settings.train_output,
            )
        )


def _find_context(config: TrainConfig, settings: TinkerSettings) -> int:
    """Return the model's context in tokens, as reported by the service or else by the model's files."""
    told = find_context(settings, find_base_model(config, settings))
    assert config.model.name is not None, "a config without it is refused"
    return load_context_length(config.model.name, config.model.trust) if told is None else told


def _load_format(config: TrainConfig) -> tuple[Chat, frozenset[int]]:
    """Return the chat format of a run, and the tokens that end a reply."""
    name, trust = config.model.name, config.model.trust
    assert name is not None, "a config without it is refused"
    prompting = config.prompting
    chat = load_chat(name, thinking=prompting.thinking, history=prompting.history, trust=trust)
    return chat, load_stop_tokens(name, chat, trust)


def _read_state(directory: Path) -> dict[str, str]:
    """Read the paths on the service from a saved directory."""
    file = directory / STATE
    if not file.is_file():
        raise GymposiumError(
            f"{directory} was not written by a run with backend.kind=tinker: it has no {STATE}. Name a directory of "
            "such a run."
        )
    found: dict[str, str] = parse_strict_json(read_plain_text(file))
    return found
