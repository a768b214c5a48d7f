"""Klondike solitaire as a text game, as the engine plays it.

Instead of a stock, it has an open waste with every third card available.

The engine draws a face-down card only when it is turned up, uniformly among the unseen cards. So nothing is hidden
except future chance, and for search the game has perfect information. Players notice no difference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, make_openspiel_factory
from gymposium.games.openspiel.boards import list_action_names
from gymposium.games.pictures import Picture, draw_hand, draw_piles
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

_RANKS, _SUITS = "A23456789TJQK", "shcd"
_CARDS = frozenset(rank + suit for rank in _RANKS for suit in _SUITS)
_SUIT_NAMES = ("spades", "hearts", "clubs", "diamonds")
"""Suits in the order of the engine's foundations."""
_ASCII = str.maketrans("♠♥♣♦\N{PLAYING CARD BACK}", f"{_SUITS}?")
_PILES = 7
_REVEALED_AT_START = 31
"""Number of cards turned up at the start: each pile's last card, and the waste."""
_WASTE_STEP = 3
"""Distance between available cards in the waste."""


class Solitaire:
    """Wording for `solitaire`."""

    move_pattern = re.compile(
        r"end|[A2-9TJQK][shcd] to foundation|K[shcd] to empty pile|[A2-9TJQ][shcd] to [2-9TJQK][shcd]"
    )

    def __init__(self, engine: pyspiel.Game, depth_limit: int) -> None:
        self.limit = depth_limit
        self.names = [_name_move(text.translate(_ASCII)) for text in list_action_names(engine)]

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return (
                f"klondike solitaire, {self.limit} steps, a card turned up is one too; waste open, cards in brackets "
                f"can be taken; piles first card first, ? is face down; points: from waste 20, turning up 20, "
                f"foundation A 100 2 90 3 80 4 70 5 60 6 50 7 40 8 30 9 20 T J Q K 10, back off it the same less\n"
            )
        return (
            f"Klondike solitaire with 52 cards: A 2 3 4 5 6 7 8 9 T J Q K of spades (s), hearts (h), clubs (c) and "
            f"diamonds (d); spades and clubs are black, hearts and diamonds red. There are {_PILES} piles of 1 to "
            f"{_PILES} cards, in each the last card face up and the others face down, and a foundation for each suit, "
            f"empty at first. The other 24 cards are the waste: they lie face up in a row. Of that row the 1st, 4th, "
            f"7th and so on can be taken, those in brackets; when one is taken, the cards behind it move up by one "
            f"place. There is no stock and nothing to turn over.\n"
            f"The goal is to build each foundation from A up to K. Moves:\n"
            f"7h to foundation: the last card of a pile, or one from the waste, goes to the foundation of its suit, "
            f"where it must be the next card.\n"
            f"7h to 8c: a card goes behind the last card of a pile, which must be one rank higher and of the other "
            f"colour. It may come from the waste, from the end of a foundation, or from a pile: any card that lies "
            f"face up there, and the cards behind it go along.\n"
            f"Kh to empty pile: a king goes to a pile without cards, from the waste, or with the cards behind it from "
            f"a pile of which it is not the first card.\n"
            f"Where a face-down card comes to be the last of its pile it is turned up; any card not seen before is as "
            f"likely.\n"
            f"Points: 20 for a card from the waste, wherever it goes. 20 for a move after which a card is turned up. "
            f"For a card that goes to its foundation, A 100, 2 90, 3 80, 4 70, 5 60, 6 50, 7 40, 8 30, 9 20, T, J, Q "
            f"and K 10; for one that comes back from there, as many less. Your result is the points.\n"
            f"The match is over after {self.limit} steps. Each move is a step, and so is each card turned up, the "
            f"{_REVEALED_AT_START} at the beginning included. When there is no other move, only end is left, which "
            f"ends it "
            f"too.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        lines = state.observation_string(seat).translate(_ASCII).split("\n")
        waste = lines[0].partition(": ")[2].split()
        waste = [card if i % _WASTE_STEP else f"[{card}]" for i, card in enumerate(waste)]
        tops = [top[0] if top in _CARDS else "-" for top in lines[1].partition(": ")[2].split()]
        piles = [" ".join(line.split()) for line in lines[3:-2]]
        empty = _PILES - len(piles)
        left = max(0, self.limit - len(state.history()))  # the engine turns up a card even after the end
        points = f"{state.returns()[0]:g}"
        over = state.is_terminal()
        if style == "compact":
            legal = ", ".join([self.names[action] for action in state.legal_actions(seat)])
            shown = "".join([f"pile {pile}\n" for pile in piles])
            return (
                f"waste {' '.join(waste) or 'none'}\n"
                f"foundations {' '.join([top + suit for top, suit in zip(tops, _SUITS, strict=True)])}\n"
                f"{shown}empty {empty}\nsteps {left} points {points}\nlegal {legal or 'none'}\n"
            )
        built = ", ".join(
            [f"{suit} {'empty' if top == '-' else top}" for top, suit in zip(tops, _SUIT_NAMES, strict=True)]
        )
        end = f"The match is over. Your result: {points}." if over else f"Points: {points}. Steps left: {left}."
        drawn = "\n".join(piles)
        return (
            f"Foundations, by their last card: {built}.\n"
            f"Waste: {' '.join(waste) or 'empty'}.\n"
            f"Piles, first card first, ? face down (empty piles: {empty}):\n{drawn}\n"
            f"{end}\n"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        lines = self.position(state, seat, "compact").splitlines()
        waste = lines[0].removeprefix("waste ").split() if lines[0] != "waste none" else []
        free = [card[1:3] for card in waste if card[0] == "["]
        tops = [top if top[0] != "-" else "" for top in lines[1].split()[1:]]
        columns = [line.split()[1:] for line in lines if line.startswith("pile ")]
        built = draw_hand(tops, "Foundations", names=["foundation"] * 4, notes=_SUIT_NAMES, wide=62)
        back = [place._replace(name=top) for place, top in zip(built.places, tops) if top]
        return Picture.from_parts(
            built._replace(places=(*built.places, *back)),
            draw_hand(
                [card.strip("[]") for card in waste],
                "Waste; the marked cards can be taken",
                names=[card[1:3] if card[0] == "[" else "" for card in waste],
                last=free,
            ),
            draw_piles(columns, most=_PILES, empty="empty"),
            told=f"{lines[1]}; piles: {', '.join(map(' '.join, columns))}",
        )


def _name_move(text: str) -> str:
    """Return a move as text: `3h ← 2s` → `2s to 3h`."""
    target, _, card = text.partition(" ← ")
    if not card:
        return "end" if text == "kEnd" else f"turn up {text.removeprefix('Reveal')}"
    if target not in _CARDS:
        return f"{card} to {'foundation' if card[0] == 'A' else 'empty pile'}"
    return f"{card} to {'foundation' if target[1] == card[1] else target}"


class SolitaireGame(OpenSpielGame):
    """Klondike as a perfect-information game, with a step count in its view."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, words: Solitaire) -> None:
        super().__init__(spec, params, engine, words)
        self.hides = False
        self.max_decisions -= _REVEALED_AT_START

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{state.observation_string(seat)}\n{len(state.history())}"


game = make_openspiel_factory("solitaire", Solitaire, SolitaireGame)
