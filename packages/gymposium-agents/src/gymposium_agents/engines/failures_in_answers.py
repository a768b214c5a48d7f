"""Failures that a chat service reports inside an answer with status 200.

Gateways such as OpenRouter send the headers before the model answers. A rate limit or a server error is then reported
in the body. It may be an `error` without a finished reply, or a choice whose finish reason is a failure. MiniMax
reports failures in `base_resp`. A body that is empty, truncated or without choices is also a failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from gymposium.util.strict_json import parse_strict_json
from gymposium_agents.engines.api_errors import NOT_AN_ANSWER, extract_error_words

_UNKNOWN = 502
"""Status of a failure without a usable code: the service behind the gateway failed."""
_RATE_LIMITS = (
    *("rate_limit", "rate_limited", "rate_limit_error", "rate_limit_exceeded", "too_many_requests", "throttled"),
    *("resource_exhausted", "insufficient_quota"),
)
_BAD_REQUESTS = (
    *("context_length_exceeded", "content_filter", "invalid_prompt", "data_inspection_failed", "tool_use_failed"),
)
_STATUSES = (
    dict.fromkeys(_RATE_LIMITS, 429)
    | dict.fromkeys(_BAD_REQUESTS, 400)
    | {
        "invalid_request_error": 400,
        "authentication_error": 401,
        "invalid_api_key": 401,
        "permission_error": 403,
        "not_found_error": 404,
    }
)
"""Statuses for the words that services use in `code`, `status` or `type` in place of a number."""
_FAILED = frozenset({"error", "insufficient_system_resource", "abort", "network_error"})
"""Finish reasons of a reply that the server broke off: those of OpenRouter, DeepSeek, vLLM and SGLang, and GLM."""
UNFINISHED = frozenset({"", "none", "null"})
"""Finish reasons of a reply that has not ended."""
_MINIMAX = {1002: 429, 1004: 401, 1008: 402, 1026: 400, 1027: 400, 2013: 400}
"""Statuses for MiniMax's codes: a rate limit, a wrong key, an empty account, filtered messages, a filtered reply and an
invalid request."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def find_failure(body: bytes, find_error: Callable[[Any], Mapping[str, Any] | str | None]) -> tuple[int, bytes] | None:
    """Return the status and body of the failure in an answer with status 200, or None. `find_error` is the dialect's
    (`ApiDialect.find_error`)."""
    if all(not line.strip() or line.startswith(b":") for line in body.splitlines()):
        return _make_failure("an empty answer", body)
    try:
        answer = parse_answer(body)
    except json.JSONDecodeError:
        return _make_failure("an answer that ends too early", body) if _is_truncated(body) else None
    except ValueError:
        return None
    error = find_error(answer)
    if isinstance(error, str):
        return _make_failure(error, body)
    return None if error is None else (_find_status(error), json.dumps({"error": error}).encode())


def parse_answer(body: bytes) -> Any:
    """Parse a JSON answer. Integers of more than 64 bits are allowed, because unused fields may contain them. Raises
    `ValueError` for any other body."""
    return parse_strict_json(body.decode("utf-8"), any_integer=True)


def find_first_choice(answer: Any) -> Any:
    """Return the choice with index 0 in an answer, or the first one without indices, or the only one. None without
    choices."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices:
        return None
    indexes = [one.get("index") if isinstance(one, dict) else None for one in choices]
    if len(choices) == 1 or {*map(str, indexes)} == {"None"}:
        return choices[0]
    return next((one for one, index in zip(choices, indexes) if index == 0), None)


def list_finish_words(choice: Any) -> set[str]:
    """Return a choice's finish reason in lower case, both whole and split at a colon, as in Gemini's `content_filter:
    RECITATION`."""
    reason = str(choice.get("finish_reason") if isinstance(choice, dict) else None).lower()
    return {reason, *map(str.strip, reason.split(":"))}


def _make_failure(what: str, body: bytes) -> tuple[int, bytes]:
    error = {"type": NOT_AN_ANSWER, "message": what, "body": body.decode("utf-8", "replace")}
    return _UNKNOWN, json.dumps({"error": error}).encode()


def _is_truncated(body: bytes) -> bool:
    """Return True if an invalid body is truncated JSON."""
    rest = _STRING.sub(b"", body)
    closed = rest.count(b"}") + rest.count(b"]")
    return body[:1] in (b"{", b"[") and (b'"' in rest or rest.count(b"{") + rest.count(b"[") > closed)


def find_error(answer: Any) -> dict[str, Any] | None:
    """Return the error in a chat completion as an object. An `error` next to a finished reply is ignored, unless the
    choice failed."""
    if not isinstance(answer, dict):
        return None
    choice = find_first_choice(answer)
    error: Any
    if isinstance(choice, dict) and (choice.get("error") or list_finish_words(choice) & _FAILED):
        reason = str(choice.get("finish_reason")).lower()
        error = choice.get("error") or answer.get("error") or f"the reply ended with finish_reason: {reason}"
    elif _has_reply(choice):
        return None
    elif answer.get("object") == "error":
        error = answer
    elif answer.get("error"):
        error = answer["error"]
    elif isinstance(response := answer.get("base_resp"), dict) and response.get("status_code"):
        code = response["status_code"]
        error = {"code": _MINIMAX.get(code) if type(code) is int else None, "message": str(response.get("status_msg"))}
    else:
        return None
    return error if isinstance(error, dict) else {"message": extract_error_words(error) or str(error)}


def _has_reply(choice: Any) -> bool:
    """Return True if a choice has a finished reply: a finish reason, and text or a call."""
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict) or list_finish_words(choice) & UNFINISHED:
        return False
    return any(message.get(name) for name in ("content", "tool_calls", "function_call", "refusal"))


def _find_status(error: Mapping[str, Any]) -> int:
    names = [error.get(name) for name in ("code", "status", "type")]
    for name in names:
        if isinstance(name, int | str) and re.fullmatch("[45][0-9][0-9]", str(name)):
            return int(name)
    return next((_STATUSES[word] for word in map(str.lower, map(str, names)) if word in _STATUSES), _UNKNOWN)
