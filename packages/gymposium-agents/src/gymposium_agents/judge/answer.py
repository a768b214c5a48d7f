"""Reading what a judge answered: a score for each id, or why there is none. Nothing is guessed and nothing mended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gymposium.errors import Unrated
from gymposium.reading import MAX_REPLY
from gymposium.strict_json import strict_json

CUT_OFF = "the judge's answer was cut off"
NO_JSON = "the judge's answer was not the JSON asked for"
NOT_EACH_ONCE = "the judge did not score each trajectory once"
NO_SCORE = "the judge gave a score that is no number from 0 to 1"

_FENCE = "```"
_LONGEST = 200
"""Characters of an answer that are repeated."""


def read_scores(answer: str, ids: Sequence[str]) -> dict[str, float]:
    """The score of each id, in the order of `ids`. Thoughts before the JSON and a code fence around it are passed over.

    Raises `Unrated` where the answer is anything but one score from 0 to 1 for each id, or has more than `MAX_REPLY`
    characters."""
    given = [(_id(entry), entry.get("score")) for entry in _entries(answer)]
    names = [name for name, _ in given]
    if len(given) != len(ids):
        raise Unrated(NOT_EACH_ONCE, f"It gave {len(given)} scores for {len(ids)} trajectories.")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Unrated(NOT_EACH_ONCE, f"It gave several scores for {', '.join(map(_short, twice))}.")
    if unknown := sorted({*names} - {*ids}):
        raise Unrated(NOT_EACH_ONCE, f"There is none called {', '.join(map(_short, unknown))}.")
    scores = {name: _score(name, score) for name, score in given}
    return {name: scores[name] for name in ids}


def _entries(answer: str) -> list[dict[str, Any]]:
    if len(answer) > MAX_REPLY:
        raise Unrated(NO_JSON, f"It has {len(answer):,} characters; at most {MAX_REPLY:,} are read.")
    text = answer.strip()
    if not text.startswith(("{", "`")):  # or else the tag may be quoted in what is explained
        text = text.partition("</think>")[2].strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE) and len(text) >= 2 * len(_FENCE):
        text = text[len(_FENCE) : -len(_FENCE)].removeprefix("json").strip()
    try:
        found = strict_json(text)
    except ValueError:
        raise Unrated(NO_JSON, f"It says: {_short(answer)}") from None
    entries = found.get("scores") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Unrated(NO_JSON, f"It says: {_short(answer)}")
    return entries


def _id(entry: dict[str, Any]) -> str:
    """The id that an entry names: a text, or the whole number that it looks like."""
    name = entry.get("id")
    if not isinstance(name, str) and type(name) is not int:
        raise Unrated(NOT_EACH_ONCE, f"One has the id {_short(json.dumps(name))}.")
    return str(name)


def _score(name: str, score: object) -> float:
    if type(score) not in (int, float) or not 0.0 <= score <= 1.0:  # type: ignore[operator]
        raise Unrated(NO_SCORE, f"It gave {_short(json.dumps(score))} for {name}.")
    return float(score)  # type: ignore[arg-type]


def _short(text: str) -> str:
    text = " ".join(text.encode("utf-8", "backslashreplace").decode("utf-8").split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
