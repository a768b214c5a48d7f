"""Blackjack as a text game: one player against the dealer, with one deck and no bets."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, make_openspiel_factory
from gymposium.games.openspiel.wording import format_compact_facts
from gymposium.games.pictures import Picture, draw_hand
from gymposium.games.protocol import CHANCE, Event, Style

_MOVES = ("hit", "stand")
_CARDS = 52
_HIDDEN = 2
"""Index of the dealer's hidden card among the dealt cards."""
_END = {1: "You win", 0: "It is a tie", -1: "You lose"}


class Blackjack:
    """Wording for `blackjack`."""

    move_pattern = re.compile(r"hit|stand")
    names = _MOVES

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return "blackjack, one deck, dealer draws to 17, you against the dealer\n"
        return (
            "Blackjack for one player against the dealer, with one deck of 52 cards. The cards 2 to 9 count their "
            "number, T, J, Q and K 10, and an ace 11, or 1 where 11 would bring the total above 21.\n"
            "You and the dealer are dealt two cards each; one of the dealer's is hidden. hit draws a card: above 21 "
            "you lose at once. stand ends your turn: the dealer shows the hidden card and draws while the dealer's "
            "total is 16 or less. If the dealer comes above 21 you win; otherwise the higher total wins, and equal "
            "totals are a tie. An ace with a ten is worth no more than any other 21.\n"
            "Your result is 1 if you win, 0 for a tie, -1 if you lose.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        lines = state.observation_string(seat).splitlines()  # phase, player to move, then both hands
        mine, dealers = parse_cards(lines[2]), parse_cards(lines[3])
        over = state.is_terminal()
        total = count_total(mine)
        if style == "compact":
            end = f"result {int(state.player_return(seat)):+d}\nlegal none\n" if over else "legal hit stand\n"
            return f"cards {' '.join(mine)}\ntotal {total}\ndealer {' '.join(dealers)}\n{end}"
        own = f"Your cards: {' '.join(mine)} (total {total})."
        if not over:
            return f"{own} The dealer shows {dealers[1]}; the dealer's other card is hidden.\n"
        end = _END[int(state.player_return(seat))]
        return f"{own} The dealer's cards: {' '.join(dealers)} (total {count_total(dealers)}). {end}.\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        known = format_compact_facts(self, state, seat)
        return Picture.from_parts(
            draw_hand(known["dealer"].split(), "The dealer's cards", names=[""] * 12),
            draw_hand(known["cards"].split(), f"Your cards: {known['total']}", names=[""] * 12),
            told=f"The dealer's cards: {known['dealer']}; your cards: {known['cards']}, {known['total']} in total",
        )


def parse_cards(line: str) -> list[str]:
    """Return the cards in an engine line: `Dealer: Cards: ?? HA` → `?`, `Ah`."""
    return [card[1] + card[0].lower() if card != "??" else "?" for card in line.partition("Cards: ")[2].split()]


def count_total(cards: Sequence[str]) -> int:
    ranks = [card[0] for card in cards]
    total = sum([10 if rank in "TJQK" else 1 if rank == "A" else int(rank) for rank in ranks])
    return total + 10 if "A" in ranks and total <= 11 else total


class BlackjackGame(OpenSpielGame):
    """Blackjack with the engine's observation as its view: all dealt cards, including the hidden card after the end."""

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Redraw the hidden card from the cards that the seat has not seen."""
        history = match.state.history()
        if match.to_move():
            drawn = [event.seat == CHANCE for event in match.events]
            seen = {card for number, card in enumerate(history) if drawn[number] and number != _HIDDEN}
            unseen = [card for card in range(_CARDS) if card not in seen]
            history[_HIDDEN] = unseen[int(rng.random() * len(unseen))]
        return self.world(match, history, rng)

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        return str(state.observation_string(seat))


game = make_openspiel_factory("blackjack", lambda engine: Blackjack(), BlackjackGame)
