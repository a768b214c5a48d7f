"""Bargaining, told as sharing other goods in another order."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.mixed_motive.bargaining import AGREE, Bargaining
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import TOKENS, Speech, join_words

_WANT = ("ask", "keep", "want")
_SETTLE = ("accept", "done", "settle")


class Sharing(Disguise):
    """The disguise of `bargaining`."""

    def __init__(self, speech: Speech, plain: Bargaining, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        self._bargaining = plain
        draw, kinds = speech.draw, len(plain.items)
        self._order = draw.some(range(kinds), kinds)
        """The original index of each kind of goods, in the order of the disguise."""
        self._goods = goods = draw.some(TOKENS, kinds)
        want, self._settle = draw.pick(_WANT), draw.pick(_SETTLE)
        self._offers = [" ".join(self._reorder(offer.split())) for offer in plain.taken]
        self.names = [self._settle if name == AGREE else "" for name in plain.names]
        self.names[: len(self._offers)] = [f"{want} {offer}" for offer in self._offers]
        self.move_pattern = re.compile(rf"{self._settle}|{want} \d \d \d")
        one, other = self.sides
        ends = [f"The match ends without a result for both after {plain.max_turns} offers, and both get 0."]
        if plain.prob_end:
            ends.append(
                f"After each offer from the second on it ends at once with probability {plain.prob_end:g}, and both "
                f"get 0."
            )
        if plain.discount < 1:
            ends.append(f"Results are multiplied by {plain.discount:g} for each turn after the second.")
        self.story = (
            f"{one} and {other} share a heap of {goods[0]}s, {goods[1]}s and {goods[2]}s: {plain.least} to "
            f"{plain.most} in all, at least one of each. You know the heap and what each kind is worth to you, not "
            f"what it is worth to the other, who does not know your worths. The whole heap is worth {plain.worth} to "
            f"each; each kind is worth something to at least one of you, and at least one kind to both.\n"
            f"You take turns. An offer says how many of each kind you want for yourself, in the order "
            f"{join_words(goods)}: {want} 1 0 2; the other would get the rest. {self._settle} agrees to the "
            f"offer that the "
            f"other made just before: the match is then over, and each gets the worth of their own part. "
            f"{' '.join(ends)}\n"
        )

    def _reorder(self, numbers: Sequence[object]) -> list[str]:
        return [str(numbers[kind]) for kind in self._order]

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        plain = self._bargaining
        deal, *actions = state.history()
        offers = [action for action in actions if action < plain.agree]
        heap = zip(self._goods, self._reorder(plain.pools[deal]), self._reorder(plain.values[seat][deal]))
        past = [f"{self.sides[turn % 2]} {self._offers[offer]}" for turn, offer in enumerate(offers)]
        lines = [
            f"heap: {join_words([f'{number} {kind}s worth {value} each to you' for kind, number, value in heap])}",
            f"offers of {plain.max_turns}: {join_words(past)}",
        ]
        if plain.agree in actions:
            lines.append(f"{self.sides[len(offers) % 2]} agreed.")
        return lines

    def end(self, state: pyspiel.State, seat: int) -> str:
        return f"The match is over. You get {state.player_return(seat):g}."
