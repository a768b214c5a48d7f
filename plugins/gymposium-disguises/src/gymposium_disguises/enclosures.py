"""Go, told as holding places and enclosing groups."""

from __future__ import annotations

import re

import pyspiel

from gymposium.games.territory.go import Go
from gymposium_disguises.places import BoardDisguise
from gymposium_disguises.speech import Speech, join_words

_WAIT = "wait"


class Enclosures(BoardDisguise):
    """`go` on a board of any size."""

    def __init__(self, speech: Speech, plain: Go, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, plain.names[:-1])
        self._go = plain
        places, (one, other) = self.places, self.sides
        place, token = places.place, places.token
        self.names = [*(places.name[square] for square in self._squares), _WAIT]
        self.move_pattern = re.compile(f"{places.pattern}|{_WAIT}")
        extra = f"{abs(plain.komi):.15g} is added to the count of {other if plain.komi > 0 else one}. "
        self.story = (
            f"{places.naming} {places.beside}\n"
            f"{one} and {other} take turns to put a {token} of their own on a free {place}, or to {_WAIT}. {token}s "
            f"never move, but they can be taken away. {token}s of one side that are joined from neighbour to neighbour "
            f"are a group; the free neighbours of a group are its air. A {token} put on the last air of a group of the "
            f"other takes that whole group away. A {token} after which its own group would have no air is not allowed, "
            f"unless it takes a group away. If a {token} has just taken away exactly one, stands alone, and has no "
            f"other air than the {place} that it emptied, the next move may not be to that {place}. If a move makes "
            f"all {place}s look as they did at any time before, the match ends at once and nobody wins.\n"
            f"The match ends when both {_WAIT}, one after the other, or after {plain.limit} moves in all, with those "
            f"that {_WAIT}. Then each side counts its {token}s, and the free {place}s from which, from free neighbour "
            f"to free neighbour, only its {token}s are met. Nothing is taken away before that. "
            f"{extra if plain.komi else ''}The greater count wins; with equal counts nobody wins. A move is the "
            f"{place}, or {_WAIT}.\n"
        ).replace(f". {token}s", f". {token.capitalize()}s")

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        board: str = state.observation_string(seat)
        size, past = self._go.board_size, state.history()
        rows = [line[3:] for line in board.split("\n")[2 : size + 2]]  # the last row first
        lines = self.list_held("".join(reversed(rows)), "XO")
        names = self.names or ()
        last = f", the last by {self.sides[1 - len(past) % 2]}: {names[past[-1]]}" if past else ""
        lines.append(f"moves made: {len(past)} of {self._go.limit}{last}")
        if again := self._go.find_repetitions(state, board):
            lines.append(f"these bring back how all looked before: {join_words([names[action] for action in again])}")
        return lines
