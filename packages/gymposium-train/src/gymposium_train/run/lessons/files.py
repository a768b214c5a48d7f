"""The files that a cold start imitates: chats, and match records, whose selected turns become chats as in `gymposium
synth`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from gymposium.errors import BadOption
from gymposium.records import Keep, Problem, is_record_file, load_record_game, read_records
from gymposium.util.visible import quantity
from gymposium_agents.players.synth import SynthData, SynthSelection, choose_per
from gymposium_train.config import TrainConfig
from gymposium_train.run.lessons.chats import read_chats, read_line
from gymposium_train.run.lessons.lessons import Lesson


def read_files(config: TrainConfig) -> list[Lesson]:
    """Return all lessons of `cold_start.data`, in order.

    Raises `BadOption` with file and line for an invalid chat or record and for one of a game that the run does not
    learn, for a file without chats, and for records of which no seat is selected. Raises `PermissionRequired` for
    records of a game that the user has not allowed."""
    thinking = config.prompting.thinking
    lessons: list[Lesson] = []
    for file in map(Path, config.cold_start.data):
        lessons += (
            _read_records(file, config)
            if is_record_file(file)
            else read_chats([file], thinking=thinking, games=config.games)
        )
    return lessons


def _read_records(file: Path, config: TrainConfig) -> Iterator[Lesson]:
    """Yield the lessons of the selected seats in a file of match records."""
    wanted, settings = config.cold_start.records, config.prompting.player_settings(0.0)
    keep = Keep.parse(wanted.keep)
    data = SynthData(SynthSelection(settings=settings, keep=keep, per=choose_per(settings, None), by=wanted.player))
    players: dict[str, None] = {}
    for number, record in read_records(file):
        if isinstance(record, Problem):
            raise BadOption(f"{record}. Remove the line.")
        keep.check(load_record_game(record))
        players |= dict.fromkeys(record.players)
        for line in data.add(record):
            yield from read_line(json.dumps(line), f"{file}:{number}", config.prompting.thinking, config.games)
    if wanted.player is not None and wanted.player not in players:
        raise BadOption(f"{file} has no match of {wanted.player}. Its players: {', '.join(players)}.")
    if not data.lines:
        reasons = ", ".join(f"{why} {count}" for why, count in data.left_out.most_common())
        raise BadOption(
            f"{file}: no seat of {quantity(data.matches, 'match')} is imitated ({reasons}). Select other outcomes with "
            f"cold_start.records.keep ({wanted.keep})."
        )
