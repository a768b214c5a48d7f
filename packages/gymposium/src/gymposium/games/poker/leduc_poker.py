"""Leduc poker as a text game (Southey et al., 2005). The engine's cards 0 … 5 are Js Jh Qs Qh Ks Kh."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import ORDER
from gymposium.games.openspiel.wording import format_compact_facts
from gymposium.games.pictures import Picture, draw_hand, draw_note, draw_table
from gymposium.games.protocol import Event, Style

_CARDS = ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")
_MOVES = ("fold", "call", "raise")
FIELD = re.compile(r"\[([A-Za-z0-9]+):? ?([^\]]*)\]")
START = 100  # the engine's stack before the ante


class LeducPoker:
    """Wording for `leduc_poker` with two players."""

    move_pattern = re.compile(r"fold|call|raise")
    names = _MOVES

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"leduc poker, you act {ORDER[seat]} in each round\n"
        return (
            "Leduc poker for two players with six cards: two jacks (Js, Jh), two queens (Qs, Qh) and two kings "
            "(Ks, Kh). Each player puts 1 chip into the pot and gets one private card. After a first round of "
            "betting one public card is turned up, and a second round follows.\n"
            "raise brings your chips in the pot to 2 more than the other player's in the first round, and to 4 more "
            "in the second; a round has at most two raises, counting both players. call matches the other player's "
            "chips (or passes, where there is nothing to match). fold gives up the pot, and is legal only in answer "
            "to a raise. A round ends when a raise is called or both players have passed.\n"
            "At the showdown a card of the public card's rank (a pair) wins, otherwise the higher rank (king, queen, "
            "jack); equal ranks share the pot. Suits do not matter.\n"
            "Your result is the chips that you win or lose, from -13 to 13.\n"
            f"You act {ORDER[seat]} in each round.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        legal = " ".join([_MOVES[action] for action in state.legal_actions(seat)]) if style == "compact" else ""
        return _render_view(state.information_state_string(seat), seat, style, legal)

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        view = state.information_state_string(seat)
        rounds = re.findall(r"\[Round\d: ([^\]]*)\]", view)
        known = format_compact_facts(self, state, seat)
        card, public = known["card"], known["public"]
        said = [[_MOVES[int(move)] for move in moves.split()] for moves in rounds]
        rows = [
            [
                f"round {number}",
                ", ".join([f"{('you', 'other')[turn % 2 != seat]} {move}" for turn, move in enumerate(moves)]),
            ]
            for number, moves in enumerate(said, start=1)
        ]
        mine, _, theirs = known.get("pot", "").partition(" ")
        pot = [draw_note(f"Chips in the pot: you {mine}, your opponent {theirs}.")] if mine else []
        return Picture.from_parts(
            draw_hand([card, public or "?", "?"], "Cards", names=["", "", ""], notes=["yours", "public", "other"]),
            draw_table(rows, widths=(1, 3)),
            *pot,
            told=f"Your card: {card}; the public card: {public or 'not turned up yet'}",
        )


@lru_cache(maxsize=4096)  # 936 information states per style
def _render_view(view: str, seat: int, style: Style, legal: str) -> str:
    """Return the text for an engine view such as `[Observer: 0][Private: 2]…[Money: 99 99][Round1: 1 2][Round2: ]`.

    The compact style also lists the legal moves."""
    fields = dict(FIELD.findall(view))
    private = _CARDS[int(fields["Private"])]
    public = _CARDS[int(fields["Public"])] if "Public" in fields else None
    rounds = [[_MOVES[int(m)] for m in fields[key].split()] for key in ("Round1", "Round2")]
    money = [int(m) for m in fields["Money"].split()]
    mine, theirs = START - money[seat], START - money[1 - seat]
    over = fields["Pot"] == "0"  # the engine has paid out the pot, so stacks show the result, not the stakes
    if style == "compact":
        return (
            f"card {private}\npublic {public or 'none'}\n"
            f"round 1 {' '.join(rounds[0]) or 'none'}\nround 2 {' '.join(rounds[1]) or 'none'}\n"
            f"{f'result {-mine:+d}' if over else f'pot {mine} {theirs}'}\nlegal {legal or 'none'}\n"
        )
    lines = [f"Your card: {private}. Public card: {public or 'not turned up yet'}."]
    for number, moves in enumerate(rounds, start=1):
        if number == 2 and public is None:
            break
        past = ", ".join(f"you {move}" if i % 2 == seat else f"your opponent {move}s" for i, move in enumerate(moves))
        lines.append(f"Round {number}: {past or 'nobody has acted yet'}.")
    if over:
        lines.append(f"The hand is over. Chips won or lost: you {-mine:+d}, your opponent {-theirs:+d}.")
    else:
        lines.append(f"Chips in the pot: you {mine}, your opponent {theirs}.")
    return "\n".join(lines) + "\n"


game = make_openspiel_factory("leduc_poker", lambda engine: LeducPoker())
