"""Errors of chat services, with messages that say what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gymposium.errors import GymposiumError
from gymposium.http.responses import BadBody
from gymposium.util.visible import visible
from gymposium_agents.engines.api_settings import ApiSettings

if TYPE_CHECKING:
    from openai import OpenAIError

_LONGEST = 300
"""Maximum number of characters that messages quote from the service."""
_DEEPEST = 8
"""Maximum number of objects and lists in each other that may hold the words of an error."""
_WORDS = ("error", "message", "detail", "msg", "errors")
"""Names that servers give the words of an error, or the object that holds them. OpenRouter adds the words of the
service behind it as `metadata.raw`."""
_TOO_LONG = ("context_length_exceeded", "exceed_context_size_error")
"""OpenAI's error code and llama.cpp's error type for messages that are too long."""
_TOO_LONG_WORDS = re.compile(
    r"maximum context length|context length is only|longer than the model's context length|prompt is too long|"
    r"exceeds? the maximum number of tokens|maximum prompt length",
    re.IGNORECASE,
)
"""What vLLM, SGLang, Anthropic, Gemini and xAI write in the message instead."""


class ApiError(GymposiumError):
    """Error for a chat service that did not answer. The message says what to do; the library's exception is not chained
    to it."""


class PromptTooLong(ApiError):
    """Error for messages that leave no room for the reply in the model's context."""


def explained(error: OpenAIError, settings: ApiSettings) -> ApiError:
    """Return the error to raise for the exception that the library raised after its retries."""
    import openai

    where, tries = settings.base_url, settings.retries + 1
    if isinstance(error, openai.APITimeoutError):
        return ApiError(
            f"{where} did not answer within {settings.timeout:g} s (attempts: {tries}): raise the limit with timeout=, "
            f"ask for shorter replies with max_tokens=, or for fewer at once with at_once=."
        )
    if isinstance(error, openai.APIConnectionError) and isinstance(error.__cause__, BadBody):
        return ApiError(f"The answer of {where} cannot be read (attempts: {tries}): {error.__cause__}.")
    if isinstance(error, openai.APIConnectionError):
        return ApiError(
            f"{where} cannot be reached ({_short(str(error.__cause__ or error))}; attempts: {tries}): is the server "
            f"running, and is base_url= its address?"
        )
    if not isinstance(error, openai.APIStatusError):
        return ApiError(f"{where} could not be asked: {_short(str(error))}")
    status, words = error.status_code, error_words(error.body) or error.message
    said = _short(words)
    if status in (401, 403):
        key = "it requires a key; name the environment variable that holds one with key=NAME."
        if settings.variable is not None:
            key = (
                f"the environment variable {settings.variable} must hold a key of that service that may use "
                f"{settings.model}."
            )
        return ApiError(f"{where} refuses the request ({status}): {key} It says: {said}")
    if 300 <= status < 400:
        return ApiError(
            f"{where} redirects requests to another address ({status}), and keys are not sent there: set base_url= to "
            f"that address."
        )
    if status == 404:
        return ApiError(
            f"{where} has no model called {settings.model!r}, or no chat at that address (404): check the model's name "
            f"and base_url=. It says: {said}"
        )
    if status == 429:
        return ApiError(
            f"{where} still refuses after {settings.retries} retries, for rate limits or quota (429): ask less with "
            f"rpm= and at_once=, or raise the quota of the key. It says: {said}"
        )
    if status >= 500:
        return ApiError(f"{where} failed ({status}; attempts: {tries}): try later, or see its log. It says: {said}")
    if error.code in _TOO_LONG or error.type in _TOO_LONG or _TOO_LONG_WORDS.search(words):
        return PromptTooLong(f"The messages and max_tokens do not fit into the context of {settings.model}: {said}")
    if status == 402:
        return ApiError(f"{where} requires payment (402): add credit to the account of the key. It says: {said}")
    hint = (
        "a field that the service does not know can be left out with seed=false or temperature=default, and "
        "limit= names the field for max_tokens"
    )
    return ApiError(f"{where} refuses the request ({status}); {hint}. It says: {said}")


def malformed(text: str, settings: ApiSettings, what: str = "") -> ApiError:
    """Return the error to raise for an answer that is not a chat completion; `what` is the reason, if it is known."""
    why = f" ({what})" if what else ""
    return ApiError(
        f"{settings.base_url} answered, but not with a chat completion{why}: is base_url= the address of an "
        f"OpenAI-compatible API? It says: {_short(text)}"
    )


def error_words(body: object, depth: int = _DEEPEST) -> str:
    """Return the server's words in the body of an error: text, an object, or a list of these; "" if there are none.
    At most `depth` objects and lists in each other are read."""
    if isinstance(body, str):
        return body
    if isinstance(body, list) and depth:
        return "; ".join(filter(None, (error_words(one, depth - 1) for one in body)))
    if not isinstance(body, dict) or not depth:
        return ""
    words = next(filter(None, (error_words(body.get(name), depth - 1) for name in _WORDS)), "")
    if words and isinstance(place := body.get("loc"), list):  # FastAPI names the field apart from its words
        words = f"{'.'.join(map(str, place))}: {words}"
    metadata = body.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f"{words}: {raw}" if words and isinstance(raw, str) else words


def _short(text: str) -> str:
    text = visible(" ".join(text.split()))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
