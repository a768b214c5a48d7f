"""Spades as a text game: one hand of four players. Seats 0 to 3 are the engine's North, East, South and West."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, load_engine_game
from gymposium.games.openspiel.wording import format_compact_facts
from gymposium.games.pictures import Picture, draw_hand, draw_table
from gymposium.games.protocol import Event, Style
from gymposium.games.tricks.deals import fill_hands
from gymposium.games.tricks.trick import (
    NAMES,
    RANKS,
    SEATS,
    SUIT_NAMES,
    describe_tricks,
    draw_tricks,
    find_voids,
    format_by_suit,
    format_hand,
    format_tricks,
    list_played_cards,
    make_plain_order,
)
from gymposium.plugins.specs import GameSpec

_CARDS = [f"{rank}{suit}" for suit in "cdhs" for rank in RANKS]
_MOVES = [*_CARDS, "nil", *map(str, range(1, 14))]
_NIL = _MOVES.index("nil")
_SHOWN = [[f"{rank}{suit}" for rank in reversed(RANKS)] for suit in SUIT_NAMES]
_ORDER = make_plain_order(_CARDS, [card[1] for card in _CARDS], trump="s")
_BIDS, _PLAYS = 52, 56
"""History indices of the first bid and of the first card played."""


class Spades:
    """Wording for `spades`."""

    move_pattern = re.compile(r"[2-9TJQKA][cdhs]|nil|1[0-3]|[1-9]")
    names = _MOVES

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return (
                f"spades, seats N E S W in turn, NS against EW, you are {SEATS[seat][0]}; bids are N E S W, partners' "
                f"at most 13 together; N leads; spades are never led by who has another suit\n"
                f"a trick is its leader and the cards in order\n"
            )
        return (
            f"Spades for four players, one hand with 52 cards, 13 for each. North and South play together against East "
            f"and West; turns go round in the order North, East, South, West. Cards are named by rank (2 3 4 5 6 7 8 9 "
            f"T J Q K A, the ace high) and suit (clubs c, diamonds d, hearts h, spades s): Td is the ten of diamonds.\n"
            f"First everybody bids once, North first: the number of tricks to take, 1 to 13, or nil for none. The two "
            f"bids of a side may not come to more than 13; together they are its contract.\n"
            f"Then North leads to the first of 13 tricks. You must follow the suit that was led if you can; otherwise "
            f"you may play any card. Spades are trumps: the highest spade takes the trick, or where there is none the "
            f"highest card of the suit led; its player leads the next. Nobody may lead a spade while holding a card of "
            f"another suit, not even after spades have been played.\n"
            f"A side that takes as many tricks as its contract, or more, gets 10 points for each trick of the contract "
            f"and 1 for each trick beyond it, but loses 100 if those are ten or more. A side that takes fewer loses 10 "
            f"for each trick of the contract. Besides, whoever bid nil gets 100 for the side by taking no trick, and "
            f"loses 100 by taking any; the tricks count for the side all the same. Your result is your side's "
            f"points.\n"
            f"You are {SEATS[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        history: list[int] = state.history()
        plays = [_CARDS[action] for action in history[_PLAYS:]]
        hand = {_CARDS[action] for action in history[seat:_BIDS:4]}.difference(plays)
        bids = history[_BIDS:_PLAYS]
        said = [_MOVES[bid] for bid in bids]
        tricks = _ORDER.tricks(plays, 0)
        over = state.is_terminal()
        winners = [trick.winner for trick in tricks]
        taken = [winners.count(winner) for winner in range(4)]
        if style == "compact":
            legal = " ".join([_MOVES[action] for action in state.legal_actions(seat)])
            end = f"result {int(state.player_return(seat)):+d}" if over else f"legal {legal or 'none'}"
            return (
                f"hand {format_hand(hand, _SHOWN) or 'none'}\nbids {' '.join(said) or 'none'}\ntricks "
                f"{format_tricks(tricks)}\n"
                f"taken N {taken[0]} E {taken[1]} S {taken[2]} W {taken[3]}\n{end}\n"
            )
        names = NAMES[seat]
        lines = [] if over else [f"Your hand: {format_by_suit(hand, _SHOWN) or 'empty'}."]
        lines.append(f"Bids: {', '.join([f'{who} {bid}' for who, bid in zip(names, said)]) or 'none so far'}.")
        if tricks:
            tell = ", ".join([f"{who} {count}" for who, count in zip(names, taken, strict=True)])
            north, east = bids[0] + bids[2] - 2 * _NIL, bids[1] + bids[3] - 2 * _NIL
            lines += describe_tricks(tricks, seat)
            lines.append(f"Tricks taken: {tell}. Contracts: North and South {north}, East and West {east}.")
        if over:
            points = [int(state.player_return(side)) for side in (0, 1)]
            lines.append(
                f"The hand is over. Points: North and South {points[0]}, East and West {points[1]}. Your result: "
                f"{points[seat % 2]:+d}."
            )
        return "\n".join(lines) + "\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        known = format_compact_facts(self, state, seat)
        said = known["bids"].split()
        tricks = _ORDER.tricks([_CARDS[action] for action in state.history()[_PLAYS:]], 0)
        names = NAMES[seat]
        bids = [*said, *["–"] * (4 - len(said))]
        bidding = (
            [draw_table([_MOVES[_NIL : _NIL + 7], _MOVES[_NIL + 7 : _NIL + 14]], places=True)] if len(said) < 4 else []
        )
        return Picture.from_parts(
            draw_table([bids], head=[f"{name} bids" if name != "you" else "you bid" for name in names]),
            *bidding,
            *draw_tricks(tricks, seat, f"Tricks taken: {known['taken']}"),
            draw_hand(known["hand"].split(), "Your hand"),
            told=f"Your hand: {known['hand'] or 'empty'}; bids: {known['bids'] or 'none'}; taken: {known['taken']}",
        )


class SpadesGame(OpenSpielGame):
    """Spades with a sampler, which the engine lacks."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        super().__init__(spec, params, load_engine_game("spades", params), Spades())
        # The engine's bounds are -430 and 430 (spades.h). They include 200 for reaching 500 or falling to -350, which
        # is impossible in one hand from 0. They omit the loss from two failed nil bids.
        self.utility_range = (-290.0, 230.0)

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Redeal the unseen cards, uniformly over all consistent deals.

        No player gets a suit that they failed to follow. A player who led a spade had no other suit."""
        history = match.state.history()
        tricks = _ORDER.tricks([_CARDS[action] for action in history[_PLAYS:]], 0)
        out = find_voids(tricks, _ORDER)
        for trick in tricks:
            if trick.cards[0][1] == "s":
                out[trick.seats[0]] |= {"c", "d", "h"}
        hands = list_played_cards(tricks)
        hands[seat] = [_CARDS[action] for action in history[seat:_BIDS:4]]
        others = [who for who in range(4) if who != seat]
        fill_hands(hands, others, 13, _CARDS, _ORDER.suit, out, rng)
        for who in others:
            rng.shuffle(hands[who])
            history[who:_BIDS:4] = [_MOVES.index(card) for card in hands[who]]
        return self.world(match, history, rng)


game = SpadesGame
