"""Liar's dice, told as claims about drawn tickets."""

from __future__ import annotations

import re

import pyspiel

from gymposium.games.dice.liars_dice import LiarsDice
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import Speech, join_words

_DOUBT = "doubt"
_HIGHER = {
    "reset-face": "either more tickets, of any kind, or as many of a later kind",
    "reset-quantity": "either a later kind, with any number of tickets, or more tickets of the same kind",
}


class Claims(Disguise):
    """The disguise of `liars_dice`."""

    def __init__(self, speech: Speech, plain: LiarsDice, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        self._kinds = kinds = speech.draw_animals(plain.dice_sides)
        self.names = [self._format_claim(bid) for bid in plain.names[:-1]] + [_DOUBT]
        self.move_pattern = re.compile(rf"\d+ (?:{'|'.join(kinds)})|{_DOUBT}")
        (one, other), each, last = self.sides, plain.numdice, kinds[-1]
        tickets = "one ticket" if each == 1 else f"{each} tickets"
        self.story = (
            f"There are tickets of {len(kinds)} kinds, in this order: {join_words(kinds)}. {one} and {other} "
            f"have drawn "
            f"{tickets} each, every kind being equally likely, which the other does not see. They take turns to make a "
            f"claim about all {2 * each} tickets together: 2 {kinds[-2]} claims that two of them or more are "
            f"{kinds[-2]}. A ticket of the kind {last} counts as every kind; a claim on {last} counts only these.\n"
            f"Each claim must go beyond the one before: {_HIGHER[plain.bidding_rule]}. Instead of a claim you may "
            f"{_DOUBT} the other's last one. That ends the match: if the claim is true, the side that made it wins, "
            f"otherwise the side that doubted.\n"
        )

    def _format_claim(self, bid: str) -> str:
        quantity, _, face = bid.partition("x")
        return f"{quantity} {self._kinds[int(face) - 1]}"

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        dice, *made = state.information_state_string(seat).split(" ")
        moves = [_DOUBT if move == "Liar" else self._format_claim(move.replace("-", "x")) for move in made]
        past = [f"{self.sides[turn % 2]} {move}" for turn, move in enumerate(moves)]
        return [
            f"your tickets: {join_words([self._kinds[int(face) - 1] for face in dice])}",
            f"so far: {join_words(past)}",
        ]
