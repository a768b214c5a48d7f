"""One-card poker: chance deals cards, and each seat sees only its own card.

gymposium --plugin one_card_poker.py play one_card_poker
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gymposium import GameSpec, Parameter, hookimpl
from gymposium.games.rules import CHANCE, Event, Style, make_game_factory


class Deal(NamedTuple):
    """A position: each seat's card, in the order of dealing, and the moves so far."""

    cards: tuple[int, ...] = ()
    said: tuple[str, ...] = ()


class OneCardPoker:
    """Rules of one-card poker with one card of each rank."""

    moves = ("bet", "call", "fold")
    utility_range = (-2.0, 2.0)
    max_decisions = 2

    def __init__(self, ranks: int) -> None:
        self.deck = range(1, ranks + 1)

    def start(self) -> Deal:
        return Deal()

    def to_move(self, deal: Deal) -> tuple[int, ...]:
        if len(deal.cards) < 2:
            return (CHANCE,)
        return () if "fold" in deal.said or "call" in deal.said else (len(deal.said),)

    def chance(self, deal: Deal) -> Mapping[str, float]:
        return {str(card): 1 for card in self.deck if card not in deal.cards}

    def legal_moves(self, deal: Deal, seat: int) -> Sequence[str]:
        return ("call", "fold") if deal.said else ("bet", "fold")

    def play(self, deal: Deal, moves: Mapping[int, str]) -> Deal:
        if CHANCE in moves:
            return deal._replace(cards=(*deal.cards, int(moves[CHANCE])))
        return deal._replace(said=(*deal.said, *moves.values()))

    def returns(self, deal: Deal) -> tuple[float, ...]:
        if deal.said == ("fold",):
            return (-1.0, 1.0)
        if deal.said == ("bet", "fold"):
            return (1.0, -1.0)
        if deal.said == ("bet", "call"):
            return (2.0, -2.0) if deal.cards[0] > deal.cards[1] else (-2.0, 2.0)
        return (0.0, 0.0)

    def view(self, deal: Deal, seat: int) -> str:
        """Return what a seat knows: its own card and all moves."""
        return f"{deal.cards[seat]} {' '.join(deal.said)}"

    def resample(self, events: Sequence[Event], seat: int, rng: random.Random) -> Sequence[Event]:
        """Draw another card for the other seat. Events 0 and 1 are the deal."""
        other = rng.choice([str(card) for card in self.deck if str(card) != events[seat].move])
        return [event._replace(move=other) if n == 1 - seat else event for n, event in enumerate(events)]

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"one-card poker, cards 1 to {len(self.deck)}, you act {('first', 'second')[seat]}\n"
        return (
            f"One-card poker for two players. Each puts 1 chip into the pot and gets one of the cards 1 to "
            f"{len(self.deck)}, which only that player sees. The first player bets 1 chip more, or folds and gives up "
            f"the pot. The second player calls a bet with 1 chip, or folds and gives up the pot. After a call the "
            f"higher card takes the pot.\nYou act {('first', 'second')[seat]}.\n"
        )

    def position(self, deal: Deal, seat: int, style: Style) -> str:
        card, said = deal.cards[seat], ", ".join(deal.said) or "nothing"
        return f"card {card}\nsaid {said}\n" if style == "compact" else f"Your card: {card}. Said so far: {said}.\n"


game = make_game_factory(OneCardPoker)


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    yield GameSpec(
        name="one_card_poker",
        title="One-card poker",
        summary="Bet on a card that only you see.",
        entry_point="one_card_poker:game",
        parameters=(Parameter(name="ranks", default=5, low=3, high=20, help="Cards in the deck, one of each rank."),),
        examples=({}, {"ranks": 3}),
        information="imperfect",
        chance=True,
        namespace="examples",
    )
