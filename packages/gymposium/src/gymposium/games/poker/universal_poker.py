"""Texas hold'em as a text game: one hand of the engine's universal poker."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, load_engine_game
from gymposium.games.openspiel.wording import format_compact_facts
from gymposium.games.pictures import Picture, draw_hand, draw_note, draw_table
from gymposium.games.poker.holdem import CARDS, RAISES, ROUNDS, TURNED_UP, BettingRules, Hand
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

_FOLD, _CALL = 0, 1
_MOST_AT_LIMIT = 4
"""Maximum number of players in limit games.

With more, the engine crashes, because it allocates one stack per round (ACPC's game.c)."""
_VERBS = {
    "fold": ("folds", "fold"),
    "check": ("checks", "check"),
    "call": ("calls", "call"),
    "raise": ("raises", "raise"),
    "pot": ("bets the pot", "bet the pot"),
    "all-in": ("goes all-in", "go all-in"),
}


class UniversalPoker:
    """Wording for `universal_poker` as Texas hold'em."""

    names = None  # the engine's call is a check if there is nothing to call

    def __init__(self, table: BettingRules) -> None:
        self.table = table
        self._moves = ("fold", "call", "raise") if table.limit else ("fold", "call", "pot", "all-in")
        self.move_pattern = re.compile("|".join(["check", *self._moves]))

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        call = self._moves[_CALL] if _FOLD in state.legal_actions() else "check"
        return [call if action == _CALL else self._moves[action] for action in actions]

    def rules(self, seat: int, style: Style) -> str:
        table = self.table
        seats, me, kind = table.seats, table.seats[seat], "Limit" if table.limit else "No-limit"
        if style == "compact":
            if table.limit:
                sizes = f"raises {_join_numbers(table.sizes)}, at most {_join_numbers(RAISES)} a round"
            else:
                sizes = f"stacks {table.stack}, pot is a raise by the pot"
            return (
                f"{kind.lower()} texas hold'em, seats {' '.join(seats)}, {seats[-1]} deals, blinds {table.small} "
                f"{table.big}, {sizes}, you are {me}\n"
                f"behind a move stand the chips that its player has put in during the round, blinds included\n"
            )
        if table.players == 2:
            around = "The seats are SB (small blind), who is the dealer, and BB (big blind)."
            order = "Before the flop SB acts first, later BB."
        else:
            between = "".join([f"{name}, " for name in seats[2:-1]])
            around = f"The seats in turn are SB (small blind), BB (big blind), {between}and BTN, who is the dealer."
            order = f"Before the flop {seats[table.first]} acts first and BB last, later the first seat still in."
        stacks = "Nobody can run out of chips" if table.limit else f"Everybody has {_count_chips(table.stack)}"
        return (
            f"{kind} Texas hold'em for {table.players} players, one hand, with 52 cards: 2 3 4 5 6 7 8 9 T J Q K A of "
            f"clubs (c), diamonds (d), hearts (h) and spades (s). {around}\n"
            f"{stacks}. SB puts {_count_chips(table.small)} into the pot and BB {_count_chips(table.big)}. Each "
            f"player gets two "
            f"cards, which only that player sees. There are four rounds of betting: before the flop; after the flop, "
            f"three cards turned up for everybody; after a fourth, the turn; and after a fifth, the river. {order}\n"
            f"fold gives up the hand, and is possible only where somebody has put in more than you. Where nobody has, "
            f"check passes the turn on; otherwise call puts in what you lack. {self._describe_raises()} A round ends "
            f"when "
            f"everybody still in has acted and has put in the same. Behind a move you will see in brackets what its "
            f"player has put in during the round, blinds included.\n"
            f"If all others fold, whoever is left takes the pot. Otherwise those left show their cards after the last "
            f"round, and the best five cards out of a player's two and the five turned up take the pot. From best to "
            f"worst: straight flush, four of a kind, full house, flush, straight, three of a kind, two pair, one "
            f"pair, high card. Between two of the same kind the higher ranks decide, first those that make the kind, "
            f"then the others. An ace may also stand below the 2 in a straight. Suits are equal. Equal hands share "
            f"the pot evenly, in fractions of chips if need be.\n"
            f"Your result is the chips that you win or lose, from -{table.most_lost} to "
            f"{table.most_lost * (table.players - 1)}.\n"
            f"You are {me}.\n"
        )

    def _describe_raises(self) -> str:
        table = self.table
        if table.limit:
            small, _, big, _ = table.sizes
            first, *_, later = RAISES
            return (
                f"raise puts in what you lack and {_count_chips(small)} more, after turn and river "
                f"{_count_chips(big)} more. "
                f"Before the flop there are at most {first} raises, counting everybody's, and {later} in each later "
                f"round."
            )
        return (
            "pot is a raise by the size of the pot: it puts in what you lack, and then as much as the pot holds with "
            "that. all-in puts in all the chips that you have left. There are no other raises. pot is not possible "
            "where you have too few chips for it; where it takes exactly what you have left, it is listed and all-in "
            "is not. When somebody is all-in and everybody still in has called, the other cards are turned up without "
            "further betting."
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        history, player = state.history(), state.current_player()
        hand = self.table.parse_hand(state.information_state_string(seat), history)
        over = player < 0
        costs = [] if over else self._list_costs(hand, player, state.legal_actions())
        shown = [(s, join_cards(find_hole_cards(history, s))) for s in hand.find_shown_seats()] if over else []
        result = f"{state.player_return(seat):+g}" if over else None
        if style == "compact":
            legal = " ".join(self.moves(state, seat, state.legal_actions(seat)))
            lines = [f"cards {join_cards(find_hole_cards(history, seat))}", *self._render_compact(hand, shown)]
            lines.append(f"costs {' '.join(costs) or 'none'}" if result is None else f"result {result}")
            return "\n".join(lines) + f"\nlegal {legal or 'none'}\n"
        names = [*self.table.seats[:seat], "you", *self.table.seats[seat + 1 :]]
        lines = [f"You are {self.table.seats[seat]}. Your cards: {join_cards(find_hole_cards(history, seat))}."]
        lines += self._render_full(hand, names, seat)
        if shown:
            lines.append(f"Cards shown: {', '.join([f'{names[s]} {cards}' for s, cards in shown])}.")
        if result is not None:
            lines.append(f"The hand is over. Your result: {result}.")
        elif player == seat:
            lines.append(f"You are to act. Chips that it takes: {', '.join(costs)}.")
        else:
            lines.append(f"{names[player]} is to act.")
        return "\n".join(lines) + "\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        known = format_compact_facts(self, state, seat)
        board = known["board"].split()
        rounds = [[first, known[first]] for first in known if first in ("flop", "turn", "river")]
        before = known.get("before", "").removeprefix("the flop ").removesuffix("none")
        chips, _, shares = known["pot"].partition(" of ")
        parts = shares.split(" ")
        held = [" ".join(pair) for pair in zip(parts[::2], parts[1::2])]
        return Picture.from_parts(
            draw_hand(known["cards"].split(), f"Your cards ({self.table.seats[seat]})"),
            draw_hand([*board, *["?"] * (5 - len(board))], "On the table"),
            draw_note(f"The pot holds {chips} chips: {', '.join(held)}."),
            draw_table(
                [["before the flop", before or "–"], *[[name, said or "–"] for name, said in rounds]], widths=(1, 3)
            ),
            told=f"Your cards: {known['cards']}; on the table: {known['board'] or 'none'}; the pot: {known['pot']}",
        )

    def _list_costs(self, hand: Hand, player: int, legal: Sequence[int]) -> list[str]:
        """Return how many chips each legal move costs, except fold and check: `call 2`."""
        table, spent = self.table, hand.spent
        lacks = max(spent) - spent[player]
        chips = {
            "call": lacks,
            "raise": lacks + table.sizes[len(hand.rounds) - 1],
            "pot": table.compute_pot_bet(spent, player),
            "all-in": table.stack - spent[player],
        }
        return [f"{name} {chips[name]}" for name in [self._moves[action] for action in legal] if chips.get(name)]

    def _render_compact(self, hand: Hand, shown: Sequence[tuple[int, str]]) -> list[str]:
        names = self.table.seats
        lines = [f"board {' '.join(map(join_cards, hand.board[1:])) or 'none'}"]
        for number, steps in enumerate(hand.rounds):
            past = [f"{names[seat]} {move}{f' {chips}' if chips else ''}" for seat, move, chips in steps]
            lines.append(f"{ROUNDS[number].lower()} {', '.join(past) or 'none'}")
        lines.append(f"pot {sum(hand.spent)} of {_join_shares(names, hand.spent, ' ')}")
        if shown:
            lines.append(f"shown {', '.join([f'{names[seat]} {cards}' for seat, cards in shown])}")
        return lines

    def _render_full(self, hand: Hand, names: Sequence[str], me: int) -> list[str]:
        lines = []
        for number, steps in enumerate(hand.rounds):
            past = [
                f"{names[seat]} {_VERBS[move][seat == me]}{f' ({chips})' if chips else ''}"
                for seat, move, chips in steps
            ]
            head = f"{ROUNDS[number]} {join_cards(hand.board[number])}".rstrip()
            lines.append(f"{head}: {', '.join(past)}." if past else f"{head}: no moves.")
        lines.append(f"Pot: {_count_chips(sum(hand.spent))} ({_join_shares(names, hand.spent, ', ')}).")
        if not self.table.limit:
            lines.append(f"Chips left: {_join_shares(names, [self.table.stack - n for n in hand.spent], ', ')}.")
        return lines


def find_hole_cards(history: Sequence[int], seat: int) -> list[int]:
    """Return a seat's two cards, the higher first.

    The engine deals a seat both cards before it deals to the next seat."""
    return sorted(history[2 * seat : 2 * seat + 2], reverse=True)


def join_cards(cards: Sequence[int]) -> str:
    """Return the names of cards: `Ah Kd`."""
    return " ".join([CARDS[card] for card in cards])


def _join_numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def _join_shares(names: Sequence[str], chips: Sequence[int], between: str) -> str:
    return between.join([f"{name} {n}" for name, n in zip(names, chips)])


def _count_chips(number: int) -> str:
    return "1 chip" if number == 1 else f"{number} chips"


class UniversalPokerGame(OpenSpielGame):
    """Hold'em for any number of players, with a sampler and all public facts in its view."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], table: BettingRules) -> None:
        super().__init__(
            spec, params, load_engine_game("universal_poker", table.make_engine_params()), UniversalPoker(table)
        )
        self.table = table
        self.max_decisions = table.max_decisions()
        dealt = 2 * table.players + TURNED_UP
        if dealt + self.max_decisions >= self.engine.max_game_length():
            # The engine's MaxGameLength assumes that all others call before the next raise. In a longer hand, its
            # tensor of all moves fails.
            self._tensor_is_board = True
            self.tensor_shape = tuple(self.engine.observation_tensor_shape())

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        """Return the engine's view with public facts that it omits.

        These are the order of turn and river, and the cards shown at the end."""
        history = state.history()
        hand = self.table.parse_hand(state.information_state_string(seat), history)
        shown = (
            [join_cards(find_hole_cards(history, s)) for s in hand.find_shown_seats()] if state.is_terminal() else []
        )
        return f"{super().render_view(state, seat)}\n{' '.join(map(join_cards, hand.board[2:]))}\n{' '.join(shown)}"

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Redeal the cards that the seat cannot see, uniformly over all deals."""
        state, history = match.state, match.state.history()
        hand = self.table.parse_hand(state.information_state_string(seat), history)
        known = {seat, *(hand.find_shown_seats() if state.is_terminal() else ())}
        seen = {card for s in known for card in find_hole_cards(history, s)}.union(*hand.board)
        hidden = [2 * s + i for s in range(self.seats) if s not in known for i in (0, 1)]
        cards = rng.sample([card for card in range(len(CARDS)) if card not in seen], len(hidden))
        for index, card in zip(hidden, cards):
            history[index] = card
        return self.world(match, history, rng)


def game(spec: GameSpec, params: Mapping[str, Any]) -> UniversalPokerGame:
    if params["betting"] == "limit":
        if params["players"] > _MOST_AT_LIMIT:
            raise BadParameter(
                f"players={params['players']}: betting=limit supports at most {_MOST_AT_LIMIT} players. Use fewer, or "
                "betting=nolimit."
            )
        if params["stack"] != next(p.default for p in spec.parameters if p.name == "stack"):
            raise BadParameter(f"stack={params['stack']}: betting=limit has no stacks. Omit this parameter.")
    return UniversalPokerGame(spec, params, BettingRules(**params))
