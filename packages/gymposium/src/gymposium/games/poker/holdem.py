"""Public facts of Texas hold'em: seats, blinds, bet sizes, and the course of a hand.

With two players, seat 0 is the big blind and seat 1 the dealer. With more, seat 0 is the small blind and the last seat
the dealer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from gymposium.games.openspiel.wording import match_view

CARDS = [f"{rank}{suit}" for rank in "23456789TJQKA" for suit in "cdhs"]
_SEATS = {
    2: ("BB", "SB"),
    3: ("SB", "BB", "BTN"),
    4: ("SB", "BB", "CO", "BTN"),
    5: ("SB", "BB", "UTG", "CO", "BTN"),
    6: ("SB", "BB", "UTG", "HJ", "CO", "BTN"),
}
ROUNDS = ("Before the flop", "Flop", "Turn", "River")
_TURNED_UP = (0, 3, 1, 1)
TURNED_UP = sum(_TURNED_UP)
"""Number of community cards at the end."""
RAISES = (3, 4, 4, 4)
"""Maximum raises per round in limit games. Before the flop, the big blind counts as the first of four bets."""
_NO_STACK = 2**31 - 1
"""Each player's stack in the engine in limit games, which have no stacks."""
_VIEW = re.compile(r"\[Money: ([\d ]+)\].*\[Sequences: ([^\]]*)\]")
_STEP = re.compile(r"[fcr]\d*")


class BettingStep(NamedTuple):
    """One move, and the total chips of its seat in this round afterwards (0 for a fold or check)."""

    seat: int
    move: str
    chips: int


class Hand(NamedTuple):
    """A hand's public facts."""

    rounds: list[list[BettingStep]]
    board: list[list[int]]
    """Community cards turned up before each round. The flop is sorted because its order has no meaning."""
    spent: list[int]
    folded: set[int]

    def find_shown_seats(self) -> list[int]:
        """Return the seats whose cards are shown at the end of the hand."""
        left = [seat for seat in range(len(self.spent)) if seat not in self.folded]
        return left if len(left) > 1 else []


class BettingRules:
    """Parameters of a hold'em table: seat names, blinds and bet sizes."""

    def __init__(self, players: int, betting: str, stack: int, small_blind: int) -> None:
        self.players, self.small, self.big = players, small_blind, 2 * small_blind
        self.limit = betting == "limit"
        self.stack = _NO_STACK if self.limit else stack
        self.seats = _SEATS[players]
        self.first = 1 if players == 2 else 2
        """Seat that acts first before the flop. In later rounds, the first seat still in the hand acts first."""
        self.blinds = [{"SB": self.small, "BB": self.big}.get(seat, 0) for seat in self.seats]
        self.sizes = (self.big, self.big, 2 * self.big, 2 * self.big)
        """Raise size per round in limit games."""
        self.most_lost = self.big + sum([s * n for s, n in zip(self.sizes, RAISES)]) if self.limit else stack

    def make_engine_params(self) -> dict[str, Any]:
        later = " ".join(["1"] * (len(ROUNDS) - 1))
        params: dict[str, Any] = {
            "numPlayers": self.players,
            "numRounds": len(ROUNDS),
            "numSuits": 4,
            "numRanks": 13,
            "numHoleCards": 2,
            "numBoardCards": " ".join(map(str, _TURNED_UP)),
            "firstPlayer": f"{self.first + 1} {later}",
            "blind": " ".join(map(str, self.blinds)),
            "betting": "limit" if self.limit else "nolimit",
            "bettingAbstraction": "fcpa",
        }
        if self.limit:
            params |= {"raiseSize": " ".join(map(str, self.sizes)), "maxRaises": " ".join(map(str, RAISES))}
        else:
            params["stack"] = " ".join([str(self.stack)] * self.players)
        return params

    def max_decisions(self) -> int:
        """Return an upper bound on the number of decisions in a hand.

        In each round, every player acts once, and after each raise all other players act again. The pot is at least
        twice the highest bet, so a pot-sized raise triples the bet. An all-in may add one more raise."""
        raises, bet = (sum(RAISES), 0) if self.limit else (0, self.big)
        while not self.limit and bet < self.stack:
            raises, bet = raises + 1, 3 * bet
        return self.players * len(ROUNDS) + (self.players - 1) * raises

    def compute_pot_bet(self, spent: Sequence[int], seat: int) -> int:
        """Return how many chips the move `pot` costs: the amount to call, plus the pot after the call."""
        lacks = max(spent) - spent[seat]
        return lacks + sum(spent) + lacks

    def parse_hand(self, view: str, history: Sequence[int]) -> Hand:
        """Parse a hand from the engine's information state and history.

        The state, `[Round 1]…[Sequences: cr6c|c]`, gives each raise as the seat's total chips in the hand. The history
        is needed because the state sorts the board."""
        parsed = match_view(_VIEW, view)
        spent, folded = self.blinds.copy(), set[int]()
        rounds: list[list[BettingStep]] = []
        board: list[list[int]] = []
        index = 2 * self.players
        for number, steps in enumerate(parsed[2].split("|")):
            cards = sorted(history[index : index + _TURNED_UP[number]], reverse=True)
            if len(cards) < _TURNED_UP[number]:
                break  # the hand ended by a fold, or these cards are dealt next
            board.append(cards)
            index += _TURNED_UP[number]
            before = spent.copy() if number else [0] * self.players
            seat, done = 0 if number else self.first, []
            for step in _STEP.findall(steps):
                while seat in folded:
                    seat = (seat + 1) % self.players
                move = self._apply_step(step, seat, spent, number)
                if move == "fold":
                    folded.add(seat)
                done.append(BettingStep(seat, move, 0 if move in ("fold", "check") else spent[seat] - before[seat]))
                seat = (seat + 1) % self.players
                index += 1
            rounds.append(done)
        return Hand(rounds, board, [self.stack - int(money) for money in parsed[1].split()], folded)

    def _apply_step(self, step: str, seat: int, spent: list[int], number: int) -> str:
        """Return a move's name, and add its chips to `spent`."""
        top = max(spent)
        if step == "f":
            return "fold"
        if step == "c":
            lacks, spent[seat] = top - spent[seat], top
            return "call" if lacks else "check"
        if self.limit:
            spent[seat] = top + self.sizes[number]
            return "raise"
        by_pot, spent[seat] = spent[seat] + self.compute_pot_bet(spent, seat), int(step[1:])
        return "pot" if spent[seat] == by_pot else "all-in"
