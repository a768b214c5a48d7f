"""Goofspiel in words, bids hidden (the engine's `imp_info`): only who won each round is told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gymposium.games.openspiel.adapter import OpenSpielGame, engine_game
from gymposium.games.protocol import Style

if TYPE_CHECKING:
    import pyspiel

    from gymposium.plugins.specs import GameSpec

_VIEW = re.compile(
    r"P\d hand: (.*)\nP\d action sequence: (.*)\nPoint card sequence: (.*)\nWin sequence: (.*)\nPoints: (.*)\n"
)
_ORDER = {
    "random": "The prizes come up in random order.",
    "ascending": "The prizes come up in ascending order.",
    "descending": "The prizes come up in descending order.",
}
_RESULTS = ({"0": "won", "1": "lost", "-3": "tied"}, {"0": "lost", "1": "won", "-3": "tied"})
"""For each seat, the engine's winners in words; -3 is its invalid player."""


class Goofspiel:
    """Words for `goofspiel` with two players and hidden bids."""

    move_pattern = re.compile(r"bid [1-9]\d?")

    def __init__(self, num_cards: int, points_order: str) -> None:
        self.num_cards, self.points_order = num_cards, points_order
        self._cards = range(1, num_cards + 1)
        self._bids = {str(card - 1): str(card) for card in self._cards}  # the engine counts bids from 0
        self._prizes = [str(card) for card in (reversed(self._cards) if points_order == "descending" else self._cards)]

    def move_names(self, engine: pyspiel.Game) -> Sequence[str]:
        return [f"bid {card}" for card in self._cards]

    def rules(self, seat: int, style: Style) -> str:
        n = self.num_cards
        if style == "compact":
            return (
                f"goofspiel, cards 1 to {n}, prizes {self.points_order}, bids hidden, moves bid N\n"
                f"past is prize:your bid with w won, l lost or t tied; points are yours and theirs\n"
            )
        return (
            f"Goofspiel for two players. Each holds the cards 1 to {n}. The prizes, also 1 to {n}, are turned up one "
            f"at a time. {_ORDER[self.points_order]} Each round both players bid one card from their hand at the "
            f"same time; the higher card wins the prize's points, and where the bids are equal nobody gets "
            f"them. Both cards are then gone. You are told who won a round, never your opponent's card.\n"
            f"When each player has one card left, it is bid automatically. Whoever has more points at the end wins; "
            f"equal points are a draw.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        found = _VIEW.match(state.information_state_string(seat))
        assert found is not None, "the engine's goofspiel view has changed"
        hand = found[1].rstrip()
        bids, prizes, winners, points = found[2].split(), found[3].split(), found[4].split(), found[5].split()
        mine, theirs = points[seat], points[1 - seat]
        names, results = self._bids, _RESULTS[seat]
        rounds = [*zip(prizes, bids, winners)]  # those that are over
        now = prizes[len(rounds)] if len(prizes) > len(rounds) else None  # None only after the end
        if style == "compact":
            past = " ".join([f"{prize}:{names[bid]}{results[won][0]}" for prize, bid, won in rounds])
            return f"past {past or 'none'}\npoints {mine} {theirs}\nhand {hand or 'none'}\nprize {now or 'none'}\n"
        lines = [
            f"Round {number}: prize {prize}, you bid {names[bid]} and {results[won]}."
            for number, (prize, bid, won) in enumerate(rounds, start=1)
        ]
        if now is not None:
            seen = set(prizes)
            rest = " ".join([prize for prize in self._prizes if prize not in seen])
            lines.append(f"Round {len(rounds) + 1} of {self.num_cards}: the prize is {now}. Prizes to come: {rest}.")
        lines.append(f"Your hand: {hand or 'empty'}. Points: you {mine}, your opponent {theirs}.\n")
        return "\n".join(lines)


def game(spec: GameSpec, params: Mapping[str, Any]) -> OpenSpielGame:
    engine = engine_game("goofspiel", {**params, "imp_info": True, "players": 2})
    return OpenSpielGame(spec, params, engine, Goofspiel(**params))
