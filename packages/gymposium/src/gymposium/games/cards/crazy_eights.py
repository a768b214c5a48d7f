"""Crazy eights as a text game: a single hand. The rules state the engine's unusual penalties for leftover cards."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import pyspiel

from gymposium.errors import NoSampler
from gymposium.games.cards.crazy_eights_history import (
    CARDS,
    DEALER,
    SUITS,
    CrazyEightsHistory,
    HandRules,
    iterate_history,
    start_history,
)
from gymposium.games.cards.hand_histories import HandHistories
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, load_engine_game
from gymposium.games.openspiel.boards import format_legal
from gymposium.games.openspiel.wording import format_compact_facts, match_view
from gymposium.games.pictures import Picture, draw_hand, draw_note, draw_table
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

_TRIES = 1000
_VIEW = re.compile(
    r"Suit C: (.*)\nSuit D: (.*)\nSuit H: (.*)\nSuit S: (.*)\n"
    r"Previous card: (.)(.)\nPrevious suit: (.)\n.*have: (.*) cards"
)
_SUITS = dict(zip("CDHS", SUITS))
_RESHUFFLE_RULES = (
    "The stock is not renewed.",
    "When the stock is empty, the pile but for its top card is shuffled and is the new stock.",
)
_DRAW_TWO_NOTE = " Drawing exactly the rest of the stock for 2s counts as a pass here."
_NAMES = [*CARDS, "draw", "pass", *SUITS]


def _score_card(card: int) -> int:
    """Return the points of a leftover card. They depend on the card's number, as in crazy_eights.cc (ScoreUp)."""
    rank = card // 4
    return 50 if rank == 6 else 10 if rank >= 9 else card + 2


MAX_PENALTY = sum(map(_score_card, range(len(CARDS)))) - _score_card(0)
"""Total points of all cards except the one on the pile."""


