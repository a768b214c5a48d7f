"""The record file of a lineup, to which a tournament appends matches as they end."""

from __future__ import annotations

import json
from typing import Any

from gymposium.arena.board import Board
from gymposium.arena.schedule import Lineup
from gymposium.records import FORMAT, OrderedWriter


class MatchesFile(OrderedWriter):
    """The record file of one lineup, open for a tournament.

    Opening it removes an incomplete last line, which a killed tournament leaves behind, so that its match is played
    again."""

    def __init__(self, board: Board, lineup: Lineup) -> None:
        numbers = {lineup.match_id(number): number for number in range(lineup.matches)}
        super().__init__(board.matches_file(lineup), numbers, wait=True)  # a killed tournament may still be writing
        self._read()

    @property
    def missing(self) -> list[int]:
        """The numbers of the matches without a result, in order; those that broke off have none."""
        return [number for match_id, number in self._numbers.items() if match_id not in self.finished]

    def _read(self) -> None:
        start, number = 0, -1
        with open(self.path, "rb") as file:
            for line in file:
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
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
