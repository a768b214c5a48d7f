"""Failures that a chat service reports inside an answer with status 200.

Gateways such as OpenRouter send the headers before the model answers, so a rate limit or a server error can only stand
in the body: as `error` beside empty `choices`, or as a choice whose finish reason is a failure of the server.
MiniMax reports failures in `base_resp`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gymposium.util.strict_json import strict_json

_UNKNOWN = 502
"""Status of a failure without a usable code: the service behind the gateway failed."""
_RATE_LIMITS = frozenset(
    {"rate_limit", "rate_limited", "rate_limit_error", "rate_limit_exceeded", "too_many_requests", "throttled"}
)
"""Words for a rate limit that services put into `code` or `type` in place of 429."""
_FAILED = frozenset({"error", "insufficient_system_resource", "abort", "network_error"})
"""Finish reasons of a reply that the server broke off: OpenRouter's, DeepSeek's, vLLM's and SGLang's, GLM's."""
_SIGNS = tuple(word.encode() for word in ("base_resp", *sorted(_FAILED)))
"""Words of which an answer with a failure holds one; others are not read here."""
_MINIMAX = {1002: 429, 1004: 401, 1008: 402}
"""MiniMax's codes for a rate limit, a wrong key and an empty account, as statuses."""


def find_failure(body: bytes) -> tuple[int, bytes] | None:
    """Return the status and the body that an answer with status 200 should have had, or None unless it is a failure."""
    if not any(sign in body for sign in _SIGNS):
        return None
    try:
        answer = strict_json(body.decode("utf-8"))
    except ValueError:
        return None
    error = _error(answer)
    if error is None:
        return None
    return _status(error), json.dumps({"error": error}).encode()


def first_choice(answer: Any) -> Any:
    """Return the choice with the index 0 in an answer, or the only one; None if there is none."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or len(choices) < 2:
        return choices[0] if isinstance(choices, list) and choices else None
    return next((one for one in choices if isinstance(one, dict) and one.get("index") == 0), None)


def _error(answer: Any) -> dict[str, Any] | None:
    """Return the error in an answer as an object. A message beside an `error` is a reply, unless its choice failed."""
    if not isinstance(answer, dict):
        return None
    choice = first_choice(answer)
    reason = str(choice.get("finish_reason")).lower() if isinstance(choice, dict) else ""
    if isinstance(choice, dict) and (choice.get("error") or reason in _FAILED):
        error = choice.get("error") or answer.get("error") or f"the reply ended with finish_reason: {reason}"
    elif choice is None and answer.get("object") == "error":
        error = answer
    elif choice is None and answer.get("error"):
        error = answer["error"]
    elif choice is None and isinstance(response := answer.get("base_resp"), dict) and response.get("status_code"):
        code = response["status_code"]
        error = {"code": _MINIMAX.get(code) if type(code) is int else None, "message": str(response.get("status_msg"))}
    else:
        return None
    return error if isinstance(error, dict) else {"message": str(error)}


def _status(error: dict[str, Any]) -> int:
    names = [error.get(name) for name in ("code", "status", "type")]
    for name in names:
        if isinstance(name, int | str) and re.fullmatch("[45][0-9][0-9]", str(name)):
            return int(name)
    if any(isinstance(name, str) and name.lower() in _RATE_LIMITS for name in names):
        return 429
    return _UNKNOWN
