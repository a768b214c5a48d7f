"""Copies of a board to tamper with."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium_arena.board import Board
from gymposium_arena.schedule import Lineup, make_lineups
from gymposium_arena.verify import BoardVerification, Finding, verify_board


@dataclass
class Copy:
    """A board to tamper with."""

    path: Path

    @property
    def board(self) -> Board:
        return Board(self.path)

    def verify(self, **how: Any) -> BoardVerification:
        """Verify everything, with every search in every match."""
        return verify_board(self.board, **{"sample": 99, "seed": 1, **how})

    def findings(self, **how: Any) -> list[Finding]:
        return self.verify(**how).findings

    def lineup(self, game: str, *players: str) -> Lineup:
        """The lineup of a game with these players, given by the beginnings of their names."""
        planned = make_lineups(self.board.suite, self.board.entries())
        [lineup] = [
            one
            for one in planned
            if one.game.name == game and all(whole.startswith(start) for whole, start in zip(one.players, players))
        ]
        return lineup

    def file(self, game: str, *players: str) -> Path:
        """The match file of that lineup."""
        return self.board.matches_file(self.lineup(game, *players))

    def edit(self, file: Path, change: Callable[[dict[str, Any]], object], line: int = 0) -> None:
        """Change one line of a JSONL file, or a JSON file."""
        if file.suffix == ".json":
            data = json.loads(file.read_text())
            change(data)
            file.write_text(json.dumps(data, indent=1) + "\n")
            return
        lines = file.read_text().splitlines()
        data = json.loads(lines[line])
        change(data)
        lines[line] = json.dumps(data, separators=(",", ":"))
        file.write_text("\n".join(lines) + "\n")

    def lines(self, file: Path, change: Callable[[list[str]], object]) -> None:
        """Change the list of lines of a file."""
        lines = file.read_text().splitlines()
        change(lines)
        file.write_text("".join(f"{line}\n" for line in lines))


def put(*path: Any) -> Callable[[dict[str, Any]], None]:
    """A change that writes the last argument at the path of keys given by the others."""
    *way, last, value = path

    def change(data: Any) -> None:
        for key in way:
            data = data[key]
        data[last] = value

    return change
