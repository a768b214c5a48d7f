"""Liar's dice as a text game: two players and one challenge. The engine's highest face is wild."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.adapter import make_openspiel_factory
from gymposium.games.openspiel.boards import ORDER, format_legal
from gymposium.games.openspiel.wording import format_compact_facts
from gymposium.games.pictures import Picture, draw_dice, draw_table
from gymposium.games.protocol import Event, Style

_RULE = {
    "reset-face": "either more dice, of any face, or as many dice of a higher face",
    "reset-quantity": "either a higher face, on any number of dice, or more dice of the same face",
}
_RAISE = {
    "reset-face": "more dice, or as many of a higher face",
    "reset-quantity": "a higher face, or more dice of the same",
}


class LiarsDice:
    """Wording for `liars_dice`. The engine numbers actions from the lowest bid up. The last one is `liar`."""

    move_pattern = re.compile(r"[1-9]\d?x[1-9]|liar")

    def __init__(self, engine: pyspiel.Game, numdice: int, dice_sides: int, bidding_rule: str) -> None:
        self.numdice, self.dice_sides, self.bidding_rule = numdice, dice_sides, bidding_rule
        quantities, faces = range(1, 2 * numdice + 1), range(1, dice_sides + 1)
        if bidding_rule == "reset-face":
            bids = [f"{quantity}x{face}" for quantity in quantities for face in faces]
        else:
            bids = [f"{quantity}x{face}" for face in faces for quantity in quantities]
        self.names = [*bids, "liar"]

    def rules(self, seat: int, style: Style) -> str:
        n, sides = self.numdice, self.dice_sides
        if style == "compact":
            return (
                f"liar's dice, {_count_dice(n)} each, faces 1 to {sides}, {sides} is wild, you bid {ORDER[seat]}\n"
                f"2x{sides - 1} claims that two dice or more show {sides - 1}; raise: {_RAISE[self.bidding_rule]}; "
                f"or say liar\n"
            )
        wild = f"{sides - 1} or {sides}" if sides > 2 else "1 or 2"
        return (
            f"Liar's dice for two players. Each has rolled {_count_dice(n)} with the faces 1 to {sides}, which "
            f"the other does not see. Players take turns to bid on what all {2 * n} dice show together: "
            f"2x{sides - 1} claims that two of them or more show {sides - 1}. {sides} is wild: a die that shows it "
            f"counts as every face (2x{sides - 1} is true if two dice show {wild}; a bid on {sides} counts only "
            f"dice that show {sides}).\n"
            f"Each bid must be higher than the last: {_RULE[self.bidding_rule]}. Instead of bidding, a player may "
            f"say liar to the other's last bid. That ends the game: if the bid is true its bidder wins, otherwise "
            f"the one who said liar. Who wins gets 1, who loses -1.\n"
            f"You bid {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        dice, *made = state.information_state_string(seat).split(" ")
        moves = [move.replace("-", "x").replace("L", "l") for move in made]  # the engine's `2-3` and `Liar`
        over = state.is_terminal()
        result = int(state.player_return(seat)) if over else 0
        if style == "compact":
            end = f"result {result:+d}\n" if over else ""
            return (
                f"dice {' '.join(dice)}\nbids {' '.join(moves) or 'none'}\n{end}{format_legal(state, seat, self.names)}"
            )
        mine = f"You rolled {_join_dice(dice)}. Your opponent's {'die is' if self.numdice == 1 else 'dice are'} hidden."
        if not moves:
            return f"{mine}\nNobody has bid yet.\n"
        bids = moves[:-1] if over else moves
        past = ", ".join([f"{'you' if turn % 2 == seat else 'your opponent'} {bid}" for turn, bid in enumerate(bids)])
        if not over:
            return f"{mine}\nBids so far: {past}.\n"
        called = len(bids) % 2 == seat
        who = "You said liar to your opponent's" if called else "Your opponent said liar to your"
        truth = "true" if (result > 0) != called else "false"
        return f"{mine}\nBids: {past}.\n{who} {bids[-1]}, which was {truth}: you {_END[result]}.\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        known = format_compact_facts(self, state, seat)
        mine, made = known["dice"].split(), [bid for bid in known["bids"].split() if bid != "liar"]
        bids = self.names[:-1]
        last = made[-1] if made else ""
        rows = [[bid for bid in bids if bid.startswith(f"{n}x")] for n in range(1, 2 * self.numdice + 1)]
        passed = bids[: bids.index(last)] if last else ()
        return Picture.from_parts(
            draw_dice(mine, "Your dice"),
            draw_dice(["?"] * self.numdice, "Your opponent's dice"),
            draw_table(rows, last=last, faded=passed, places=True),
            told=f"Your dice: {known['dice']}; bids so far: {' '.join(made) or 'none'}",
        )


_END = {1: "win", -1: "lose"}


def _count_dice(n: int) -> str:
    return "one die" if n == 1 else f"{n} dice"


def _join_dice(dice: str) -> str:
    return dice if len(dice) == 1 else f"{', '.join(dice[:-1])} and {dice[-1]}"


game = make_openspiel_factory("liars_dice", LiarsDice, players=2)
