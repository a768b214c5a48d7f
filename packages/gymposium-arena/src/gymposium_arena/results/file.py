"""Compute a board's results from its files, and read and write `results.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from gymposium.analysis.review import ReviewCache
from gymposium.plugins.command_line import format_command_line
from gymposium.records import Record
from gymposium.util.durable import replace_text
from gymposium.util.json_file import read_model
from gymposium_arena.board import Board
from gymposium_arena.luck import make_luck_correction
from gymposium_arena.ratings.bootstrap import SAMPLES
from gymposium_arena.results.make import make_results
from gymposium_arena.results.model import Results
from gymposium_arena.results.play import GameDecisions
from gymposium_arena.results.tally import BoardReviews, BoardTally
from gymposium_arena.yardsticks import compute_yardsticks, read_exact


def compute_results(board: Board, *, samples: int = SAMPLES) -> Results:
    """Compute a board's results from its suite, entries and records. Equal boards give equal results.

    Raises `BadRecord` for a match of a game or player that is not on the board."""
    entries, tally, unreadable = board.entries(), BoardTally(), 0
    kept = ReviewCache()
    reviews = BoardReviews(kept, {entry.player for entry in entries if entry.fitted_to is not None})
    luck = {
        game.name: make_luck_correction(game.load(), [one.player for one in entries if game.name in one.games])
        for game in board.suite.games
    }
    for file, record in board.records():
        if isinstance(record, Record):
            found = None if record.ending.broke_off else luck[record.game]
            tally.add(record, None if found is None else found.correct(record))
            reviews.add(file, record)
        else:
            unreadable += 1
    decisions = _collect_decisions(board, tally, kept)
    measured = {entry.player: read_exact(board, entry) for entry in entries}
    yardsticks = {
        game.name: compute_yardsticks(game.load(), [one.player for one in entries if game.name in one.games], measured)
        for game in board.suite.games
    }
    lost = {game.name: reviews.find_losses(game.name) for game in board.suite.games}
    return make_results(
        board.suite, entries, tally, yardsticks, lost, luck, decisions, unreadable=unreadable, samples=samples
    )


def _collect_decisions(board: Board, tally: BoardTally, reviews: ReviewCache) -> Mapping[str, GameDecisions]:
    """Return the decisions in games with failed replies, by full name."""
    found = {
        name: GameDecisions(reviews)
        for name, game in tally.games.items()
        if any(p.failures for p in game.players.values())
    }
    for file, record in board.records() if found else ():
        if isinstance(record, Record) and record.game in found and not record.ending.broke_off:
            found[record.game].add(file, record)
    return found


def results_file(board: Board) -> Path:
    """Return the path of a board's results."""
    return board.path / "results.json"


def format_results(results: Results) -> str:
    """Serialize results to JSON; equal results give equal bytes."""
    return json.dumps(results.model_dump(mode="json"), indent=1, ensure_ascii=True) + "\n"


def write_results(board: Board, results: Results) -> Path:
    """Write `results.json` atomically and return its path."""
    path = results_file(board)
    replace_text(path, format_results(results))
    return path


def read_results(path: Path) -> Results:
    """Read results from a file. Raises `BadRecord` if the file is invalid."""
    return read_model(path, Results, "results", f"Make it with:  {rate_command(path.parent)}")


def rate_command(board: Path) -> str:
    """Return the shell command that rates a board."""
    return format_command_line("leaderboard", "rate", str(board))
