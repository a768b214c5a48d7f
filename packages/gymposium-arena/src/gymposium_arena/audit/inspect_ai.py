"""Parse inspect_ai samples of matches that gymposium-inspect played.

A sample's store holds the match's record. It must replay, and the sample's metadata, messages and scores must match it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gymposium.errors import BadRecord
from gymposium.records import Record
from gymposium.util.visible import quantity
from gymposium_arena.audit.episode import Episode, fail, get_entry
from gymposium_arena.audit.logged_match import CAUSES, find_causes

NAME = "inspect_ai"
KEY = "gymposium_record"
SCORERS = ("outcome", "report")
"""The names of gymposium-inspect's scorers."""
_ATTACHMENT = "attachment://"


def recognizes(data: Mapping[str, Any]) -> bool:
    """Return whether this is an inspect_ai sample, or a log without samples."""
    return {"id", "epoch", "messages", "store"} <= data.keys() or {"eval", "version"} <= data.keys()


def split_samples(data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the location and data of each sample in a log. If `data` is a single sample, yield an empty location and
    `data`."""
    samples = data.get("samples") if "eval" in data else None
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        yield "", data
        return
    for sample in samples:
        yield f"sample {sample.get('id')} epoch {sample.get('epoch')}", sample


def read(data: Mapping[str, Any], episode: Episode) -> None:
    """Parse and replay a sample into `episode`. Raises `BadLog` at the first mismatch."""
    if "eval" in data:
        fail("the log has no samples")
    episode.id = str(data.get("uuid") or f"{episode.where}: {data.get('id')} epoch {data.get('epoch')}")
    stored = get_entry(data, "store", dict, "the sample").get(KEY)
    scored = any(_get_score(data.get("scores"), scorer) for scorer in SCORERS)
    if stored is None and not scored and (reason := _find_stop_reason(data)):
        episode.unfinished = reason
        return
    record = _parse_record(stored, data)
    episode.agents, episode.game = tuple(record.players), record.game
    if record.ending.broke_off:
        episode.unfinished = record.ending.detail
        return
    episode.record, episode.failures = record, find_causes(record)
    seat = _read_seat(data, record)
    _check_messages(data, record, seat)
    _check_scores(data.get("scores"), record, seat)


def _find_stop_reason(data: Mapping[str, Any]) -> str:
    """Return the reason why Inspect stopped a sample before its match ended, or an empty string."""
    limit = data.get("limit")
    if isinstance(limit, dict):
        return f"Inspect stopped the sample at its {limit.get('type')} limit"
    return "the sample ended with an error" if data.get("error") else ""


def _parse_record(stored: Any, data: Mapping[str, Any]) -> Record:
    if stored is None:
        fail(f"its store has no {KEY}: gymposium-inspect did not finish this sample")
    try:
        return Record.parse(json.dumps(_resolve_attachments(stored, data.get("attachments"))))
    except BadRecord as error:
        fail(f"{KEY}: {error}")


def _resolve_attachments(value: Any, attachments: Any) -> Any:
    """Replace attachment links in a JSON value with their texts from the sample's attachment table."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT) and isinstance(attachments, dict):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolve_attachments(inner, attachments) for inner in value]
    if isinstance(value, dict):
        return {key: _resolve_attachments(inner, attachments) for key, inner in value.items()}
    return value


def _read_seat(data: Mapping[str, Any], record: Record) -> int:
    """Return the model's seat from the sample's metadata. Raises `BadLog` unless the metadata matches the record."""
    metadata = get_entry(data, "metadata", dict, "the sample")
    for key in ("game", "seed", "player_seed", "number"):
        if metadata.get(key) != getattr(record, key):
            fail(f"the metadata has {key} {metadata.get(key)!r}, but the record has {getattr(record, key)!r}")
    seat: int = get_entry(metadata, "seat", int, "the metadata")
    if seat not in range(len(record.players)):
        fail(f"the metadata names seat {seat}, but the match has {quantity(len(record.players), 'seat')}")
    return seat


def _check_messages(data: Mapping[str, Any], record: Record, seat: int) -> None:
    """Check that the model's messages equal its recorded replies. Messages that are not plain text are not compared."""
    messages = [
        _resolve_attachments(message.get("content"), data.get("attachments"))
        for message in get_entry(data, "messages", list, "the sample")
        if isinstance(message, dict) and message.get("role") == "assistant"
    ]
    replied = [turn["text"] for turn in record.turns if turn["seat"] == seat]
    if len(messages) not in (len(replied), len(replied) + (record.ending.kind == "out of context")):
        fail(
            f"the model wrote {quantity(len(messages), 'message')}, but the record has "
            f"{quantity(len(replied), 'reply', 'replies')} of seat {seat}"
        )
    tools = record.prompts[seat]["reader"].startswith("tools")
    for number, (message, reply) in enumerate(zip(messages, replied)):
        if isinstance(message, str) and not tools and message != reply:
            fail(f"the model's message {number} is {message[:80]!r}, but the record has the reply {reply[:80]!r}")


def _check_scores(scores: Any, record: Record, seat: int) -> None:
    """Check the scores of gymposium-inspect's scorers; other scores are ignored."""
    if not isinstance(scores, dict):
        fail("the sample has no scores; score it in Inspect first")
    outcome = scores.get("outcome")
    answer = outcome.get("answer") if isinstance(outcome, dict) else None
    if answer is not None and answer != record.results[seat]:
        fail(f"the outcome score has the answer {answer!r}, but the record gives {record.results[seat]!r}")
    expected = {"outcome": _score_outcome(record, seat), "report": record.reports[seat] if record.reports else {}}
    for scorer, figures in expected.items():
        value = _get_score(scores, scorer)
        for name, figure in figures.items():
            if name in value and value[name] != figure:
                fail(f"the score {scorer}.{name} is {value[name]}, but the record gives {figure}")


def _get_score(scores: Any, scorer: str) -> Mapping[str, Any]:
    """Return a scorer's values for a sample; empty without a score."""
    score = scores.get(scorer) if isinstance(scores, dict) else None
    value = score.get("value") if isinstance(score, dict) else None
    return value if isinstance(value, dict) else {}


def _score_outcome(record: Record, seat: int) -> dict[str, float]:
    """Compute the values of the `outcome` scorer for a seat."""
    cause = find_causes(record).get(record.players[seat]) if record.ending.seat == seat else None
    figures = {"return": record.returns[seat], "forfeit": float(record.ending.seat == seat)}
    figures |= {name: float(record.results[seat] == name) for name in ("win", "draw", "loss")}
    figures |= {f"forfeit_{name.replace(' ', '_')}": float(cause == name) for name in CAUSES}
    readings = [turn["reading"] for turn in record.turns if turn["seat"] == seat]
    return figures | {"failed_replies": float(sum(reading != "move" for reading in readings))}
