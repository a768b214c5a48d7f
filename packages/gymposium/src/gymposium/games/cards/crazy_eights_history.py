"""Public history of a crazy eights hand, derived from the engine's history.

The engine's view shows a hand, the top card and each player's card count. It omits other public facts: the stock, the
cards that may still be drawn, and the cards played.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

CARDS = [f"{rank}{suit}" for rank in "23456789TJQKA" for suit in "cdhs"]
SUITS = ("clubs", "diamonds", "hearts", "spades")
DRAW, PASS, NAME = 52, 53, 54
"""Engine actions. Lower numbers are cards, and NAME is the first suit."""
DEALER = 52
"""Offset of the first chance outcome, which is this plus the dealer's number."""
_TWO, _EIGHT, _QUEEN, _ACE = 0, 6, 10, 12


class HandRules:
    """Parameters of a hand."""

    def __init__(self, players: int, specials: bool, reshuffle: bool) -> None:
        self.players, self.specials, self.reshuffle = players, specials, reshuffle
        self.hands = players * (7 if players == 2 else 5)
        """Number of cards dealt to all hands. In the history, they follow the choice of dealer."""

    def find_first_card(self, history: Sequence[int]) -> int:
        """Return the history index of the pile's first card. Eights that were turned up and put back may precede it."""
        index = 1 + self.hands
        while history[index] // 4 == _EIGHT:
            index += 1
        return index


class CrazyEightsHistory:
    """The public state of a hand, derived from its history."""

    __slots__ = (
        "direction",
        "drawn",
        "due",
        "held",
        "is_drawing",
        "is_naming",
        "log",
        "reshuffles",
        "rules",
        "seat",
        "stock",
    )

    def __init__(self, rules: HandRules, history: Sequence[int]) -> None:
        first = rules.find_first_card(history)
        self.rules = rules
        self.seat = history[0] - DEALER
        """Seat to act."""
        self.direction = 1
        """1 if turns go up by seat number, -1 if they go down."""
        self.held = rules.hands
        self.stock, self.reshuffles = len(CARDS) - rules.hands - 1, 0
        """Number of cards in the stock, and number of reshuffles."""
        self.due = self.drawn = 0
        """Number of cards to draw because of twos, and number of cards drawn this turn."""
        self.is_drawing = self.is_naming = False
        """Whether a card is about to be drawn, and whether a suit must be named."""
        up = " ".join([CARDS[card] for card in history[1 + rules.hands : first + 1]])
        self.log = f"P{self.seat} turns up {up}"
        """All public events: `P0 turns up 7c, P1 +2 8c hearts, P0 7h, P1 +5 pass`."""
        self._apply_effects(history[first])  # counts as played by the dealer

    def copy(self) -> CrazyEightsHistory:
        return copy(self)

    def advance(self, item: int) -> None:
        """Apply the next entry of the history."""
        if self.is_drawing:
            self.held, self.drawn, self.stock = self.held + 1, self.drawn + 1, self.stock - 1
            self._reshuffle_if_empty()
            if not self.due:
                self.is_drawing = False
                return
            self.due = self.due - 1 if self.stock else 0
            if not self.due:
                self.is_drawing = False
                self._log("")
                self._pass_turn()
        elif item == DRAW:
            self.is_drawing = True
        elif item == PASS:
            self._log(" pass")
            self._pass_turn()
        elif item >= NAME:
            self.is_naming = False
            self.log += f" {SUITS[item - NAME]}"
            self._pass_turn()
        else:
            self.held -= 1
            self._reshuffle_if_empty()
            self._log(f" {CARDS[item]}")
            if item // 4 == _EIGHT:
                self.is_naming = True
            else:
                self._apply_effects(item)

    def _log(self, what: str) -> None:
        drew = f" +{self.drawn}" if self.drawn else ""
        self.log += f", P{self.seat}{drew}{what}"
        self.drawn = 0

    def _reshuffle_if_empty(self) -> None:
        if self.rules.reshuffle and not self.stock:
            self.stock = len(CARDS) - self.held - 1
            self.reshuffles += 1

    def _apply_effects(self, card: int) -> None:
        """Apply a card's effects and advance the turn."""
        rank = card // 4
        if self.rules.specials:
            if rank == _QUEEN:
                self._pass_turn()
            elif rank == _ACE:
                self.direction = -self.direction
            elif rank == _TWO and self.stock:
                self.due += 2
        self._pass_turn()

    def _pass_turn(self) -> None:
        self.seat = (self.seat + self.direction) % self.rules.players


def start_history(rules: HandRules, history: Sequence[int]) -> tuple[CrazyEightsHistory, int]:
    """Return the hand with the first card on the pile, and the number of history entries up to that point."""
    return CrazyEightsHistory(rules, history), rules.find_first_card(history) + 1


def iterate_history(rules: HandRules, history: Sequence[int]) -> Iterator[tuple[int, int, CrazyEightsHistory]]:
    """Yield the index and value of each entry after the first pile card, with the hand before it."""
    hand, done = start_history(rules, history)
    for index in range(done, len(history)):
        yield index, history[index], hand
        hand.advance(history[index])
