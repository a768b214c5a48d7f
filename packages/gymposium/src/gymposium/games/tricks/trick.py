"""Shared code for trick-taking games: suits, tricks, their winners, and their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from gymposium.games.pictures import PicturePart, draw_hand, draw_note

RANKS = "23456789TJQKA"
SEATS = ("North", "East", "South", "West")
"""Names of the engine's seats 0 to 3, in turn order."""
NAMES = tuple([(*SEATS[:seat], "you", *SEATS[seat + 1 :]) for seat in range(4)])
"""Seat names as each seat reads them."""
SUIT_NAMES = {"s": "spades", "h": "hearts", "d": "diamonds", "c": "clubs"}
"""Suits in display order."""
_CACHE_SIZE = 2**14
"""Size of the caches for tricks and their text. They help because every later prompt shows the same tricks."""


class Trick(NamedTuple):
    """A trick: its cards in playing order, with the seat that played each."""

    seats: tuple[int, ...]
    cards: tuple[str, ...]
    winner: int | None
    """The seat that took the trick; None while it is in progress."""


@dataclass(frozen=True, eq=False)
class CardOrder:
    """Suit and rank of each card, for one trump suit or no trump."""

    suit: Mapping[str, str]
    height: Mapping[str, int]
    trump: str = ""

    def tricks(self, cards: Sequence[str], leader: int, seats: tuple[int, ...] = (0, 1, 2, 3)) -> list[Trick]:
        """Return the tricks that these cards form. `seats` play in turn, and a trick's winner leads the next."""
        tricks = []
        for start in range(0, len(cards), len(seats)):
            trick = _make_trick(self, tuple(cards[start : start + len(seats)]), leader, seats)
            tricks.append(trick)
            leader = leader if trick.winner is None else trick.winner
        return tricks

    def find_winner(self, cards: Sequence[str]) -> int:
        """Return the index of the winning card: the highest trump, or else the highest of the suit led."""
        suits = [self.suit[card] for card in cards]
        counts = self.trump if self.trump in suits else suits[0]
        return max(range(len(cards)), key=lambda i: self.height[cards[i]] if suits[i] == counts else -1)


def make_plain_order(pack: Sequence[str], suits: Sequence[str], ranks: str = RANKS, trump: str = "") -> CardOrder:
    """Return the card order without trump. `suits` holds the suit of each card in `pack`."""
    suit = dict(zip(pack, suits, strict=True))
    return CardOrder(suit, {card: ranks.index(card.replace(suit[card], "")) for card in pack}, trump)


@lru_cache(_CACHE_SIZE)
def _make_trick(order: CardOrder, cards: tuple[str, ...], leader: int, seats: tuple[int, ...]) -> Trick:
    at = seats.index(leader)
    turn = (*seats[at:], *seats[:at])[: len(cards)]
    return Trick(turn, cards, turn[order.find_winner(cards)] if len(cards) == len(seats) else None)


def find_voids(tricks: Sequence[Trick], order: CardOrder) -> list[set[str]]:
    """Return the suits that each seat has failed to follow."""
    out: list[set[str]] = [set(), set(), set(), set()]
    for trick in tricks:
        led = order.suit[trick.cards[0]]
        for seat, card in zip(trick.seats, trick.cards, strict=True):
            if order.suit[card] != led:
                out[seat].add(led)
    return out


def list_played_cards(tricks: Sequence[Trick]) -> list[list[str]]:
    """Return the cards that each seat has played, in order."""
    hands: list[list[str]] = [[], [], [], []]
    for trick in tricks:
        for seat, card in zip(trick.seats, trick.cards, strict=True):
            hands[seat].append(card)
    return hands


def count_side_tricks(tricks: Sequence[Trick]) -> tuple[int, int]:
    """Return the number of tricks that each side has taken: North and South, East and West."""
    winners = [trick.winner % 2 for trick in tricks if trick.winner is not None]
    return winners.count(0), winners.count(1)


def format_by_suit(hand: AbstractSet[str], suits: Sequence[Sequence[str]]) -> str:
    """Return a hand as text, with a comma between suits. `suits` holds each suit's cards in display order."""
    return ", ".join([" ".join([card for card in suit if card in hand]) for suit in suits if not hand.isdisjoint(suit)])


def format_hand(hand: AbstractSet[str], suits: Sequence[Sequence[str]]) -> str:
    """Return a hand as text like `format_by_suit`, but without commas."""
    return " ".join([card for suit in suits for card in suit if card in hand])


def describe_tricks(tricks: Sequence[Trick], seat: int) -> list[str]:
    """Return one line of text per trick, written from this seat's perspective."""
    return [_describe_trick(number, trick, seat) for number, trick in enumerate(tricks, start=1)]


@lru_cache(_CACHE_SIZE)
def _describe_trick(number: int, trick: Trick, seat: int) -> str:
    names = NAMES[seat]
    cards = ", ".join([f"{names[s]} {card}" for s, card in zip(trick.seats, trick.cards, strict=True)])
    if trick.winner is None:
        return f"Trick {number}: {cards} (under way)."
    return f"Trick {number}: {cards}; {names[trick.winner]} {'take' if trick.winner == seat else 'takes'} it."


def format_tricks(tricks: Sequence[Trick]) -> str:
    """Return the leader of each trick and its cards in order: `N 2c Ac 4c Kc, E …`."""
    return ", ".join([f"{SEATS[trick.seats[0]][0]} {' '.join(trick.cards)}" for trick in tricks]) or "none"


def draw_tricks(tricks: Sequence[Trick], seat: int, taken: str) -> list[PicturePart]:
    """Return picture parts for the last trick and the tricks taken, with seat names from this seat's perspective."""
    if not tricks:
        return [draw_note("No card is played yet.")]
    last = tricks[-1]
    names = [NAMES[seat][by] for by in last.seats]
    won = [card for by, card in zip(last.seats, last.cards) if by == last.winner]
    whose = "under way" if last.winner is None else f"to {NAMES[seat][last.winner]}"
    title = f"Trick {len(tricks)}, {whose}"
    shown = [card if card[1:] in SUIT_NAMES else card[1] + card[0].lower() for card in last.cards]
    marked = [card if card[1:] in SUIT_NAMES else card[1] + card[0].lower() for card in won]
    return [draw_hand(shown, title, names=[""] * 4, last=marked, notes=names, wide=48), draw_note(taken)]
