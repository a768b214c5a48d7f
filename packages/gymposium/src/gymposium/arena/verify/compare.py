"""A record against the same match played again along it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gymposium.arena.entries import Entry
from gymposium.driver import MatchJob
from gymposium.records import Record, first_difference

_COMPARED = (
    "opening",
    "events",
    "turns",
    "ending",
    "penalties",
    "returns",
    "results",
    "reports",
)


def unplanned(record: Record, job: MatchJob, entries: Mapping[str, Entry]) -> str | None:
    """What in a record is not as the schedule has the match of this id, or None. `entries` are those of its players."""
    if record.game == job.game.name and record.game_version != job.game.spec.version:
        return (
            f"made with version {record.game_version} of {record.game}, and here is version {job.game.spec.version}: "
            f"its rules or rewards are others"
        )
    for name, was, planned in _heads(record, job, entries):
        if was != planned:
            return f"{name} is {was!r}, but the schedule has {planned!r}"
    told = entries[job.players[-1].name].versions
    if record.versions.keys() != told.keys():
        return f"versions are of {', '.join(record.versions)}, but the entry's are of {', '.join(told)}"
    if record.opening > job.opening:
        return f"opening is {record.opening}, but the schedule has {job.opening}"
    return None


def _heads(record: Record, job: MatchJob, entries: Mapping[str, Entry]) -> Iterator[tuple[str, Any, Any]]:
    yield "game", record.game, job.game.name
    yield "players", record.players, [player.name for player in job.players]
    yield "seed", record.seed, job.seed
    yield "player_seed", record.player_seed, job.player_seed
    yield "on_illegal", record.on_illegal, str(job.on_illegal)
    yield "prompts", record.prompts, [_prompt(entries[player.name], job.game.name) for player in job.players]


def _prompt(entry: Entry, game: str) -> dict[str, Any]:
    """As it stands in records."""
    told = entry.prompt
    return {"style": told.style, "reader": told.reader, "version": told.version, "hash": told.digests[game]}


def unequal(record: Record, again: Record) -> str | None:
    """What in a record does not follow from its replies, in words, or None."""
    for name in _COMPARED:
        if (was := _told(record, name)) != (now := _told(again, name)):
            if why := first_difference(record):
                return why
            if name in ("events", "turns") and record.on_illegal == "random":
                return None  # a drawn move: its stream goes on from what the player drew, and that was not asked again
            return f"{name} is {was!r}, but played again it is {now!r}"
    return None


def _told(record: Record, name: str) -> Any:
    """A field without what is measured."""
    if name == "turns":
        return [(turn["seat"], turn["reading"], turn["text"], turn.get("action")) for turn in record.turns]
    return getattr(record, name)
