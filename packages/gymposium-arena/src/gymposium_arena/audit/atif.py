"""Parse trajectories in ATIF, the Agent Trajectory Interchange Format, that `gymposium export` wrote.

A document holds one seat's steps, and the match's record. The record is replayed, and the steps, tools and metrics must
be those of the replay. Keys that `gymposium export` did not write are not compared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gymposium.records import Record
from gymposium.records.conversation import list_conversations
from gymposium.runs.exports.atif import RECORD, make_trajectory
from gymposium_arena.audit.episode import Episode, fail, get_entry
from gymposium_arena.audit.logged_match import find_causes

NAME = "atif"
_TOKENS = ("prompt_token_ids", "completion_token_ids", "logprobs")


def recognizes(data: Mapping[str, Any]) -> bool:
    """Return whether this is a trajectory in any version of the format."""
    return str(data.get("schema_version")).startswith("ATIF-")


def read(data: Mapping[str, Any], episode: Episode) -> None:
    """Parse and replay a trajectory into `episode`. Raises `BadLog` at the first mismatch."""
    about = data.get("extra")
    if not isinstance(about, dict) or RECORD not in about:
        fail("it has no match record (extra.gymposium), so it cannot be replayed: gymposium export did not write it")
    place = f"extra.{RECORD}"
    record = Record.parse(json.dumps(get_entry(about[RECORD], "record", dict, place)))
    seat = get_entry(about[RECORD], "seat", int, place)
    episode.game, episode.agents = record.game, tuple(record.players)
    if seat not in range(len(record.players)):
        fail(f"{place}.seat is {seat}, but the match has {len(record.players)} seats")
    episode.id, episode.seats = record.id, (seat,)
    expected = make_trajectory(record, seat, list_conversations(record)[seat])
    del expected["schema_version"]  # a later version of the format has the same keys
    if difference := _find_difference(json.loads(json.dumps(expected)), data, ""):
        fail(difference)
    for step in data["steps"]:
        _check_tokens(step)
    if record.ending.broke_off:
        episode.unfinished = record.ending.describe()
    else:
        episode.record, episode.failures = record, find_causes(record)


def _find_difference(expected: Any, found: Any, place: str) -> str | None:
    """Return the first place where `found` lacks a value of `expected`, or None. Other keys in `found` are ignored."""
    if isinstance(expected, dict) and isinstance(found, dict):
        pairs = [(expected[key], found.get(key), f"{place}.{key}".lstrip(".")) for key in expected]
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = [(*pair, f"{place}[{number}]") for number, pair in enumerate(zip(expected, found, strict=True))]
    elif expected == found and isinstance(expected, bool) == isinstance(found, bool):
        return None
    else:
        return f"{place} is {_shorten(found)}, but the replay gives {_shorten(expected)}"
    return next(filter(None, (_find_difference(*pair) for pair in pairs)), None)


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _check_tokens(step: Mapping[str, Any]) -> None:
    """Raise `BadLog` unless a step's log-probabilities and counts belong to its tokens."""
    metrics = step.get("metrics") or {}
    if not any(name in metrics for name in _TOKENS):
        return
    prompt, completion, logprobs = (get_entry(metrics, name, list, "metrics") for name in _TOKENS)
    counts = (len(prompt), len(completion), len(completion))
    found = (metrics.get("prompt_tokens"), metrics.get("completion_tokens"), len(logprobs))
    if counts != found:
        fail(f"step {step['step_id']}: the counts of tokens and log-probabilities are {found}, not {counts}")
