"""A record compared with the match that the schedule plans under its id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gymposium.arena.entries import Entry
from gymposium.driver import MatchJob
from gymposium.records import Record


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
    yield "number", record.number, job.number
    yield "seed", record.seed, job.seed
    yield "player_seed", record.player_seed, job.player_seed
    yield "on_illegal", record.on_illegal, str(job.on_illegal)
    yield "prompts", record.prompts, [_prompt(entries[player.name], job.game.name) for player in job.players]


def _prompt(entry: Entry, game: str) -> dict[str, Any]:
    """As it stands in records."""
    told = entry.prompt
    return {"style": told.style, "reader": told.reader, "version": told.version, "hash": told.digests[game]}
