"""The record file of a lineup, to which a tournament appends matches as they end."""

from __future__ import annotations

from typing import Any

from gymposium.records import FORMAT, OrderedWriter
from gymposium.util.plain_file import plain_lines
from gymposium.util.strict_json import strict_json
from gymposium_arena.board import Board
from gymposium_arena.schedule import Lineup


class MatchesFile(OrderedWriter):
    """The record file of one lineup, open for a tournament.

    Opening it removes an incomplete last line, which a killed tournament leaves behind, so that its match is played
    again."""

    def __init__(self, board: Board, lineup: Lineup) -> None:
        self.numbers = lineup.numbers()
        super().__init__(
            board.matches_file(lineup), self.numbers, wait=True
        )  # a killed tournament may still be writing
        self._read()

    def _read(self) -> None:
        start, number = 0, -1
        for line in plain_lines(self.path):
            match _parsed(line):
                case {"format": format, "id": str(match_id), "ending": {"kind": kind}} if format == FORMAT:
                    if kind != "broke off":
                        self.finished.add(match_id)
                    number = self._numbers.get(match_id, number)
            # any other line stays behind the one before it
            self._note(number, start, len(line))
            start += len(line)


def _parsed(line: bytes) -> Any:
    try:
        return strict_json(line.decode())
    except ValueError:
        return None
