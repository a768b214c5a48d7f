"""Hanabi as a text game: players see all cards but their own. They know their own cards only through hints."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pyspiel

from gymposium.errors import BadParameter, NoSampler
from gymposium.games.cards.hanabi_history import COLORS, Deck, HanabiHistory
from gymposium.games.cards.hand_histories import HandHistories
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, load_engine_game
from gymposium.games.openspiel.wording import format_compact_facts, match_view
from gymposium.games.pictures import Picture, draw_hand, draw_note, draw_table
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec
from gymposium.util.visible import quantity

_TRIES = 10_000
_HINTED = re.compile(r"([A-Z]+)(\d+)")
"""Pattern for the colors and numbers a card may still have: `RYG123`."""
_VIEW = re.compile(
    r"Life tokens: (\d+)\nInfo tokens: (\d+)\nFireworks: (.*) \nHands:\n((?:.*\n)*)Deck size: (\d+)\nDiscards:(.*)"
)


class Hanabi:
    """Wording for `hanabi`."""

    names = None  # the engine numbers a hint's receiver relative to its giver

    def __init__(self, deck: Deck, max_information_tokens: int, max_life_tokens: int) -> None:
        self.deck, self.hints, self.lives = deck, max_information_tokens, max_life_tokens
        self._moves = [deck.moves(seat) for seat in range(deck.players)]
        self.histories = HandHistories(lambda history: (self.start_history(), 0))
        places, seats = f"[1-{deck.hand_size}]", f"P[0-{deck.players - 1}]"
        self.move_pattern = re.compile(f"(?:play|discard) {places}|hint {seats} (?:{'|'.join(deck.kinds)})")

    def start_history(self) -> HanabiHistory:
        return HanabiHistory(self.deck, self._moves)

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        return [self._moves[seat][action] for action in actions]

    def rules(self, seat: int, style: Style) -> str:
        deck = self.deck
        copies = ", ".join([f"{n} of {rank}" for rank, n in enumerate(deck.copies, start=1)])
        if style == "compact":
            numbers = " ".join(map(str, range(1, deck.ranks + 1)))
            return (
                f"hanabi, {deck.players} players, numbers {numbers}, of each colour {copies}, hints {self.hints}, "
                f"lives {self.lives}, you are P{seat}\n"
                f"hands oldest card first, with what the owner may take it for, of your own only that; turns: behind a "
                f"hint the cards that it is of, x did not fit\n"
            )
        colors = ", ".join([f"{color} ({color[0].upper()})" for color in COLORS[: deck.colors]])
        order = ", ".join([f"P{s}" for s in range(deck.players)])
        last, example = deck.ranks, deck.kinds[0]
        other = f"P{(seat + 1) % deck.players}"
        return (
            f"Hanabi for {deck.players} players ({order}), who play together. The cards are of "
            f"{quantity(deck.colors, 'colour')}, {colors}, with numbers from 1 to {last}: in each colour {copies}, "
            f"{quantity(deck.size, 'card')} in all. Everybody holds {quantity(deck.hand_size, 'card')}. You see the "
            f"cards of all others, not your own.\n"
            f"Together you build a stack for each colour, from 1 up to {last} without gaps. The turns go in the order "
            f"{order} and round again; P0 begins. In a turn you do one of these:\n"
            f"hint {other} {example} or hint {other} 1: tell a player which of their cards are all those of a colour, "
            f"or of a number; there must be one at least. A hint takes a hint token, of which there are {self.hints}.\n"
            f"discard 1: give up a card of yours, which brings back a hint token; not possible while all "
            f"{self.hints} are there.\n"
            f"play 1: put a card of yours on the stack of its colour. If it is not the next number there, it is "
            f"discarded and a life is lost, of which there are {self.lives}. Completing a stack brings back a hint "
            f"token, if one is missing.\n"
            f"The cards of a hand are numbered from 1, the oldest. After discarding or playing you draw a new card, "
            f"the last of your hand, and the cards behind the one that is gone move up. Everybody sees which card was "
            f"discarded or played, and the others see the new one.\n"
            f"The match is over when all stacks are complete; when the last life is lost; or when, after the last card "
            f"of the deck was drawn, everybody has had one more turn. The result, the same for everybody, is the "
            f"number of cards on the stacks, or 0 if the last life was lost.\n"
            f"What a hand is known for is written as the colours and the numbers that a card may have, by the hints "
            f"and by what they left out. In the account of the turns, P0 hint P1 {example} (2 4) means that cards 2 "
            f"and 4 of P1 were shown to be all the {example} ones, and play 1 {deck.names[0]} x that card 1 was "
            f"{deck.names[0]} and did not fit.\n"
            f"You are P{seat}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        view = match_view(_VIEW, state.observation_string(seat))
        lives, hints, stacks, drawn, left, gone = view.groups()
        now = self.histories.get(state.history())
        hands = drawn.replace("Cur player\n", "").split("-----\n")  # starting at this seat
        over = state.is_terminal()
        result = f"{state.player_return(seat):g}"
        if style == "compact":
            ends = "" if now.turns_left is None or over else f" turns {now.turns_left}"
            cards = ""
            for s in range(self.deck.players):
                held = " ".join([_format_compact(card, s == seat) for card in hands[s - seat].splitlines()])
                cards += f"P{s} {held or 'none'}\n"
            legal = ", ".join(self.moves(state, seat, state.legal_actions(seat)))
            return (
                f"lives {lives} hints {hints} deck {left}{ends}\nstacks {stacks}\ngone{gone or ' none'}\n{cards}"
                f"turns {now.log or 'none'}\n{f'result {result}' if over else f'now P{now.seat}'}\n"
                f"legal {legal or 'none'}\n"
            )
        ends = f" {quantity(now.turns_left, 'turn')} to go." if now.turns_left and not over else ""
        lines = [
            f"You are P{seat}. Lives: {lives}. Hint tokens: {hints}. Cards in the deck: {left}.{ends}",
            f"Stacks: {stacks}. Discarded:{gone or ' none'}.",
        ]
        for s in range(self.deck.players):
            cards = ", ".join(
                [f"{i}: {_format_full(card)}" for i, card in enumerate(hands[s - seat].splitlines(), start=1)]
            )
            whose = "Your hand, as far as you know it" if s == seat else f"P{s}'s hand (as far as P{s} knows it)"
            lines.append(f"{whose}: {cards or 'empty'}.")
        lines.append(f"Turns so far: {now.log or 'none'}.")
        if over:
            lines.append(f"The match is over. The result: {result}.")
        else:
            lines.append(f"{'You are' if now.seat == seat else f'P{now.seat} is'} to move.")
        return "\n".join(lines) + "\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        known = format_compact_facts(self, state, seat)
        hands = []
        for owner in range(self.deck.players):
            cards = known[f"P{owner}"].split()
            shown = ["?" if owner == seat else card[:2] for card in cards]
            told = [_HINTED.sub(r"\1\n\2", card.rpartition(":")[2]) for card in cards]
            title = (
                "Your hand, and what you know of it" if owner == seat else f"P{owner}'s hand, and what P{owner} knows"
            )
            hands.append(draw_hand(shown, title, names=[""] * len(cards), notes=told, wide=66))
            if owner == seat:
                places = range(1, len(cards) + 1)
                hands.append(draw_table([[f"play {n}" for n in places], [f"discard {n}" for n in places]], places=True))
        left = known["lives"].replace("hints", "· hints").replace("deck", "· deck")
        return Picture.from_parts(
            draw_hand(known["stacks"].split(), "Stacks", names=[""] * 5),
            draw_note(f"Lives {left}\nDiscarded: {known['gone'] or 'nothing'}"),
            *hands,
            told=f"Stacks: {known['stacks']}; lives {known['lives']}",
        )


def _format_compact(card: str, own: bool) -> str:
    """Return a card in compact style.

    `W2 || WX|W12345` becomes `W2:W12345`. The seat's own `XX || WX|W12345` becomes `W12345`."""
    known = card.rpartition("|")[2]
    return known if own else f"{card[:2]}:{known}"


