"""Public history of a hanabi match, derived from the engine's history.

The engine's view shows what hints revealed about each card, but not who gave them or when.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

COLORS = ("red", "yellow", "green", "white", "blue")


class Deck:
    """A deck in the engine's order: by color, then by number."""

    def __init__(self, players: int, colors: int, ranks: int, hand_size: int) -> None:
        self.players, self.colors, self.ranks = players, colors, ranks
        self.hand_size = hand_size
        self.copies = [3, *[2] * (ranks - 2), 1][:ranks]
        """Number of copies of each rank, from 1 up."""
        self.size = colors * sum(self.copies)
        self.names = [f"{color[0].upper()}{rank + 1}" for color in COLORS[:colors] for rank in range(ranks)]
        self.kinds = [*COLORS[:colors], *map(str, range(1, ranks + 1))]
        """Colors and ranks that a hint may name."""

    def moves(self, seat: int) -> list[str]:
        """Return the names of a seat's actions. The engine numbers the other seats relative to this one."""
        places = [f"{what} {i + 1}" for what in ("discard", "play") for i in range(self.hand_size)]
        others = [f"hint P{(seat + i) % self.players} " for i in range(1, self.players)]
        colors, numbers = self.kinds[: self.colors], self.kinds[self.colors :]
        return [*places, *(other + kind for kinds in (colors, numbers) for other in others for kind in kinds)]


class HanabiHistory:
    """A match's state, derived from its history."""

    __slots__ = ("deck", "hands", "left", "log", "moves", "seat", "stacks", "turns_left")

    def __init__(self, deck: Deck, moves: Sequence[Sequence[str]]) -> None:
        self.deck, self.moves = deck, moves
        self.hands: list[list[int]] = [[] for _ in range(deck.players)]
        """Cards in each hand. A seat must not see its own."""
        self.left = deck.size
        self.stacks = [0] * deck.colors
        self.seat = 0
        """Seat to move."""
        self.turns_left: int | None = None
        """Number of turns left once the deck is empty."""
        self.log = ""
        """The turns so far: `P0 hint P1 red (1 4), P1 play 1 R1, P0 play 3 G4 x`."""

    def copy(self) -> HanabiHistory:
        new = copy(self)
        new.hands, new.stacks = [hand.copy() for hand in self.hands], self.stacks.copy()
        return new

    def find_drawing_seat(self) -> int | None:
        """Return the seat that must draw a card now, or None."""
        if self.left:
            for seat, hand in enumerate(self.hands):
                if len(hand) < self.deck.hand_size:
                    return seat
        return None

    def advance(self, item: int) -> None:
        """Apply the next history entry: a dealt card or a move."""
        to = self.find_drawing_seat()
        if to is not None:
            self.hands[to].append(item)
            self.left -= 1
            if not self.left:
                self.turns_left = self.deck.players
            return
        name = self.moves[self.seat][item]
        what, where, *kind = name.split()
        if kind:
            self._log(f"{name} ({' '.join(map(str, self.find_hinted(int(where[1:]), kind[0])))})")
        else:
            card = self.hands[self.seat].pop(int(where) - 1)
            fits = False
            if what == "play":
                color, rank = divmod(card, self.deck.ranks)
                fits = self.stacks[color] == rank
                self.stacks[color] += fits
            self._log(f"{name} {self.deck.names[card]}{'' if fits or what == 'discard' else ' x'}")
        self.seat = (self.seat + 1) % self.deck.players
        if self.turns_left is not None:
            self.turns_left -= 1

    def find_hinted(self, seat: int, kind: str) -> list[int]:
        """Return the positions in a hand that a hint names."""
        names = self.deck.names
        return [i for i, card in enumerate(self.hands[seat], start=1) if kind[0].upper() in names[card]]

    def _log(self, what: str) -> None:
        self.log += f"{', ' if self.log else ''}P{self.seat} {what}"
