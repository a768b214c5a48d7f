"""Euchre as a text game: one hand of four players. Seats 0 to 3 are the engine's North, East, South and West."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, make_openspiel_factory
from gymposium.games.openspiel.wording import format_compact_facts
from gymposium.games.pictures import Picture, draw_hand, draw_note, draw_table
from gymposium.games.protocol import Event, Style
from gymposium.games.tricks.deals import fill_hands
from gymposium.games.tricks.euchre_history import (
    CARDS,
    DEALT,
    MOVES,
    ORDERS,
    RANKS,
    SUITS,
    EuchreHistory,
    parse_history,
)
from gymposium.games.tricks.trick import (
    NAMES,
    SEATS,
    SUIT_NAMES,
    count_side_tricks,
    describe_tricks,
    draw_tricks,
    find_voids,
    format_by_suit,
    format_hand,
    format_tricks,
    list_played_cards,
)

_SHOWN = [[f"{rank}{suit}" for rank in reversed(RANKS)] for suit in SUIT_NAMES]


class Euchre:
    """Wording for `euchre`, made from the engine's history.

    The engine's text omits a suit named by the first seat in the second round, because it takes that seat for the
    dealer (euchre.cc, FormatBidding). It also omits the dealer's own discard."""

    move_pattern = re.compile(f"[{RANKS}][cdhs]|pass|alone|partner|{'|'.join(SUITS.values())}")
    names = MOVES

    def __init__(self, engine: pyspiel.Game, allow_lone_defender: bool, stick_the_dealer: bool) -> None:
        self.lone_defender = allow_lone_defender
        self.stick = stick_the_dealer

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return (
                f"euchre, seats N E S W in turn, NS against EW, you are {SEATS[seat][0]}; "
                f"{'the dealer must name trump in the end' if self.stick else 'all may pass'}; "
                f"{'a defender may play alone' if self.lone_defender else 'no lone defender'}\n"
                f"bids are in turn from the seat after the dealer; a trick is its leader and the cards in order\n"
            )
        stuck = "The dealer cannot pass then." if self.stick else "If all pass again, the hand ends without points."
        defenders = (
            "Then each defender, beginning with the one who sits first after the dealer, says alone or partner too, "
            "whatever the maker said; when one says alone, the other does not play, and is not asked any more.\n"
            if self.lone_defender
            else ""
        )
        lost = ", or 4 if a defender played alone" if self.lone_defender else ""
        return (
            f"Euchre for four players, one hand. North and South play together against East and West; turns go round "
            f"in the order North, East, South, West. There are 24 cards, 9 T J Q K A of clubs (c), diamonds (d), "
            f"hearts (h) and spades (s): Td is the ten of diamonds. Each player is dealt five, and the next card, the "
            f"upcard, is turned up; three are left over and not seen.\n"
            f"First trump is chosen. From the seat after the dealer on, each player in turn names the upcard's suit as "
            f"trump or passes, the dealer last. If somebody names it, the dealer takes the upcard and then discards "
            f"one of the other cards, which nobody else sees. If all four pass, the upcard is out of play, and each in "
            f"turn names one of the other three suits or passes. {stuck}\n"
            f"Whoever named trump is the maker, and says alone or partner: alone means that the maker's partner does "
            f"not play in this hand, partner that both play.\n"
            f"{defenders}"
            f"Five tricks are played. The seat after the dealer leads to the first (or the next that plays). You must "
            f"follow the suit that was led if you can; otherwise you may play any card. The highest trump takes the "
            f"trick, or where there is none the highest card of the suit led; its player leads the next.\n"
            f"Trumps from the highest: the jack of trump, the other jack of the same colour (clubs and spades are "
            f"black, diamonds and hearts red), A K Q T 9. That other jack is a trump in all respects, and no card of "
            f"its own suit. Other suits: A K Q J T 9.\n"
            f"The maker's side gets 1 point for three or four tricks, and for all five 2, or 4 if the maker played "
            f"alone. For fewer than three it loses 2{lost}. The other side gets the opposite. Your result is your "
            f"side's points.\n"
            f"You are {SEATS[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        history: list[int] = state.history()
        past = parse_history(history, self.lone_defender)
        hand = _find_hand(history, past, seat)
        over = state.is_terminal()
        taken = count_side_tricks(past.tricks)
        result = f"{int(state.player_return(seat)):+d}" if over else ""
        if style == "compact":
            moves = " ".join([MOVES[action] for action in state.legal_actions(seat)])
            end = f"result {result}" if over else f"legal {moves or 'none'}"
            return (
                f"hand {format_hand(hand, _SHOWN) or 'none'}\n{_render_bidding(past, seat)}tricks "
                f"{format_tricks(past.tricks)}\n"
                f"taken NS {taken[0]} EW {taken[1]}\n{end}\n"
            )
        lines = [] if over else [f"Your hand: {format_by_suit(hand, _SHOWN) or 'empty'}."]
        lines += [*_describe_bidding(past, seat), *describe_tricks(past.tricks, seat)]
        if past.tricks:
            lines.append(f"Tricks taken: North and South {taken[0]}, East and West {taken[1]}.")
        if over:
            lines.append(f"The hand is over. Your result: {result}.")
        elif not past.tricks:
            lines.append(
                f"Now {NAMES[seat][state.current_player()]} {self._describe_task(past, state.current_phase())}."
            )
        return "\n".join(lines) + "\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        past = parse_history(state.history(), self.lone_defender)
        known = format_compact_facts(self, state, seat)
        held = known["hand"].split()
        said = [move for move in known.get("legal", "").split() if move not in held]
        return Picture.from_parts(
            draw_note("\n".join([f"{key} {known[key]}" for key in ("dealer", "bids", "trump") if known.get(key)])),
            *draw_tricks(past.tricks, seat, f"Tricks taken: {known['taken']}"),
            *([draw_table([said], places=True)] if said else []),
            draw_hand(held, "Your hand"),
            told=f"Your hand: {known['hand'] or 'empty'}; tricks taken: {known['taken']}",
        )

    def _describe_task(self, past: EuchreHistory, phase: pyspiel.euchre.Phase) -> str:
        """Describe what the seat to move must do before the first card is played."""
        if phase == pyspiel.euchre.Phase.BIDDING:
            suit = SUITS[past.upcard[1]]
            if len(past.bids) < 4:
                return f"may name {suit} (the dealer then takes {past.upcard}) or pass"
            stuck = self.stick and len(past.bids) == 7
            return f"must name a suit other than {suit}" if stuck else f"may name a suit other than {suit}, or pass"
        if phase == pyspiel.euchre.Phase.DISCARD:
            return f"must discard a card other than {past.upcard}"
        return "must lead" if phase == pyspiel.euchre.Phase.PLAY else "must say alone or partner"


def _find_hand(history: Sequence[int], past: EuchreHistory, seat: int) -> set[str]:
    """Return the cards currently in the seat's hand."""
    cards = set(_find_dealt_hand(history, seat))
    if past.taken_up and seat == past.dealer:
        cards.add(past.upcard)
        cards.discard(past.discard or "")
    for trick in past.tricks:
        cards.difference_update(trick.cards)
    return cards


def _find_dealt_hand(history: Sequence[int], seat: int) -> list[str]:
    return [CARDS[action] for action in history[1 + (seat - history[0]) % 4 : DEALT : 4]]


def _render_bidding(past: EuchreHistory, seat: int) -> str:
    """Return the compact text's lines about the bidding, from the dealer to the lone players."""
    lines = [f"dealer {SEATS[past.dealer][0]} upcard {past.upcard}", f"bids {' '.join(past.bids) or 'none'}"]
    if past.maker is not None:
        how = "" if past.alone is None else " alone" if past.alone else " partner"
        lines.append(f"trump {SUITS[past.trump]} by {SEATS[past.maker][0]}{how}")
    if past.discard is not None:
        lines.append(f"discard {past.discard if past.dealer == seat else 'hidden'}")
    if past.defence:
        answers = [f"{SEATS[who][0]} {'alone' if alone else 'partner'}" for who, alone in past.defence]
        lines.append(f"defence {', '.join(answers)}")
    return "\n".join(lines) + "\n"


def _describe_bidding(past: EuchreHistory, seat: int) -> list[str]:
    """Describe in sentences the bidding and everything else before the first card is played."""
    names = NAMES[seat]
    dealer, upcard = past.dealer, past.upcard
    bids = [f"{names[(dealer + turn) % 4]} {bid}" for turn, bid in enumerate(past.bids, start=1)]
    lines = [f"Dealer: {names[dealer]}. Upcard: {upcard}."]
    lines += [f"{when} round of bids: {', '.join(b)}." for when, b in (("First", bids[:4]), ("Second", bids[4:])) if b]
    if past.maker is None:
        return lines
    maker = f"Trump is {SUITS[past.trump]}, named by {names[past.maker]}"
    if past.alone is not None:
        maker += f", who {'play' if past.maker == seat else 'plays'} {_describe_partner(names, past.maker, past.alone)}"
    lines.append(f"{maker}.")
    if past.discard is not None:
        discard = past.discard if dealer == seat else "a card"
        lines.append(f"{names[dealer].capitalize()} took {upcard} and discarded {discard}.")
    for who, alone in past.defence:
        verb = "defend" if who == seat else "defends"
        lines.append(f"{names[who].capitalize()} {verb} {_describe_partner(names, who, alone)}.")
    return lines


def _describe_partner(names: Sequence[str], who: int, alone: bool) -> str:
    return f"{'alone, without' if alone else 'with'} {names[(who + 2) % 4]}"


class EuchreGame(OpenSpielGame):
    """Euchre with a sampler, and with a view of everything a seat knows. The engine's view is incomplete."""

    wording: Euchre

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        history = state.history()
        at = parse_history(history, self.wording.lone_defender).discarded_at
        public = [*history[DEALT:]]
        if at is not None and seat != history[0]:
            public[at - DEALT] = -1
        return f"{seat} {history[0]} {sorted(_find_dealt_hand(history, seat))} {public}"

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        return self.world(match, self._redeal(match.state.history(), seat, rng), rng)

    def _redeal(self, history: Sequence[int], seat: int, rng: random.Random) -> list[int]:
        """Return another history with the unseen cards redealt, uniformly over all consistent deals.

        No other seat gets a suit that it failed to follow. The three leftover cards and the discard are redealt too."""
        past = parse_history(history, self.wording.lone_defender)
        hides_discard = past.discard is not None and seat != past.dealer
        hands = list_played_cards(past.tricks)
        if hides_discard and past.upcard not in hands[past.dealer]:
            hands[past.dealer].append(past.upcard)
        hands[seat] = _find_dealt_hand(history, seat)
        out = find_voids(past.tricks, ORDERS[past.trump]) if past.trump else [set[str]() for _ in SEATS]
        others = [who for who in range(4) if who != seat]
        suit = ORDERS[past.trump].suit if past.trump else {card: card[1] for card in CARDS}
        left = fill_hands(hands, others, 5, [card for card in CARDS if card != past.upcard], suit, out, rng)
        new = list(history)
        if hides_discard:
            discard = rng.choice(left)
            hands[past.dealer].remove(past.upcard)
            hands[past.dealer].append(discard)
            new[past.discarded_at or 0] = CARDS.index(discard)
        for who in others:
            rng.shuffle(hands[who])
            new[1 + (who - history[0]) % 4 : DEALT : 4] = [CARDS.index(card) for card in hands[who]]
        return new


game = make_openspiel_factory("euchre", Euchre, EuchreGame)
