"""Append a tournament's matches to record files, one file per lineup."""

from __future__ import annotations

from typing import Any

from gymposium.errors import BadOption, BadRecord, reason
from gymposium.records import FORMAT, OrderedWriter
from gymposium.util.plain_file import is_compressed, read_lines
from gymposium.util.strict_json import strict_json
from gymposium.util.visible import quantity
from gymposium_arena.board import Board
from gymposium_arena.schedule import Lineup


class MatchesFile(OrderedWriter):
    """A lineup's record file, open for a tournament.

    Opening it removes an incomplete last line, left by a killed tournament."""

    def __init__(self, board: Board, lineup: Lineup) -> None:
        self.numbers = lineup.numbers()
        super().__init__(
            board.matches_file(lineup), self.numbers, wait=True
        )  # a killed tournament may still be writing
        self._read()

    def _read(self) -> None:
        start, number = 0, -1
        for line in read_lines(self.path):
            match_id, finished = _parse_match(line)
            if finished:
                self.finished.add(match_id)
            # an unknown line stays behind the line before it
            number = self._numbers.get(match_id, number)
            self._add_line(number, start, len(line))
            start += len(line)


def check_compressed(board: Board, lineup: Lineup) -> bool:
    """Return whether a lineup's file is compressed. Raises `BadOption` if a compressed file lacks matches, and
    `BadRecord` if it cannot be read."""
    path = board.matches_file(lineup)
    if not is_compressed(path):
        return False
    try:
        finished = {match_id for match_id, finished in map(_parse_match, read_lines(path)) if finished}
    except OSError as error:
        raise BadRecord(f"{path} cannot be read ({reason(error)}).") from error
    if missing := lineup.numbers().count_missing(finished):
        raise BadOption(
            f"{path} is compressed and lacks {missing} of {quantity(lineup.matches, 'match')}. "
            "Unpack it to play them:  "
            f"gunzip {path}"
        )
    return True


def _parse_match(line: bytes) -> tuple[str, bool]:
    """Return a line's match id, and whether the match is finished; an empty id for an invalid line."""
    match _parse_json(line):
        case {"format": format, "id": str(match_id), "ending": {"kind": kind}} if format == FORMAT:
            return match_id, kind != "broke off"
    return "", False


def _parse_json(line: bytes) -> Any:
    try:
        return strict_json(line.decode("utf-8-sig"))
    except ValueError:
        return None
