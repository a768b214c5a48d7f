"""Blackjack, told as drawing tiles up to a limit."""

from __future__ import annotations

import pyspiel

from gymposium.games.cards.blackjack import Blackjack, count_total, parse_cards
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import Speech

_RANKS, _SUITS = "23456789TJQKA", "cdhs"
_DRAW = ("draw", "grab", "pull")
_STOP = ("end", "rest", "stop")


class Limit(Disguise):
    """The disguise of `blackjack`."""

    def __init__(self, speech: Speech, plain: Blackjack, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        plants, animals = speech.draw_plants(len(_SUITS)), speech.draw_animals(len(_RANKS))
        self._tiles = {
            f"{rank}{suit}": f"{plant}-{animal}"
            for rank, animal in zip(_RANKS, animals)
            for suit, plant in zip(_SUITS, plants)
        }
        self._tiles["?"] = "hidden"
        more, stop = speech.draw.pick(_DRAW), speech.draw.pick(_STOP)
        self.set_moves((more, stop))
        worth = ", ".join([f"{animal} {min(2 + number, 10)}" for number, animal in enumerate(animals[:-1])])
        keeper = self._keeper = self.sides[1]
        self.story = (
            f"There are {len(self._tiles) - 1} tiles, one for each of {', '.join(plants)} with each of "
            f"{len(animals)} animals. Only the animal counts: {worth}, and {animals[-1]} 11, or 1 where 11 would bring "
            f"the total above 21.\n"
            f"You and {keeper}, who follows a fixed rule, get two tiles each; one of {keeper}'s is hidden. {more} "
            f"takes one more tile: with more than 21 you lose at once. {stop} ends your turn: {keeper} shows the "
            f"hidden tile and takes more while the total is 16 or less. If {keeper} comes above 21 you win; otherwise "
            f"the higher total wins, and equal totals are even. Your result is 1 if you win, 0 if it is even, -1 if "
            f"you lose.\n"
        )

    def role(self, seat: int) -> str:
        return f"You are {self.sides[0]}.\n"

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        both = state.observation_string(seat).splitlines()[2:4]
        lines = []
        for who, line in zip(("yours", f"{self._keeper}'s"), both):
            cards = parse_cards(line)
            total = "" if "?" in cards else f" (total {count_total(cards)})"
            lines.append(f"{who}: {' '.join([self._tiles[card] for card in cards])}{total}")
        return lines
