"""Errors of chat services, with messages that say what to do."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

from gymposium.errors import GymposiumError
from gymposium.http.responses import BadBody
from gymposium.util.visible import visible
from gymposium_agents.engines.api_settings import ApiSettings, DialectName

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAIError

Kind = Literal["too long", "cut off", "withheld", "tool call", "transient"]
"""What failed: the messages exceed the context; the reply was cut off, withheld by a filter, or an unreadable tool
call; or another attempt may succeed."""
RETRY_COUNT = "x-stainless-retry-count"
"""The library's request header with the number of earlier attempts."""
NOT_AN_ANSWER = "gymposium_not_an_answer"
"""Error type of a body with status 200 that holds no answer. The error's `message` says why, and its `body` is the
text."""

_LONGEST = 300
"""Maximum number of characters that messages quote from the service."""
_DEEPEST = 8
"""Maximum nesting of objects and lists in the search for an error's message."""
_WORDS = ("error", "message", "detail", "msg", "errors")
"""Fields of an error's message, or of the object that holds it. OpenRouter adds the message of the
service behind it as `metadata.raw`."""
_DECIDED = (401, 402, 404, 408, 409, 429)
"""Statuses whose meaning does not depend on the error's message."""
_TRANSIENT_STATUSES = (425, 498, 499)
"""Statuses below 500 that mean a temporary failure: too early, Groq's `capacity_exceeded`, Gemini's `CANCELLED`."""
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size_error|tokens_limit_reached|model_max_prompt_tokens_exceeded|"
    r"context_?window_?exceeded|code=1261\b|"
    r"maximum context length|context length (is|of) only|longer than the model's context length|"
    r"greater than the context length|reached context length of|context size has been exceeded|context window exceeds|"
    r"exceed(s|ed)? (the |your |this )?(model('s)? )?(available |max )?context (size|window|length|limit)|"
    r"(longer|greater) than the maximum model length|too long to fit into the model|must be less than max_seq_len|"
    r"(prompt|input)( is)? too long|exceeds? the maximum number of tokens|maximum prompt length|"
    r"prompt exceeds max length|exceeded model token limit|exceed max message tokens|range of input length should be|"
    r"maximum supported sequence length|tokens in request more than max tokens allowed|"
    r"\b(input|prompt) (length|tokens?( count)?)\b([^.]|\.\d){0,80} (exceeds?|supports up to)\b|"
    r"\bmodel only supports up to \d[\d,]*+(?! (output|completion))|"
    r"inputs`? tokens \+ `?max_new_tokens`? must be|inputs`? must have less than|"
    r"too many tokens(?!,? (please|per))",
    re.IGNORECASE,
)
"""The pattern of errors for messages that are too long: codes of OpenAI, llama.cpp, GitHub, Copilot, LiteLLM and Zhipu,
then phrases of vLLM, SGLang, LM Studio, llama.cpp, MiniMax, Cloudflare, Ollama, Anthropic, Gemini, xAI, Moonshot,
Volcengine, DashScope, SambaNova, Zhipu, TensorRT-LLM, Bedrock, watsonx, TGI and Cohere."""
_CUT_OFF = re.compile(r"could not finish the message because max_tokens", re.IGNORECASE)
_TOOL_CALL = re.compile(
    r"tool_use_failed|but model called a tool|failed to call a function|output_parse_failed|error parsing tool call|"
    r"failed to parse (input at pos|tool call)|does not match the expected \S+ format|"
    r"tokens remaining in message header|while expecting start token",
    re.IGNORECASE,
)
"""The pattern of errors for a reply that a server's tool-call parser cannot read: Groq, Ollama, llama.cpp, vLLM."""
_WITHHELD = re.compile(
    r"content_?filter|content_?policy_?violation|responsible_?ai_?policy_?violation|content management policy|"
    r"invalid_prompt|your (input|prompt|request) was flagged|flagged (by|as|for)|flagged_input|"
    r"data_?inspection_?failed|may contain inappropriate content|considered high risk|code=1301\b|"
    r"unsafe or sensitive content|sensitive_?content_?detected|new_sensitive|content exists risk|"
    r"violates? (our )?usage (guidelines|policy|policies)|"
    r"blocked by (the |our )?(content|guardrail|safety)|prohibited_?content|censorship_?blocked|outputted is blocked",
    re.IGNORECASE,
)
"""The pattern of errors for a prompt or a reply blocked by a filter: Azure, LiteLLM, OpenAI, OpenRouter, DashScope,
Moonshot, Zhipu, Volcengine, MiniMax, DeepSeek, xAI, Anthropic, Bedrock, Gemini and StepFun."""
_TRANSIENT = re.compile(
    r"capacity_exceeded|code=cancelled|the model has crashed|model unloaded|degraded function", re.IGNORECASE
)
_NO_CREDIT = re.compile(
    r"credit balance is too low|doesn't have any credits|used all available credits|balance is insufficient|"
    r"(insufficient|not enough|out of|overdue) (balance|credits?|funds)|"
    r"insufficient_(balance|credits?|funds|user_quota)|余额不足|"
    r"exceeded your current quota.{0,150}platform\.openai\.com|exceeded_current_quota_error|no credits remaining|"
    r"credit_balance_exhausted|billing_(hard_limit_reached|not_active)|arrearage",
    re.IGNORECASE,
)
"""The pattern of errors about an empty account. For OpenAI, `insufficient_quota` is one, but not for DashScope."""
_TOO_LARGE = re.compile(r"request too large", re.IGNORECASE)
"""The pattern of errors about a request that exceeds the tokens per minute on its own."""
_WRONG_KEY = re.compile(
    r"api[_ ]key (is )?(not valid|invalid|expired)|(incorrect|invalid)[_ ](x-)?api[_ -]key|authentication_error",
    re.IGNORECASE,
)
_NOT_SERVED = re.compile(r"no models? loaded|model_decommissioned|has been decommissioned", re.IGNORECASE)
_WRONG_COUNTRY = re.compile(
    r"unsupported_country|\b(country|region|territory|location)\b.{0,60}\b(not|un)[ -]?(supported|available|allowed)",
    re.IGNORECASE,
)
_NAMES_A_FIELD = re.compile(
    r"\b(temperature|seed|max_\w*tokens|extra inputs)\b|"
    r"unknown_parameter|unsupported_(parameter|value)|extra_forbidden",
    re.IGNORECASE,
)
"""The pattern of errors about a field that the user can leave out or rename."""
_SIZED = re.compile(r"temperature|max_?\w*tokens", re.IGNORECASE)
"""The pattern of fields whose values the user chooses, including Gemini's spelling (`maxOutputTokens`)."""
OUT_OF_RANGE = re.compile(
    r"\bbetween\b|\brange\b|\b(less|greater|more|lower|higher|smaller|larger) than|\bat (most|least)\b|\bup to\b|"
    r"\btoo (large|small|high|low|big|long)\b|\bor (less|more|greater|fewer|lower|higher)\b|\bexceed|[<>]=|[≤≥]|"
    r"\b(min|max)(imum)?\b|\bnon-?negative\b|\bpositive\b|\bin [\[(]\s*\d",
    re.IGNORECASE,
)
"""The pattern of errors for a value out of range, which the user must change."""
_WAIT = re.compile(r"\b(?:retry|try again) (?:in|after) (?P<time>(?:\d+(?:\.\d+)? ?[hms][a-z]*\s?)+)", re.IGNORECASE)
"""The pattern of a delay in an error's message: `Please retry in 34.07s`, `try again in 7m12s`, `retry after 26
seconds`."""
_PART = re.compile(r"(\d+(?:\.\d+)?) ?(ms|h|m|s)", re.IGNORECASE)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_LONGEST_PAUSE = 30
"""Maximum number of seconds before a retry if the service states no delay."""


