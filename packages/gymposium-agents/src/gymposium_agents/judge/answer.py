"""Strict reader of a judge's answer: a score for each id, or the reason why there are no scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gymposium.errors import UnratedGroup
from gymposium.replies.delimiters import strip_turn_tokens
from gymposium.replies.reading import MAX_REPLY
from gymposium.replies.thoughts import remove_thoughts
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import quantity

CUT_OFF = "the judge's answer was cut off"
NO_JSON = "the judge's answer was not the JSON asked for"
NOT_EACH_ONCE = "the judge did not score each trajectory once"
NO_SCORE = "the judge gave a score that is no number from 0 to 1"

_FENCE = "```"
_LONGEST = 200
"""Maximum number of characters that a message quotes from an answer."""


def read_scores(answer: str, ids: Sequence[str]) -> dict[str, float]:
    """Return the score of each id, in the order of `ids`. Thoughts before the JSON and a code fence around it are
    ignored.

    Raises `UnratedGroup` if the answer is anything but one score from 0 to 1 for each id, or has more than `MAX_REPLY`
    characters."""
    entries = [(_read_id(entry), entry.get("score")) for entry in _parse_entries(answer)]
    names = [name for name, _ in entries]
    if len(names) != len(ids):
        raise UnratedGroup(
            NOT_EACH_ONCE,
            f"It gave {quantity(len(names), 'score')} for {quantity(len(ids), 'trajectory', 'trajectories')}.",
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UnratedGroup(NOT_EACH_ONCE, f"It gave several scores for {', '.join(map(_shorten, twice))}.")
    if unknown := sorted({*names} - {*ids}):
        raise UnratedGroup(NOT_EACH_ONCE, f"Unknown ids: {', '.join(map(_shorten, unknown))}.")
    scores = {name: _read_score(name, score) for name, score in entries}
    return {name: scores[name] for name in ids}


def _parse_entries(answer: str) -> list[dict[str, Any]]:
    """Return the list under `scores`. Raises `UnratedGroup` if the answer is too long or has no such list."""
    if len(answer) > MAX_REPLY:
        raise UnratedGroup(NO_JSON, f"It has {len(answer):,} characters; at most {MAX_REPLY:,} are read.")
    texts = [strip_turn_tokens(answer)]
    if not texts[0].startswith(("{", "`")):  # an answer that begins with JSON may quote delimiters in an explanation
        texts = [texts[0].partition("</think>")[2], strip_turn_tokens(remove_thoughts(texts[0]))]
    data = next((data for text in texts if (data := _parse_json(text)) is not None), None)
    entries = data.get("scores") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UnratedGroup(NO_JSON, f"It says: {_shorten(answer)}")
    return entries


def _parse_json(text: str) -> Any:
    """Parse a JSON text, without a code fence around it. Returns None for other text."""
    text = text.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE) and len(text) >= 2 * len(_FENCE):
        text = text[len(_FENCE) : -len(_FENCE)].removeprefix("json").strip()
    try:
        return parse_strict_json(text)
    except ValueError:
        return None


def _read_id(entry: dict[str, Any]) -> str:
    """Return an entry's id, which may be text or an integer."""
    name = entry.get("id")
    if not isinstance(name, str) and type(name) is not int:
        raise UnratedGroup(NOT_EACH_ONCE, f"One has the id {_shorten(json.dumps(name))}.")
    return str(name)


def _read_score(name: str, score: object) -> float:
    if type(score) not in (int, float) or not 0.0 <= score <= 1.0:  # type: ignore[operator]
        raise UnratedGroup(NO_SCORE, f"It gave {_shorten(json.dumps(score))} for {name}.")
    return float(score)  # type: ignore[arg-type]


def _shorten(text: str) -> str:
    """Return the beginning of a text, on one line, without lone surrogates."""
    text = " ".join(text.encode("utf-8", "backslashreplace").decode("utf-8").split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
