"""Kuhn poker as a text game (H. W. Kuhn, 1950). Cards J, Q, K are the engine's 0, 1, 2."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import ORDER
from gymposium.games.openspiel.wording import format_compact_facts
from gymposium.games.pictures import Picture, draw_hand, draw_note, draw_table
from gymposium.games.protocol import Event, Style

_CARDS = "JQK"
_MOVES = {"p": "pass", "b": "bet"}


class KuhnPoker:
    """Wording for `kuhn_poker` with two players."""

    move_pattern = re.compile(r"pass|bet")
    names = ("pass", "bet")

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"kuhn poker, you act {ORDER[seat]}\n"
        return (
            "Kuhn poker for two players with three cards: jack (J), queen (Q) and king (K), the king highest. "
            "Each player puts 1 chip into the pot and gets one card, which only that player sees; the third card "
            "stays hidden.\n"
            "The first player passes or bets 1 chip. To answer a bet, bet puts in 1 chip too (a call) and pass gives "
            "up the pot. To answer a pass, pass goes to the showdown and bet puts in 1 chip, which the first player "
            "must then answer in the same way. At the showdown the higher card takes the pot.\n"
            "Your result is the chips that you win or lose, from -2 to 2.\n"
            f"You act {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        return _render_view(state.information_state_string(seat), seat, style, not state.is_terminal())

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        known = format_compact_facts(self, state, seat)
        moves = known["moves"].split()
        rows = [["you" if turn % 2 == seat else "opponent", move] for turn, move in enumerate(moves)]
        chips = [1 + sum(move == "bet" for turn, move in enumerate(moves) if turn % 2 == by) for by in (seat, 1 - seat)]
        return Picture.from_parts(
            draw_hand([known["card"], "?"], "Cards", names=["", ""], notes=["you", "other"]),
            draw_table(rows or [["nobody has acted yet"]]),
            draw_note(f"Chips in the pot: you {chips[0]}, your opponent {chips[1]}."),
            told=f"Your card: {known['card']}; moves: {known['moves'] or 'none'}",
        )


@cache  # twelve information states per style
def _render_view(view: str, seat: int, style: Style, live: bool) -> str:
    """Return the text for an engine view such as `1pb`: the card, then every move so far."""
    card, moves = _CARDS[int(view[0])], [_MOVES[m] for m in view[1:]]
    if style == "compact":
        legal = "pass bet" if live and len(moves) % 2 == seat else "none"
        return f"card {card}\nmoves {' '.join(moves) or 'none'}\nlegal {legal}\n"
    if not moves:
        past = "Nobody has acted yet."
    else:
        past = " ".join(
            f"{'You' if i % 2 == seat else 'Your opponent'} chose to {move}." for i, move in enumerate(moves)
        )
    chips = [1 + sum(m == "bet" for i, m in enumerate(moves) if i % 2 == s) for s in (seat, 1 - seat)]
    return f"Your card: {card}. {past} Chips in the pot: you {chips[0]}, your opponent {chips[1]}.\n"


game = make_openspiel_factory("kuhn_poker", lambda engine: KuhnPoker())
