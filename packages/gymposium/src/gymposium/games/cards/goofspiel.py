"""Goofspiel as a text game. Unless `imp_info` is off, bids are hidden and players learn only who won each round."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, load_engine_game
from gymposium.games.openspiel.boards import format_legal
from gymposium.games.openspiel.wording import format_compact_facts, match_view
from gymposium.games.pictures import Picture, draw_hand, draw_note, draw_score_track, draw_table
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

VIEW = re.compile(
    r"P\d hand: (.*)\nP\d action sequence: (.*)\nPoint card sequence: (.*)\nWin sequence: (.*)\nPoints: (.*)\n"
)
OPEN_VIEW = re.compile(r"Point card sequence: (.*)\nP0 hand: (.*)\nP1 hand: (.*)\nWin sequence: (.*)\nPoints: (.*)\n")
_ORDER = {
    "random": "The prizes come up in random order.",
    "ascending": "The prizes come up in ascending order.",
    "descending": "The prizes come up in descending order.",
}
RESULTS = ({"0": "won", "1": "lost", "-3": "tied"}, {"0": "lost", "1": "won", "-3": "tied"})
"""Text for a round's winner, by seat. Seat -3 is the engine's invalid player."""


class Goofspiel:
    """Wording for `goofspiel` with two players and hidden bids."""

    move_pattern = re.compile(r"bid [1-9]\d?")
    reveal_rule = "You are told who won a round, never your opponent's card."
    compact_rule = (
        "bids hidden, moves bid N\npast is prize:your bid with w won, l lost or t tied; points are yours and theirs"
    )

    def __init__(self, num_cards: int, points_order: str) -> None:
        self.num_cards, self.points_order = num_cards, points_order
        cards = range(1, num_cards + 1)
        self.names = [f"bid {card}" for card in cards]
        self._bids = {str(card - 1): str(card) for card in cards}  # the engine counts bids from 0
        self._prizes = [str(card) for card in (reversed(cards) if points_order == "descending" else cards)]

    def rules(self, seat: int, style: Style) -> str:
        n = self.num_cards
        if style == "compact":
            return f"goofspiel, cards 1 to {n}, prizes {self.points_order}, {self.compact_rule}\n"
        return (
            f"Goofspiel for two players. Each holds the cards 1 to {n}. The prizes, also 1 to {n}, are turned up one "
            f"at a time. {_ORDER[self.points_order]} Each round both players bid one card from their hand at the "
            f"same time; the higher card wins the prize's points, and where the bids are equal nobody gets "
            f"them. Both cards are then gone. {self.reveal_rule}\n"
            f"When each player has one card left, it is bid automatically. Whoever has more points at the end wins; "
            f"equal points are a draw.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        view = match_view(VIEW, state.information_state_string(seat))
        hand = view[1].rstrip()
        bids, prizes, winners, points = view[2].split(), view[3].split(), view[4].split(), view[5].split()
        mine, theirs = points[seat], points[1 - seat]
        names, results = self._bids, RESULTS[seat]
        rounds = [*zip(prizes, bids, winners)]  # finished rounds
        now = prizes[len(rounds)] if len(prizes) > len(rounds) else None  # None only after the end
        if style == "compact":
            past = " ".join([f"{prize}:{names[bid]}{results[won][0]}" for prize, bid, won in rounds])
            return (
                f"past {past or 'none'}\npoints {mine} {theirs}\nhand {hand or 'none'}\nprize {now or 'none'}\n"
                f"{format_legal(state, seat, self.names, ', ')}"
            )
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

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        return self._draw_facts(format_compact_facts(self, state, seat))

    def _draw_facts(self, known: Mapping[str, str]) -> Picture:
        """Return a picture of the facts stated in the compact text."""
        mine, theirs = [int(points) for points in known["points"].split()]
        past = [re.split("[:]", round_) for round_ in known.get("past", "").split()]
        rounds = [
            draw_note("Prizes so far, your bids, and w for won, l for lost, t for tied:"),
            draw_table([[prize for prize, _ in past], [bid[:-1] for _, bid in past], [bid[-1] for _, bid in past]]),
        ]
        theirs_held = (
            [draw_hand(known["theirs"].split(), "Your opponent's hand", names=[""] * 16)] if "theirs" in known else []
        )
        scores = [("You", mine, "one"), ("Opponent", theirs, "two")]
        return Picture.from_parts(
            draw_hand([known["prize"]] if known["prize"] else [], "The prize", names=[""]),
            draw_hand(known["hand"].split(), "Your hand"),
            *theirs_held,
            draw_score_track(scores, self.num_cards * (self.num_cards + 1) / 2),
            *(rounds if past else []),
            told=f"The prize: {known['prize'] or 'none'}; your hand: {known['hand'] or 'empty'}",
        )


class OpenGoofspiel(Goofspiel):
    """Wording for `goofspiel` with public bids, so both hands are known."""

    reveal_rule = "Both are shown."
    compact_rule = "bids shown, moves bid N\npoints and hands are yours and theirs; left are the prizes to come"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        view = match_view(OPEN_VIEW, state.information_state_string(seat))
        prizes, rounds, points = view[1].split(), len(view[4].split()), view[5].split()
        hands = [view[2].rstrip(), view[3].rstrip()]
        now = prizes[-1] if len(prizes) > rounds else None  # None only after the end
        left = " ".join([prize for prize in self._prizes if prize not in prizes])
        mine, theirs = hands[seat], hands[1 - seat]
        if style == "compact":
            return (
                f"points {points[seat]} {points[1 - seat]}\nhand {mine or 'none'}\ntheirs {theirs or 'none'}\n"
                f"left {left or 'none'}\nprize {now or 'none'}\n{format_legal(state, seat, self.names, ', ')}"
            )
        turn = (
            ""
            if now is None
            else (f"Round {rounds + 1} of {self.num_cards}: the prize is {now}. Prizes to come: {left}.\n")
        )
        return (
            f"{turn}Your hand: {mine or 'empty'}. Your opponent's hand: {theirs or 'empty'}. Points: you "
            f"{points[seat]}, your opponent {points[1 - seat]}.\n"
        )


def game(spec: GameSpec, params: Mapping[str, Any]) -> OpenSpielGame:
    engine = load_engine_game("goofspiel", {**params, "players": 2})
    how = params["num_cards"], params["points_order"]
    if params["imp_info"]:
        return OpenSpielGame(spec, params, engine, Goofspiel(*how))
    return OpenSpielGame(replace(spec, information="perfect"), params, engine, OpenGoofspiel(*how))
