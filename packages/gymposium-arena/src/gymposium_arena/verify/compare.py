"""Compare a record with its scheduled match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymposium.match import MatchJob
from gymposium.records import Record
from gymposium_arena.entries import Entry


def find_difference(record: Record, job: MatchJob, entries: Mapping[str, Entry]) -> str | None:
    """Return the first difference between a record and its scheduled match, or None. `entries` is by player."""
    game = job.game.name
    if record.game == game and record.game_version != job.game.spec.version:
        return (
            f"made with version {record.game_version} of {record.game}, but here it has version "
            f"{job.game.spec.version}: its rules or rewards differ"
        )
    prompts = [_make_prompt(entries[player.name], game) for player in job.players]
    heads = {
        "game": (record.game, game),
        "players": (record.players, [player.name for player in job.players]),
        "number": (record.number, job.number),
        "seed": (record.seed, job.seed),
        "player_seed": (record.player_seed, job.player_seed),
        "on_illegal": (record.on_illegal, str(job.on_illegal)),
        "prompts": (record.prompts, prompts),
    }
    for name, (recorded, planned) in heads.items():
        if recorded != planned:
            return f"{name} is {recorded!r}, but the schedule has {planned!r}"
    versions = entries[job.players[-1].name].versions
    if record.versions.keys() != versions.keys():
        return f"the record has versions of {', '.join(record.versions)}, but the entry of {', '.join(versions)}"
    if record.opening > job.opening:
        return f"opening is {record.opening}, but the schedule has {job.opening}"
    return None


def _make_prompt(entry: Entry, game: str) -> dict[str, Any]:
    """Return an entry's prompt in the form of records."""
    prompt = entry.prompt
    return {"style": prompt.style, "reader": prompt.reader, "version": prompt.version, "hash": prompt.digests.get(game)}
