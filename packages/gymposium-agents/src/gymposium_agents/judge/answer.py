"""Reading what a judge answered: a score for each id, or why there is none. Nothing is guessed and nothing mended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from gymposium.errors import Unrated

CUT_OFF = "the judge's answer was cut off"
NO_JSON = "the judge's answer was not the JSON asked for"
NOT_EACH_ONCE = "the judge did not score each trajectory once"
NO_SCORE = "the judge gave a score that is no number from 0 to 1"

_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
_LONGEST = 200
"""Characters of an answer that are repeated."""


def read_scores(answer: str, ids: Sequence[str]) -> dict[str, float]:
    """The score of each id, in the order of `ids`. Thoughts before the JSON and a code fence around it are passed over.

    Raises `Unrated` where the answer is anything but one score from 0 to 1 for each id."""
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
    text = answer.strip()
    if not text.startswith(("{", "`")):  # or else the tag may be quoted in what is explained
        text = text.partition("</think>")[2].strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1]
    try:
        found = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_number)
    except (ValueError, RecursionError):  # the latter from thousands of nested brackets
        raise Unrated(NO_JSON, f"It says: {_short(answer)}") from None
    entries = found.get("scores") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Unrated(NO_JSON, f"It says: {_short(answer)}")
    return entries


def _without_repeats(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different: of two scores in one, neither is meant."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key} stands there twice")
        found[key] = value
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


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
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
