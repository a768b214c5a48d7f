"""Read and write `exact.json` beside an entry: exact figures of a slow player, such as a language model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from gymposium.errors import BadOption, BadRecord
from gymposium.players.grammar import check_named_player, make_player
from gymposium.players.protocol import DistributionPlayer
from gymposium.util.durable import replace_text
from gymposium.util.json_file import FileModel, read_model
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry
from gymposium_arena.results.model import Measured
from gymposium_arena.yardsticks import measure_player

_FIX = "Measure again, or remove it."


class ExactFile(FileModel):
    """The content of `exact.json`."""

    format: Literal["gymposium-exact-1"] = "gymposium-exact-1"
    player: str
    games: dict[str, Measured]
    """The figures by full name of a small game."""


def exact_path(board: Board, entry: Entry) -> Path:
    """Return the path of an entry's `exact.json`."""
    return board.entry_file(entry.slug).with_name("exact.json")


def read_exact(board: Board, entry: Entry) -> Mapping[str, Measured]:
    """Read a player's figures by game; empty without a file. Raises `BadRecord` if the file is invalid."""
    path = exact_path(board, entry)
    if not path.exists():
        return {}
    content = read_model(path, ExactFile, "exact figures", _FIX)
    if content.player != entry.player:
        raise BadRecord(f"{path} belongs to {content.player}, not to {entry.player}. {_FIX}")
    return content.games


def write_exact(board: Board, entry: Entry) -> Path:
    """Measure a player in all of its small games, write `exact.json`, and return its path.

    Raises `BadOption` if there is nothing to measure."""
    check_named_player(entry.player)
    player = make_player(entry.player)
    if not isinstance(player, DistributionPlayer):
        raise BadOption(f"{entry.player} has no exact figures: it does not give the probabilities of its moves.")
    measured = {
        game.name: measure_player(game.load(), player) for game in board.suite.games if game.name in entry.games
    }
    figures = {name: figure for name, figure in measured.items() if figure is not None}
    if not figures:
        raise BadOption(
            f"{entry.player} has no exact figures: none of its games has two seats and is small enough to traverse."
        )
    path = exact_path(board, entry)
    replace_text(path, ExactFile(player=entry.player, games=figures).model_dump_json(indent=1) + "\n")
    return path
