"""What happened in a hand of euchre, from the engine's history: the deal, the bids, who plays alone, the tricks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gymposium.games.tricks.trick import Order, Trick

RANKS = "9TJQKA"
SUITS = {"c": "clubs", "d": "diamonds", "h": "hearts", "s": "spades"}
CARDS = [f"{rank}{suit}" for rank in RANKS for suit in SUITS]
MOVES = [*CARDS, "pass", *SUITS.values(), "alone", "partner"]
"""The engine's actions, by number."""
PASS, ALONE = MOVES.index("pass"), MOVES.index("alone")
_COLOUR = {"c": "s", "s": "c", "d": "h", "h": "d"}
DEALT = 21
"""Where the upcard stands in the history: behind the dealer and twenty cards, dealt in turn from the dealer on."""


def _order(trump: str) -> Order:
    """The jack of trump is the highest card, the other jack of its colour the next, and a trump as well."""
    suit = {card: card[1] for card in CARDS}
    height = {card: RANKS.index(card[0]) for card in CARDS}
    suit["J" + _COLOUR[trump]] = trump
    height["J" + trump], height["J" + _COLOUR[trump]] = len(RANKS) + 1, len(RANKS)
    return Order(suit, height, trump)


ORDERS = {trump: _order(trump) for trump in SUITS}


class EuchreHistory(NamedTuple):
    """A hand so far, as nobody sees it but the dealer: the discard is the dealer's secret."""

    dealer: int
    upcard: str
    bids: list[str]
    """In turn from the seat after the dealer."""
    maker: int | None = None
    """Who named trump."""
    trump: str = ""
    """Its letter."""
    taken_up: bool = False
    """Whether the dealer takes the upcard."""
    discard: str | None = None
    discarded_at: int | None = None
    """Where the discard stands in the history."""
    alone: bool | None = None
    """Whether the maker plays alone; None before that is said."""
    defence: tuple[tuple[int, bool], ...] = ()
    """Which defenders have said whether they play alone."""
    seats: tuple[int, ...] = (0, 1, 2, 3)
    """Those that play."""
    tricks: Sequence[Trick] = ()


def history_of(history: Sequence[int], lone_defender: bool) -> EuchreHistory:
    """`lone_defender` is the engine's parameter: whether defenders are asked to play alone."""
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