_ANSWERS: dict[DialectName, tuple[str, str]] = {
    "chat": ("a chat completion", "an OpenAI-compatible API"),
    "messages": ("a message", "an API with Anthropic's /messages"),
    "responses": ("a response", "an API with OpenAI's /responses"),
}
"""What each dialect answers with, and the services that speak it."""


class ApiError(GymposiumError):
    """Error for a chat service that did not answer. The message says what to do; the library's exception is not chained
    to it."""


class PromptTooLong(ApiError):
    """Error for messages that leave no space for the reply in the model's context."""


def explain_error(error: OpenAIError, settings: ApiSettings) -> ApiError:
    """Return the error to raise for the exception that the library raised after its retries."""
    import openai

    where, tries = settings.base_url, settings.retries + 1
    if isinstance(error, openai.APITimeoutError):
        return ApiError(
            f"{where} did not answer within {settings.timeout:g} s (attempts: {tries}). Raise timeout=, or lower "
            f"max_tokens= or at_once=."
        )
    if isinstance(error, openai.APIConnectionError) and isinstance(error.__cause__, BadBody):
        return ApiError(
            f"The answer from {where} cannot be read (attempts: {tries}): {error.__cause__}. Check base_url=, or try "
            "later."
        )
    if isinstance(error, openai.APIConnectionError):
        return ApiError(
            f"{where} cannot be reached ({_shorten(str(error.__cause__ or error))}; attempts: {tries}). Check that "
            f"the server is running and that base_url= is its address."
        )
    if not isinstance(error, openai.APIStatusError):
        return ApiError(f"Cannot send a request to {where}: {_shorten(str(error)).rstrip('.')}. Check base_url=.")
    return _explain_status(error, settings)


