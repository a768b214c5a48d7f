"""`exact.json` beside an entry: what traversal says of a player that takes minutes to ask, a language model, say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from gymposium.arena.board import Board
from gymposium.arena.entries import Entry
from gymposium.arena.results.model import Measured
from gymposium.arena.yardsticks import measured_in
from gymposium.errors import BadRecord
from gymposium.players.grammar import check_named_player, make_player

FORMAT: Final = "gymposium-exact-1"


class ExactFile(BaseModel):
    """The file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["gymposium-exact-1"] = FORMAT
    player: str
    games: dict[str, Measured]
    """By full name; games that are too large are left out."""


def exact_path(board: Board, entry: Entry) -> Path:
    """Where it stands."""
    return board.entry_file(entry.slug).with_name("exact.json")


def read_exact(board: Board, entry: Entry) -> Mapping[str, Measured]:
    """What was measured of a player, by game; nothing where there is no file. Raises `BadRecord` for one that cannot be
    read."""
    path = exact_path(board, entry)
    if not path.exists():
        return {}
    try:
        found = ExactFile.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise BadRecord(f"{path} cannot be read: {error.errors()[0]['msg']}. Measure again, or remove it.") from error
    if found.player != entry.player:
        raise BadRecord(f"{path} is of {found.player}, not of {entry.player}. Measure again, or remove it.")
    return found.games


def write_exact(board: Board, entry: Entry) -> Path:
    """Measure a player in all games that it plays and that are small enough, and write what was found."""
    check_named_player(entry.player)
    player = make_player(entry.player)
    found = {game.name: measured_in(game.load(), player) for game in board.suite.games if game.name in entry.games}
    known = {name: figures for name, figures in found.items() if figures is not None}
    path = exact_path(board, entry)
    text = ExactFile(player=entry.player, games=known).model_dump_json(indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    return path
