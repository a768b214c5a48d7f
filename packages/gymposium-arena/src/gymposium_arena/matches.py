"""The record file of a lineup; a tournament appends each finished match."""

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
    """The record file of one lineup, open for a tournament.

    Opening it removes an incomplete last line, left behind by a killed tournament, so that its match is played
    again."""

    def __init__(self, board: Board, lineup: Lineup) -> None:
        self.numbers = lineup.numbers()
        super().__init__(
            board.matches_file(lineup), self.numbers, wait=True
        )  # a killed tournament may still be writing
        self._read()

    def _read(self) -> None:
        start, number = 0, -1
        for line in read_lines(self.path):
            match_id, finished = _match_in(line)
            if finished:
                self.finished.add(match_id)
            # any other line stays, after the one before it
            number = self._numbers.get(match_id, number)
            self._note(number, start, len(line))
            start += len(line)


def check_whole(board: Board, lineup: Lineup) -> bool:
    """Return whether a lineup's file is compressed, so that no match can be missing. Raises `BadOption` if one is, and
    `BadRecord` if the file cannot be read."""
    path = board.matches_file(lineup)
    if not is_compressed(path):
        return False
    try:
        finished = {match_id for match_id, finished in map(_match_in, read_lines(path)) if finished}
    except OSError as error:
        raise BadRecord(f"{path} cannot be read ({reason(error)}).") from error
    if missing := lineup.numbers().count_missing(finished):
        raise BadOption(
            f"{path} is compressed and lacks {missing} of {quantity(lineup.matches, 'match')}. "
            "Unpack it to play them:  "
            f"gunzip {path}"
        )
    return True


def _match_in(line: bytes) -> tuple[str, bool]:
    """Return the id of the match in a line, and whether it is finished; an empty id if there is none."""
    match _parsed(line):
        case {"format": format, "id": str(match_id), "ending": {"kind": kind}} if format == FORMAT:
            return match_id, kind != "broke off"
    return "", False


def _parsed(line: bytes) -> Any:
    try:
        return strict_json(line.decode("utf-8-sig"))
    except ValueError:
        return None