class CrazyEights:
    """Wording for `crazy_eights` with one deck."""

    move_pattern = re.compile(rf"draw|pass|{'|'.join(SUITS)}|[2-9TJQKA][cdhs]")
    names = _NAMES

    def __init__(
        self, players: int, max_draw_cards: int, max_turns: int, use_special_cards: bool, reshuffle: bool
    ) -> None:
        self.players, self.max_draw, self.max_plays = players, max_draw_cards, max_turns
        self.specials, self.reshuffle = use_special_cards, reshuffle
        self.table = HandRules(players, use_special_cards, reshuffle)
        self.histories = HandHistories(partial(start_history, self.table))

    def rules(self, seat: int, style: Style) -> str:
        n, draws = self.players, self.max_draw
        if style == "compact":
            extra = ", 2 draw two or play a 2, Q skips, A turns round" if self.specials else ""
            renewed = "pile becomes stock" if self.reshuffle else "stock not renewed"
            return (
                f"crazy eights, {n} players, draw up to {draws} a turn, then play or pass, 8 names a suit{extra}, "
                f"{renewed}, over after {self.max_plays} cards played or {n + 1} passes in a row without stock\n"
                f"points lost for cards left: 8 50, J Q K A 10, others 4 times the number less 6, d 1 h 2 s 3 more\n"
                f"turns: +2 is two cards drawn, then what was played; you are P{seat}\n"
            )
        order = ", ".join([f"P{s}" for s in range(n)])
        return (
            f"Crazy eights for {n} players ({order}), one hand, with 52 cards: 2 3 4 5 6 7 8 9 T J Q K A of clubs (c), "
            f"diamonds (d), hearts (h) and spades (s). One player is drawn to be the dealer. Everybody is dealt "
            f"{self.table.hands // n} cards, and one is turned up to begin the pile; an 8 is put back and "
            f"another one turned up. Turns go in the order {order} and round again, beginning behind the dealer.\n"
            f"In your turn you put a card on the pile that has the suit or the rank of the top card, or any 8. Whoever "
            f"plays an 8 then names a suit, as a move of its own: the next card must have that suit, or be an 8.\n"
            f"Before you play you may draw cards from the stock, one by one, at most {draws} in a turn, whether you "
            f"could play or not. When you have drawn {draws}, or there is no stock, you must play or pass; sooner you "
            f"cannot pass. {_RESHUFFLE_RULES[self.reshuffle]}\n"
            f"{self._describe_specials()}"
            f"The hand is over when somebody has no cards left, when {self.max_plays} cards have been played, counting "
            f"everybody's, or when there is no stock and players have passed {n + 1} times in a "
            f"row.{_DRAW_TWO_NOTE if self.specials else ''}\n"
            f"Each card that you have left costs points: an 8 50; J, Q, K and A 10; any other four times its number (T "
            f"is 10) less 6, and 1 more if it is a diamond, 2 a heart, 3 a spade, so 2c costs 2 and Ts 37. Your result "
            f"is minus these points; the greatest result wins.\n"
            f"In the account of the turns, P1 +2 7h means that P1 drew two cards and then played 7h. Behind an 8 "
            f"stands the suit that was named.\n"
            f"You are P{seat}.\n"
        )

    def _describe_specials(self) -> str:
        if not self.specials:
            return ""
        again = " With two players the turn is yours again." if self.players == 2 else ""
        same = " With two players that changes nothing." if self.players == 2 else ""
        return (
            f"After a 2 the next player either plays another 2, of any suit, or draws two cards, and two more for each "
            f"2 played right before, which ends the turn; what the stock does not have is not drawn, and a 2 played "
            f"when there is no stock is a card like any other. A Q skips the next player.{again} An A turns the order "
            f"round.{same} The first card turned up counts as if the dealer had played it.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        view = match_view(_VIEW, state.observation_string(seat))
        now = self.histories.get(state.history())
        suits = (_parse_row(view[1], "c"), _parse_row(view[2], "d"), _parse_row(view[3], "h"), _parse_row(view[4], "s"))
        hand = [suit for suit in suits if suit]
        top = view[6] + view[5].lower()
        named = _SUITS[view[7]] if view[6] == "8" and not now.is_naming else ""
        counts = view[8].split(", ")  # starting at this seat
        held = [f"P{s} {counts[s - seat]}" for s in range(self.players)]
        over = state.is_terminal()
        result = f"{state.player_return(seat):g}" if over else ""
        if style == "compact":
            way = f"way {'up' if now.direction > 0 else 'down'} due {now.due}\n" if self.specials else ""
            return (
                f"hand {' '.join(hand) or 'none'}\ntop {top}{f' {named}' if named else ''}\n"
                f"cards {' '.join(held)} stock {now.stock}\nturns {now.log}\n{way}"
                f"{f'result {result}' if over else f'now P{now.seat} drawn {now.drawn}'}\n"
                f"{format_legal(state, seat, _NAMES)}"
            )
        way = f" Turns go {'up' if now.direction > 0 else 'down'} by number." if self.specials else ""
        return (
            f"You are P{seat}. Your hand: {', '.join(hand) or 'empty'}.\n"
            f"Top card: {top}{f', and the suit named is {named}' if named else ''}.{way}\n"
            f"Cards held: {', '.join(held)}. Stock: {now.stock}.\n"
            f"Turns so far: {now.log}.\n"
            f"{f'The hand is over. Your result: {result}.' if over else self._describe_task(now, seat)}\n"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        known = format_compact_facts(self, state, seat)
        top, _, named = known["top"].partition(" ")
        held, _, stock = known["cards"].partition(" stock ")
        parts = held.split(" ")
        rows = [[" ".join(pair) for pair in zip(parts[::2], parts[1::2])]]
        naming = [draw_table([list(SUITS)], places=True)] if set(SUITS) <= set(known["legal"].split()) else []
        return Picture.from_parts(
            draw_hand([top, "?"], "The pile and the stock", names=["", "draw"], notes=[named, stock]),
            draw_hand(known["hand"].split(), "Your hand"),
            draw_note("Cards held:"),
            draw_table(rows, last=rows[0][seat]),
            *naming,
            told=f"The top card: {known['top']}; your hand: {known['hand'] or 'empty'}",
        )

    def _describe_task(self, now: CrazyEightsHistory, seat: int) -> str:
        if now.seat != seat:
            return f"P{now.seat} is to act."
        if now.is_naming:
            return "You are to act: name a suit."
        if now.due:
            return f"You are to act: draw {min(now.due, now.stock)} cards at once, or play a 2."
        return f"You are to act. Cards that you have drawn in this turn: {now.drawn} of at most {self.max_draw}."


@cache  # 8,192 rows for each suit
def _parse_row(row: str, suit: str) -> str:
    """Return the cards in an engine row: `23 5       K ` → `2h 3h 5h Kh`."""
    return " ".join([rank + suit for rank in row.replace(" ", "")])


class CrazyEightsGame(OpenSpielGame):
    """Crazy eights with a sampler and the hand's public history in its view."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        words = CrazyEights(**params)
        super().__init__(spec, params, load_engine_game("crazy_eights", params), words)
        self.table, self.histories = words.table, words.histories
        # The engine's bound is -544 for every rule set, but it scores by different points.
        self.utility_range = (-float(MAX_PENALTY), 0.0)
        # The engine's length bound is 10,000. Before the stock is empty, a player who passes has drawn cards.
        stocks = words.max_plays + 1 if words.reshuffle else 1  # reshuffled at most once between two plays
        draws = stocks * len(CARDS)
        self.max_decisions = words.max_plays * (3 + words.players) + draws + draws // words.max_draw

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        now = self.histories.get(state.history())
        return f"{super().render_view(state, seat)}\n{now.log} +{now.drawn}"

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Redraw the cards that the seat cannot see, uniformly over all assignments consistent with its view."""
        history = match.state.history()
        hands = self.table.hands
        put_back = history[1 + hands : self.table.find_first_card(history)]
        for _ in range(_TRIES):
            cards = _redeal(self.table, history, seat, rng)
            if any(card in put_back and index <= hands for index, card in cards.items()):
                continue  # no hand may hold an eight that was turned up and put back
            return self.world(match, [cards.get(index, action) for index, action in enumerate(history)], rng)
        raise NoSampler(
            f"{self.name}: found no deal without the eights that were put back, in {_TRIES} tries. Try again with "
            "another rng."
        )


def _redeal(rules: HandRules, history: Sequence[int], seat: int, rng: random.Random) -> dict[int, int]:
    """Return new cards for the other seats, keyed by their index in the history.

    A seat got each card it played by a deal or a draw, from the stock that last held the card. In the order of play,
    each of these cards is assigned to a uniformly chosen free draw of its seat from that stock. The number of free
    draws does not depend on earlier choices, so all assignments are equally likely. Each stock's other cards fill its
    remaining draws in random order."""
    pile = [history[rules.find_first_card(history)]]
    left = [set(range(len(CARDS))).difference(pile)]
    """Cards in each stock that are not assigned yet; the first stock includes the dealt hands."""
    stock_of = dict.fromkeys(left[0], 0)
    """The stock that last held each card."""
    free: dict[tuple[int, int], list[int]] = {}
    """History indices of unassigned draws, by seat and stock."""
    new: dict[int, int] = {}

    def drew(who: int, stock: int, index: int) -> None:
        if who == seat:
            left[stock].remove(history[index])
        else:
            free.setdefault((who, stock), []).append(index)

    for index in range(1, 1 + rules.hands):
        drew((history[0] - DEALER + index) % rules.players, 0, index)
    for index, item, before in iterate_history(rules, history):
        while len(left) <= before.reshuffles:
            left.append(set(pile[:-1]))
            stock_of.update(dict.fromkeys(pile[:-1], len(left) - 1))
            del pile[:-1]
        if before.is_drawing:
            drew(before.seat, before.reshuffles, index)
        elif item < len(CARDS):
            pile.append(item)
            if before.seat != seat:
                stock = stock_of[item]
                places = free[before.seat, stock]
                new[places.pop(rng.randrange(len(places)))] = item
                left[stock].remove(item)
    for stock, cards in enumerate(left):
        places = [index for (_, number), indices in free.items() if number == stock for index in indices]
        new.update(zip(places, rng.sample(sorted(cards), len(places)), strict=True))
    return new


game = CrazyEightsGame
