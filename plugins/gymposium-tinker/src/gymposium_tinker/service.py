"""The connection to the Tinker service: its key, its models, and its errors in words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import tinker

from gymposium.errors import BadOption, GymposiumError
from gymposium_agents.chat import Chat
from gymposium_tinker.settings import TinkerSettings
from gymposium_train.config import TrainConfig

KEY = "TINKER_API_KEY"
"""The environment variable with the key of the service. It is neither stored nor logged."""
PROBES = ("The quick brown fox.", " 12 a1\n\tb2 {}<>", "Grüße, 你好 🙂")
"""Texts that equal tokenizers turn into equal tokens."""


def key() -> str:
    """The key of the service. Raises `BadOption` if it is not set. The SDK's telemetry, which sends the headers of
    failed requests with the key, is switched off unless the user has set TINKER_TELEMETRY."""
    os.environ.setdefault("TINKER_TELEMETRY", "0")
    if not os.environ.get(KEY):
        raise BadOption(f"{KEY} is not set: put the key of your Tinker account into this environment variable.")
    return os.environ[KEY]


def connected(settings: TinkerSettings) -> tinker.ServiceClient:
    """A new session with the service."""
    return tinker.ServiceClient(base_url=settings.base_url, api_key=key())


def base_model(config: TrainConfig, settings: TinkerSettings) -> str:
    """The service's name of the base model."""
    assert config.model.name is not None, "a config without it is refused"
    return settings.model or config.model.name


@contextmanager
def explained() -> Iterator[None]:
    """Raise errors of the SDK as `GymposiumError`. The SDK has tried again by then, if that could help."""
    try:
        yield
    # ValueError is what the SDK raises for a status of a result that cannot be tried again
    except (tinker.TinkerError, ValueError) as error:
        raise GymposiumError(
            f"The Tinker service did not do what it was asked to: {type(error).__name__}: {error}. The run goes on "
            f"from its last checkpoint with --resume."
        ) from error


def offered(settings: TinkerSettings, model: str) -> int:
    """The context in tokens of a model that the service trains. Raises `BadOption` if it does not train it."""
    with explained():
        client = tinker.RestClient(base_url=settings.base_url, api_key=key())
        models = client.get_server_capabilities().result().supported_models
    found = next((one for one in models if one.model_name == model), None)
    if found is None or found.trainable is False:
        names = sorted(one.model_name for one in models if one.model_name and one.trainable is not False)
        raise BadOption(f"The Tinker service does not train {model}. It trains {', '.join(names)}.")
    if found.max_context_length is None:
        raise GymposiumError(f"The Tinker service does not say how many tokens {model} reads.")
    return int(found.max_context_length)


def check_tokenizers(settings: TinkerSettings, model: str, chat: Chat) -> None:
    """Raise `BadOption` if the tokenizer of a chat format is not that of the service's model."""
    if model == chat.tokenizer.name_or_path:
        return
    with explained(), connected(settings) as client:
        theirs = client.create_sampling_client(base_model=model).result().get_tokenizer()
    ours = chat.tokenizer
    if ours.get_vocab() != theirs.get_vocab() or any(ours.encode(text) != theirs.encode(text) for text in PROBES):
        raise BadOption(
            f"model.name = {chat.tokenizer.name_or_path}: its tokenizer is not that of {model} on the service, so its "
            f"tokens would mean other text there. Name a model with the same tokenizer, or leave backend.model out."
        )
