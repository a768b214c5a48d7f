"""The connection to the Tinker service: its key, models and errors."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any, Literal

import httpx
import tinker
from tinker import APIFuture

from gymposium.errors import BadOption, GymposiumError
from gymposium_agents.chat.chat import Chat
from gymposium_tinker.settings import TinkerSettings
from gymposium_train.config import TrainConfig

KEY = "TINKER_API_KEY"
"""The environment variable with the key of the service. It is neither stored nor logged."""
BASE_URL = "TINKER_BASE_URL"
"""The environment variable with the address of the service."""
PRODUCTION = "https://tinker.thinkingmachines.dev/services/tinker-prod"
"""The default address of the service."""
SECONDS = 10.0
"""Time limit for the service's first answer and for ending a session, in seconds."""
LOGGER = logging.getLogger(__name__)
PROBES = ("The quick brown fox.", " 12 a1\n\tb2 {}<>", "Grüße, 你好 🙂")
"""Texts for comparing tokenizers: equal tokenizers encode them equally."""


def read_key() -> str:
    """Return the key of the service. Raises `BadOption` if it is not set. Switches off the SDK's telemetry, which sends
    the headers of failed requests with the key, unless the user has set TINKER_TELEMETRY."""
    os.environ.setdefault("TINKER_TELEMETRY", "0")
    if not os.environ.get(KEY):
        raise BadOption(f"{KEY} is not set. Set this environment variable to your Tinker API key.")
    return os.environ[KEY]


def resolve_result(found: Any, timeout: float | None = None) -> Any:
    """Return a value from the SDK, or its result if it is a future. Clients are futures since SDK 0.38. Raises
    `TimeoutError`
    after `timeout` seconds."""
    return found.result(timeout) if isinstance(found, APIFuture) else found


@contextmanager
def open_session(settings: TinkerSettings) -> Iterator[tinker.ServiceClient]:
    """Provide a new session with the service."""
    service = open_service(settings)
    try:
        yield service
    except BaseException:
        close_service(service, "errored")
        raise
    close_service(service, "success")


def open_service(settings: TinkerSettings) -> tinker.ServiceClient:
    """Return a new session with the service. Raises `GymposiumError` if the service does not answer."""
    api_key = read_key()
    check_answers(settings)
    with translate_errors():
        return tinker.ServiceClient(base_url=settings.base_url, api_key=api_key)


def close_service(service: tinker.ServiceClient, status: Literal["success", "errored"]) -> None:
    """End a session. A failure is only logged, because sessions also expire, and older SDKs and some servers cannot end
    them. The SDK's retries are not awaited."""
    try:
        with translate_errors():
            if hasattr(service, "close"):
                resolve_result(service.close(status), SECONDS)
    except GymposiumError as error:
        LOGGER.warning("The session was not closed: %s", error)


def check_answers(settings: TinkerSettings) -> None:
    """Raise `GymposiumError` unless something answers at the service's address. The SDK would retry for minutes."""
    address = (settings.base_url or os.environ.get(BASE_URL) or PRODUCTION).rstrip("/")
    try:
        httpx.get(f"{address}/api/v1/healthz", timeout=SECONDS)
    except httpx.HTTPError as error:
        raise GymposiumError(
            f"No Tinker service answers at {address} ({type(error).__name__}: {error}). Start it, or correct "
            f"backend.base_url or the environment variable {BASE_URL}."
        ) from error


def find_base_model(config: TrainConfig, settings: TinkerSettings) -> str:
    """Return the service's name of the base model."""
    assert config.model.name is not None, "a config without it is refused"
    return settings.model or config.model.name


@contextmanager
def translate_errors() -> Iterator[None]:
    """Convert errors that the SDK raises after its retries to `GymposiumError`."""
    try:
        yield
    except GymposiumError:
        raise
    except Exception as error:
        if not isinstance(error, tinker.TinkerError) and not _is_from_sdk(error):
            raise
        raise GymposiumError(
            f"A request to the Tinker service failed: {type(error).__name__}: {error}. Resume the run "
            f"from its last checkpoint with --resume."
        ) from error


def _is_from_sdk(error: Exception) -> bool:
    """Return whether an exception comes from the SDK or a library that it uses, not from a callback. The SDK also
    raises AssertionError and ValueError for invalid answers."""
    modules = [frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in walk_tb(error.__traceback__)]
    callers = [name for name in modules if name == "tinker" or name.startswith("gymposium")]
    return callers[-1:] == ["tinker"]


def find_context(settings: TinkerSettings, model: str) -> int | None:
    """Return the context of a trainable model in tokens; None if the service does not report it. Raises `BadOption` if
    the service does not train the model."""
    api_key = read_key()
    check_answers(settings)
    sessionless = getattr(tinker, "RestClient", tinker.ServiceClient)  # older SDKs ask without a session here
    with translate_errors():
        client = sessionless(base_url=settings.base_url, api_key=api_key)
        models = resolve_result(client.get_server_capabilities()).supported_models
    found = next((one for one in models if one.model_name == model), None)
    if found is None or not _is_trainable(found):
        names = sorted(one.model_name for one in models if one.model_name and _is_trainable(one))
        raise BadOption(f"The Tinker service does not train {model}. Set backend.model to one of {', '.join(names)}.")
    told = getattr(found, "max_context_length", None)
    return None if told is None else int(told)


def _is_trainable(model: Any) -> bool:
    """Return whether the service trains a model. Older SDKs and some servers, which train all models, do not report
    it."""
    return getattr(model, "trainable", None) is not False


def check_tokenizers(settings: TinkerSettings, model: str, chat: Chat) -> None:
    """Raise `BadOption` if the chat format and the service's model have different tokenizers."""
    if model == chat.tokenizer.name_or_path:
        return
    with translate_errors(), open_session(settings) as client:
        theirs = resolve_result(client.create_sampling_client(base_model=model)).get_tokenizer()
    ours = chat.tokenizer
    if ours.get_vocab() != theirs.get_vocab() or any(ours.encode(text) != theirs.encode(text) for text in PROBES):
        raise BadOption(
            f"model.name = {chat.tokenizer.name_or_path}: its tokenizer differs from that of {model} on the service. "
            f"Use a model with the same tokenizer, or omit backend.model."
        )
