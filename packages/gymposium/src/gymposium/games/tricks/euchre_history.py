"""The deal, bids, lone players and tricks of a euchre hand, derived from the engine's history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gymposium.games.tricks.trick import CardOrder, Trick

RANKS = "9TJQKA"
SUITS = {"c": "clubs", "d": "diamonds", "h": "hearts", "s": "spades"}
CARDS = [f"{rank}{suit}" for rank in RANKS for suit in SUITS]
MOVES = [*CARDS, "pass", *SUITS.values(), "alone", "partner"]
"""Action names by engine number."""
PASS, ALONE = MOVES.index("pass"), MOVES.index("alone")
_COLOR = {"c": "s", "s": "c", "d": "h", "h": "d"}
DEALT = 21
"""Index of the upcard in the history, after the choice of dealer and twenty dealt cards."""


def _make_order(trump: str) -> CardOrder:
    """Return the card order for a trump suit.

    The jack of trumps is highest. The other jack of its color comes next and counts as a trump."""
    suit = {card: card[1] for card in CARDS}
    height = {card: RANKS.index(card[0]) for card in CARDS}
    suit["J" + _COLOR[trump]] = trump
    height["J" + trump], height["J" + _COLOR[trump]] = len(RANKS) + 1, len(RANKS)
    return CardOrder(suit, height, trump)


ORDERS = {trump: _make_order(trump) for trump in SUITS}


class EuchreHistory(NamedTuple):
    """A euchre hand so far, including the discard, which only the dealer knows."""

    dealer: int
    upcard: str
    bids: list[str]
    """Bids in order, starting with the seat after the dealer."""
    maker: int | None = None
    """The seat that named trump."""
    trump: str = ""
    """Letter of the trump suit."""
    taken_up: bool = False
    """Whether the dealer takes up the upcard."""
    discard: str | None = None
    discarded_at: int | None = None
    """Index of the discard in the history."""
    alone: bool | None = None
    """Whether the maker plays alone; None before the maker decides."""
    defence: tuple[tuple[int, bool], ...] = ()
    """Defenders who have decided whether to play alone."""
    seats: tuple[int, ...] = (0, 1, 2, 3)
    """Seats that play the hand."""
    tricks: Sequence[Trick] = ()


def parse_history(history: Sequence[int], lone_defender: bool) -> EuchreHistory:
    """Parse the engine's history of a hand. `lone_defender` is True if defenders may play alone."""
    dealer, upcard = history[0], CARDS[history[DEALT]]
    rest = iter(enumerate(history[DEALT + 1 :], start=DEALT + 1))
    bids: list[str] = []
    for _, action in rest:
        bids.append(MOVES[action])
        if action != PASS:
            break
    if not bids or bids[-1] == "pass":
        return EuchreHistory(dealer, upcard, bids)
    maker, trump, taken_up = (dealer + len(bids)) % 4, bids[-1][0], len(bids) <= 4
    discarded_at, discard = next(rest, (None, -1)) if taken_up else (None, -1)
    _, said = next(rest, (None, None))
    alone = None if said is None else said == ALONE
    seats = [0, 1, 2, 3]
    if alone:
        seats.remove((maker + 2) % 4)
    defence: list[tuple[int, bool]] = []
    for turn in range(1, 5) if lone_defender else ():
        seat = (dealer + turn) % 4
        if seat % 2 != maker % 2:
            _, said = next(rest, (None, None))
            if said is None:
                break
            defence.append((seat, said == ALONE))
            if said == ALONE:
                seats.remove((seat + 2) % 4)
                break
    leader = next(seat for seat in ((dealer + turn) % 4 for turn in range(1, 5)) if seat in seats)
    return EuchreHistory(
        dealer,
        upcard,
        bids,
        maker,
        trump,
        taken_up,
        None if discarded_at is None else CARDS[discard],
        discarded_at,
        alone,
        tuple(defence),
        tuple(seats),
        ORDERS[trump].tricks([CARDS[action] for _, action in rest], leader, tuple(seats)),
    )