@cache
def _format_full(card: str) -> str:
    """Return a card in full style.

    `W2 || WX|W12345` becomes `W2 (W 12345)`. The seat's own `XX || WX|W12345` becomes `W 12345`."""
    known = card.rpartition("|")[2]
    numbers = known.lstrip("RYGWB")
    possible = f"{known.removesuffix(numbers)} {numbers}"
    return possible if card.startswith("XX") else f"{card[:2]} ({possible})"


class HanabiGame(OpenSpielGame):
    """Hanabi with a sampler and the match's public history in its view."""

    wording: Hanabi

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], deck: Deck) -> None:
        hints, lives = params["max_information_tokens"], params["max_life_tokens"]
        super().__init__(spec, params, load_engine_game("hanabi", params), Hanabi(deck, hints, lives))
        self.deck = deck
        # Each played or discarded card is replaced while the deck lasts. It may restore a hint token.
        gone = deck.size - deck.players * deck.hand_size + deck.players
        self.max_decisions = 2 * gone + hints + deck.colors

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return f"{super().render_view(state, seat)}\n{self.wording.histories.get(state.history()).log}"

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Redeal the seat's own hand, uniformly over all hands of unseen cards that fit its hints."""
        history, deck = match.state.history(), self.deck
        places, pool = self._find_hidden(history, seat)
        view = match_view(_VIEW, match.state.observation_string(seat))
        own = view[4].replace("Cur player\n", "").partition("-----\n")[0]
        known = [card.rpartition("|")[2] for card in own.splitlines()]
        may = [[i for i, card in enumerate(pool) if set(deck.names[card]) <= set(allowed)] for allowed in known]
        for _ in range(_TRIES):
            chosen = [cards[rng.randrange(len(cards))] for cards in may]
            if len(set(chosen)) < len(chosen):
                continue
            for index, i in zip(places, chosen, strict=True):
                history[index] = pool[i]
            return self.world(match, history, rng)
        raise NoSampler(
            f"{self.name}: found no other hand that fits the hints, in {_TRIES} tries. Try again with another rng."
        )

    def _find_hidden(self, history: Sequence[int], seat: int) -> tuple[list[int], list[int]]:
        """Return the history index of each card in the seat's hand, oldest first, and all cards that the hand may
        contain."""
        past = self.wording.start_history()
        places: list[int] = []
        unseen = [card for card in range(len(self.deck.names)) for _ in range(self.deck.copies[card % self.deck.ranks])]
        for index, item in enumerate(history):
            to = past.find_drawing_seat()
            if to == seat:
                places.append(index)
            elif to is not None:
                unseen.remove(item)
            elif past.seat == seat and item < 2 * self.deck.hand_size:
                unseen.remove(history[places.pop(item % self.deck.hand_size)])
            past.advance(item)
        return places, unseen


def game(spec: GameSpec, params: Mapping[str, Any]) -> HanabiGame:
    deck = Deck(params["players"], params["colors"], params["ranks"], params["hand_size"])
    if deck.players * deck.hand_size > deck.size:
        raise BadParameter(
            f"{deck.players} players with {deck.hand_size} cards each need more than the {deck.size} cards in the "
            f"deck. Choose fewer players, a smaller hand_size, or more colors or ranks."
        )
    return HanabiGame(spec, params, deck)