def _explain_status(error: APIStatusError, settings: ApiSettings) -> ApiError:
    where, status = settings.base_url, error.status_code
    said = _shorten(extract_error_words(error.body) or error.message)
    text = _extract_searchable_text(error.response.content)
    kind = find_kind(status, error.response.content)
    attempts = f"attempts: {_count_attempts(error)}{_explain_few_retries(error, settings)}"
    if kind == "too long":
        return PromptTooLong(f"The messages and max_tokens do not fit into the context of {settings.model}: {said}")
    if error.type == NOT_AN_ANSWER and isinstance(error.body, dict):
        shown = _shorten(str(error.body.get("body"))) or "nothing"
        return ApiError(f"{where} returned {said} ({attempts}): try later, or see its log. It says: {shown}")
    if 300 <= status < 400:
        return ApiError(
            f"{where} redirects requests to another address ({status}). Keys are not sent there. Set base_url= to that "
            "address."
        )
    if kind == "transient" or status >= 500:
        return ApiError(f"{where} failed ({status}; {attempts}): try later, or see its log. It says: {said}")
    if status == 402 or _NO_CREDIT.search(text):
        return ApiError(f"{where} requires payment ({status}): add credit to the key's account. It says: {said}")
    if status == 413 or (status == 429 and _TOO_LARGE.search(text)):
        return ApiError(
            f"{where} refuses the request as too large ({status}): lower max_tokens=, which counts as well, or send "
            f"less with context=state. It says: {said}"
        )
    if status == 429:
        return ApiError(
            f"{where} refuses the request for rate limits or quota (429; {attempts}): lower rpm= or at_once=, or raise "
            f"the key's quota. It says: {said}"
        )
    if status == 401 or (status == 403 and not _WRONG_COUNTRY.search(text)) or _WRONG_KEY.search(text):
        key = "it requires a key; name the environment variable that holds one with key=NAME."
        if settings.variables:
            names = " or ".join(settings.variables)
            key = f"the environment variable {names} must hold a key of that service that may use {settings.model}."
        return ApiError(f"{where} refuses the request ({status}): {key} It says: {said}")
    if _NOT_SERVED.search(text):
        return ApiError(
            f"{where} does not serve {settings.model!r} ({status}): load it on the server, or name another model. "
            f"It says: {said}"
        )
    if status in (404, 405):
        return ApiError(
            f"{where} has no model called {settings.model!r}, or no chat at that address ({status}): check the model's "
            f"name and base_url=. It says: {said}"
        )
    if (field := _SIZED.search(text)) and OUT_OF_RANGE.search(text):
        option = "temperature=" if field[0].lower() == "temperature" else "max_tokens="
        return ApiError(
            f"{where} refuses the request ({status}): set {option} to a value that it accepts. It says: {said}"
        )
    if _NAMES_A_FIELD.search(text):
        hint = (
            "a field that the service does not know can be left out with seed=false or temperature=default, and "
            "limit= names the field for max_tokens"
        )
        return ApiError(f"{where} refuses the request ({status}); {hint}. It says: {said}")
    return ApiError(f"{where} refuses the request ({status}). It says: {said}")


