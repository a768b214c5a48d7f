"""A board's results, from what stands in its directory, and the file that they are written to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from gymposium.arena.board import Board
from gymposium.arena.entries import Entry
from gymposium.arena.exact_file import read_exact
from gymposium.arena.ratings.bootstrap import SAMPLES
from gymposium.arena.results.make import Entrant, make_results
from gymposium.arena.results.model import Results, SuiteResult
from gymposium.arena.results.tally import BoardTally
from gymposium.arena.yardsticks import yardsticks_of
from gymposium.errors import BadRecord
from gymposium.records import Problem, Record


def results_of(board: Board, *, samples: int = SAMPLES) -> Results:
    """Everything that follows from a board's suite, entries and records. Equal boards give equal results.

    Raises `BadRecord` where a match is of a game or a player that the board does not have."""
    suite, entries = board.suite, board.entries()
    players, games = [entry.player for entry in entries], [game.name for game in suite.games]
    tally, unreadable = BoardTally(), 0

    def readable() -> Iterator[Record]:
        nonlocal unreadable
        for file, record in board.records():
            if isinstance(record, Problem):
                unreadable += 1
                continue
            if record.game not in games or not set(record.players) <= set(players):
                raise BadRecord(
                    f"{file}: match {record.id} is of {record.game} between {', '.join(record.players)}, which this "
                    f"board does not have."
                )
            yield record

    tally.add(readable())
    measured = {entry.player: read_exact(board, entry) for entry in entries}
    return make_results(
        SuiteResult(name=suite.name, title=suite.title, seed=suite.seed),
        [Entrant(entry.player, entry.label, entry.slug, entry.number) for entry in entries],
        games,
        tally,
        {game.name: yardsticks_of(game.load(), _playing(entries, game.name), measured) for game in suite.games},
        unreadable=unreadable,
        samples=samples,
    )


def _playing(entries: Sequence[Entry], game: str) -> list[str]:
    return [entry.player for entry in entries if game in entry.games]


def results_file(board: Board) -> Path:
    """Where a board's results stand."""
    return board.path / "results.json"


def results_text(results: Results) -> str:
    """As they stand in the file: equal results, equal bytes."""
    return json.dumps(results.model_dump(mode="json"), indent=1, ensure_ascii=True) + "\n"


def write_results(board: Board, results: Results) -> Path:
    """Write them, whole or not at all."""
    path = results_file(board)
    part = path.with_name(f".{path.name}.part")
    part.write_text(results_text(results), encoding="utf-8")
    part.replace(path)
    return path


def read_results(path: Path) -> Results:
    """The results in a file. Raises `BadRecord` where there are none that can be read."""
    try:
        return Results.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadRecord(
            f"{path} cannot be read ({error.strerror}). Make it with:  gymposium leaderboard rate"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise BadRecord(
            f"{path} holds no results: {where}: {first['msg']}. Make it with:  gymposium leaderboard rate"
        ) from error
