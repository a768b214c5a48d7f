"""What happened in a deal of bridge, from the engine's history: the calls, the contract they lead to, the tricks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gymposium.games.tricks.trick import RANKS, Trick, plain_order

CARDS = [f"{suit}{rank}" for rank in RANKS for suit in "CDHS"]
"""The suit first, as bridge players write: a card 7c and a bid 7C would differ in nothing but case."""
DENOMINATIONS = ("C", "D", "H", "S", "NT")
_BIDS = [f"{level}{denomination}" for level in range(1, 8) for denomination in DENOMINATIONS]
MOVES = [*CARDS, "pass", "double", "redouble", *_BIDS]
"""The engine's actions, by number."""
_CALL = MOVES.index("pass")
DEALT = 52
"""Where the calls begin in the history, behind the cards dealt in turn from North on."""
ORDERS = {
    denomination: plain_order(CARDS, [card[0] for card in CARDS], trump=denomination if len(denomination) == 1 else "")
    for denomination in DENOMINATIONS
}


class Contract(NamedTuple):
    """The last bid, and whose it is."""

    bid: str
    doubled: str
    """`double`, `redouble`, or nothing."""
    declarer: int

    @property
    def dummy(self) -> int:
        return (self.declarer + 2) % 4

    @property
    def denomination(self) -> str:
        return self.bid[1:]

    @property
    def needed(self) -> int:
        """How many tricks make it."""
        return int(self.bid[0]) + 6


class BridgeHistory(NamedTuple):
    """A deal so far: all of it is public but the hands."""

    calls: tuple[str, ...]
    contract: Contract | None = None
    """None before the auction is over, and when all pass."""
    tricks: Sequence[Trick] = ()
    turn: int = -1
    """Whose card is next, which for the dummy the declarer chooses."""


def history_of(history: Sequence[int], dealer: int) -> BridgeHistory:
    later = history[DEALT:]
    called = sum(map(_CALL.__le__, later))
    calls = tuple([MOVES[action] for action in later[:called]])
    if len(calls) < 4 or calls[-3:] != ("pass",) * 3 or calls[-4] == "pass":
        return BridgeHistory(calls)
    contract = _contract(calls, dealer)
    leader = (contract.declarer + 1) % 4
    tricks = ORDERS[contract.denomination].tricks([CARDS[action] for action in later[called:]], leader)
    if tricks:
        last = tricks[-1]
        leader = (last.seats[-1] + 1) % 4 if last.winner is None else last.winner
    return BridgeHistory(calls, contract, tricks, leader)


@lru_cache(1024)  # it is asked for again at every card
def _contract(calls: tuple[str, ...], dealer: int) -> Contract:
    """What calls with a bid among them lead to: the declarer is who first named its denomination on that side."""
    last = max(n for n, call in enumerate(calls) if call[0].isdigit())
    after = [call for call in calls[last:] if call.endswith("double")]
    first = next(n for n in range(last % 2, last + 1, 2) if calls[n][1:] == calls[last][1:])
    return Contract(calls[last], after[-1] if after else "", (dealer + first) % 4)
