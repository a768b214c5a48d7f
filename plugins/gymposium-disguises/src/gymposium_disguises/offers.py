"""Goofspiel, told as offers for lots."""

from __future__ import annotations

import pyspiel

from gymposium.games.cards.goofspiel import OPEN_VIEW, RESULTS, VIEW, Goofspiel, OpenGoofspiel
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import Speech, join_words

_ORDER = {
    "random": "in random order",
    "ascending": "from the least to the greatest",
    "descending": "from the greatest to the least",
}


class Offers(Disguise):
    """`goofspiel` with hidden and with open bids."""

    def __init__(self, speech: Speech, plain: Goofspiel, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        self._open = isinstance(plain, OpenGoofspiel)
        self._lots = plain.num_cards
        self._gifts = gifts = speech.draw_plants(plain.num_cards)
        self.set_moves([f"offer {gift}" for gift in gifts])
        one, other = self.sides
        told = "Both offers are then shown." if self._open else "You are told who got a lot, never the other's offer."
        self.story = (
            f"{one} and {other} have the same gifts, from the weakest to the strongest: {join_words(gifts)}. There are "
            f"{self._lots} lots, worth 1 to {self._lots} points, which come up one at a time, "
            f"{_ORDER[plain.points_order]}. For each lot both offer one of the gifts that they have left, at the same "
            f"time. The stronger gift gets the lot; of equal gifts neither does. Both gifts are then gone. {told} The "
            f"last gift of both is offered by itself. Whoever has more points in the end wins; with equal points "
            f"nobody wins.\n"
        )

    def role(self, seat: int) -> str:
        return f"You are {self.sides[seat]}.\n"

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        view: str = state.information_state_string(seat)
        seen = (OPEN_VIEW if self._open else VIEW).match(view)
        assert seen is not None, "the engine's view of goofspiel has changed"
        winners, points = seen[4].split(), seen[5].split()
        lines = [f"points: {join_words([f'{side} {number}' for side, number in zip(self.sides, points)])}"]
        if self._open:
            lots, hands = seen[1].split(), dict(zip(self.sides, (seen[2], seen[3])))
        else:
            lots, hands = seen[3].split(), {self.sides[seat]: seen[1]}
            past = zip(lots, seen[2].split(), winners)
            told = [f"{lot} for {self._gifts[int(bid)]} {RESULTS[seat][won]}" for lot, bid, won in past]
            lines.append(f"lots so far: {join_words(told)}")
        for side, hand in hands.items():
            lines.append(f"gifts of {side}: {join_words([self._gifts[int(card) - 1] for card in hand.split()])}")
        now = lots[-1] if len(lots) > len(winners) else "none"
        later = [str(lot) for lot in range(1, self._lots + 1) if str(lot) not in lots]
        return [*lines, f"lot now: {now}; later: {join_words(later)}"]