def find_kind(status: int, content: bytes) -> Kind | None:
    """Return the kind of error that the body indicates, or None if only the status does."""
    if status < 400 or status in _DECIDED:
        return None
    text = _extract_searchable_text(content)
    if status != 403 and _TOO_LONG.search(text):
        return "too long"
    if _TOOL_CALL.search(text):
        return "tool call"
    if status >= 500:
        return None
    if _WITHHELD.search(text):
        return "withheld"
    if status in _TRANSIENT_STATUSES or _TRANSIENT.search(text):
        return "transient"
    return "cut off" if _CUT_OFF.search(text) else None


def make_rate_limit_headers(content: bytes, attempt: int) -> dict[str, str]:
    """Make the retry headers for a 429 that has none. `attempt` counts from 0.

    Without credit, or if the request alone exceeds the limit, there is no retry. Otherwise the delay is taken from the
    service's message. By default, six retries take a minute in total, because most services limit requests per
    minute."""
    text = _extract_searchable_text(content)
    if _NO_CREDIT.search(text) or _TOO_LARGE.search(text):
        return {"x-should-retry": "false"}
    if (named := _WAIT.search(text)) is None:
        return {"retry-after": str(min(2**attempt, _LONGEST_PAUSE))}
    return {"retry-after": str(sum(float(part[1]) * _UNITS[part[2].lower()] for part in _PART.finditer(named["time"])))}


def _extract_searchable_text(content: bytes) -> str:
    """Return the text of an error body to search: codes and types as `code=X`, and the message."""
    text = content.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return " ".join([*(f"code={name}" for name in _list_codes(body, _DEEPEST)), extract_error_words(body)])


def _list_codes(body: object, depth: int) -> list[str]:
    if isinstance(body, list) and depth:
        return [name for one in body for name in _list_codes(one, depth - 1)]
    if not isinstance(body, dict) or not depth:
        return []
    own = [str(body[name]) for name in ("code", "type", "status") if isinstance(body.get(name), int | str)]
    return own + [name for inner in (*_WORDS, "innererror") for name in _list_codes(body.get(inner), depth - 1)]


def _count_attempts(error: APIStatusError) -> int:
    """Return how many times the failed request was sent."""
    count = error.response.request.headers.get(RETRY_COUNT, "0")
    return int(count) + 1 if count.isdecimal() else 1


def _explain_few_retries(error: APIStatusError, settings: ApiSettings) -> str:
    """Return the reason why the library stopped retrying early, or "" if it made all retries."""
    if _count_attempts(error) > settings.retries:
        return ""
    wait = read_retry_delay(error.response.headers)
    if wait is not None:
        return f"; the service asks to wait {wait:g} s before the next"
    return "; the service asks for no retry" if error.response.headers.get("x-should-retry") == "false" else ""


def read_retry_delay(headers: Mapping[str, str]) -> float | None:
    """Return the delay in seconds that a service asks for, or None."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        return seconds if math.isfinite(seconds) else None
    try:
        return max(0.0, round(parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time()))
    except (KeyError, ValueError):
        return None


def make_malformed_error(text: str, settings: ApiSettings, what: str = "") -> ApiError:
    """Make the error for an answer without a reply in the dialect. `what` is the reason, if known."""
    why = f" ({what})" if what else ""
    answer, service = _ANSWERS[settings.dialect]
    return ApiError(
        f"{settings.base_url} did not return {answer}{why}. Set base_url= to {service}. Response: {_shorten(text)}"
    )


def extract_error_words(body: object, depth: int = _DEEPEST) -> str:
    """Return the server's message in an error body (text, an object, or a list of these), or "" without a message.
    Reads at most `depth` nested objects and lists."""
    if isinstance(body, str):
        return body
    if isinstance(body, list) and depth:
        return "; ".join(filter(None, (extract_error_words(one, depth - 1) for one in body)))
    if not isinstance(body, dict) or not depth:
        return ""
    words = next(filter(None, (extract_error_words(body.get(name), depth - 1) for name in _WORDS)), "")
    if words and isinstance(place := body.get("loc"), list):  # FastAPI names the field apart from its words
        words = f"{'.'.join(map(str, place))}: {words}"
    metadata = body.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f"{words}: {raw}" if words and isinstance(raw, str) else words


def _shorten(text: str) -> str:
    text = visible(" ".join(text.split()))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
