"""The calls, contract and tricks of a bridge deal, derived from the engine's history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gymposium.games.tricks.trick import RANKS, Trick, make_plain_order

CARDS = [f"{suit}{rank}" for rank in RANKS for suit in "CDHS"]
"""Card names, with the suit first. Otherwise a card 7c and a bid 7C would differ only in case."""
DENOMINATIONS = ("C", "D", "H", "S", "NT")
_BIDS = [f"{level}{denomination}" for level in range(1, 8) for denomination in DENOMINATIONS]
MOVES = [*CARDS, "pass", "double", "redouble", *_BIDS]
"""Action names by engine number."""
_CALL = MOVES.index("pass")
DEALT = 52
"""Number of dealt cards, which is the history index of the first call."""
ORDERS = {
    denomination: make_plain_order(
        CARDS, [card[0] for card in CARDS], trump=denomination if len(denomination) == 1 else ""
    )
    for denomination in DENOMINATIONS
}


class Contract(NamedTuple):
    """The last bid and its declarer."""

    bid: str
    doubled: str
    """`double`, `redouble`, or an empty string."""
    declarer: int

    @property
    def dummy(self) -> int:
        return (self.declarer + 2) % 4

    @property
    def denomination(self) -> str:
        return self.bid[1:]

    @property
    def needed(self) -> int:
        """Number of tricks needed for the contract."""
        return int(self.bid[0]) + 6


class BridgeHistory(NamedTuple):
    """A bridge deal so far. Everything except the hands is public."""

    calls: tuple[str, ...]
    contract: Contract | None = None
    """None during the auction, or if all seats passed."""
    tricks: Sequence[Trick] = ()
    turn: int = -1
    """Seat that plays the next card. The declarer chooses for the dummy."""


def parse_history(history: Sequence[int], dealer: int) -> BridgeHistory:
    """Parse the engine's history of a deal."""
    later = history[DEALT:]
    called = sum(map(_CALL.__le__, later))
    calls = tuple([MOVES[action] for action in later[:called]])
    if len(calls) < 4 or calls[-3:] != ("pass",) * 3 or calls[-4] == "pass":
        return BridgeHistory(calls)
    contract = _find_contract(calls, dealer)
    leader = (contract.declarer + 1) % 4
    tricks = ORDERS[contract.denomination].tricks([CARDS[action] for action in later[called:]], leader)
    if tricks:
        last = tricks[-1]
        leader = (last.seats[-1] + 1) % 4 if last.winner is None else last.winner
    return BridgeHistory(calls, contract, tricks, leader)


@lru_cache(1024)  # called again at every card
def _find_contract(calls: tuple[str, ...], dealer: int) -> Contract:
    """Return the contract for calls that contain a bid.

    The declarer is the first player of the side to name the denomination."""
    last = max(n for n, call in enumerate(calls) if call[0].isdigit())
    after = [call for call in calls[last:] if call.endswith("double")]
    first = next(n for n in range(last % 2, last + 1, 2) if calls[n][1:] == calls[last][1:])
    return Contract(calls[last], after[-1] if after else "", (dealer + first) % 4)
