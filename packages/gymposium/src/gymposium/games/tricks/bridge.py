"""Contract bridge as a text game: one deal. Seats 0 to 3 are the engine's North, East, South and West."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, load_engine_game
from gymposium.games.openspiel.wording import format_compact_facts
from gymposium.games.pictures import Picture, PicturePart, draw_hand, draw_note, draw_table
from gymposium.games.protocol import Event, Style
from gymposium.games.tricks.bridge_history import CARDS, DEALT, MOVES, ORDERS, BridgeHistory, Contract, parse_history
from gymposium.games.tricks.deals import fill_hands
from gymposium.games.tricks.trick import (
    NAMES,
    RANKS,
    SEATS,
    count_side_tricks,
    describe_tricks,
    draw_tricks,
    find_voids,
    format_by_suit,
    format_hand,
    format_tricks,
    list_played_cards,
)
from gymposium.plugins.specs import GameSpec

_SHOWN = [[f"{suit}{rank}" for rank in reversed(RANKS)] for suit in "SHDC"]
_SIDES = ("North and South", "East and West")
_DOUBLED = {"": "", "double": " doubled", "redouble": " redoubled"}


class Bridge:
    """Wording for `bridge`, with card play or with a computed result instead."""

    move_pattern = re.compile(r"[CDHS][2-9TJQKA]|[1-7](?:[CDHS]|NT)|pass|double|redouble")
    names = MOVES

    def __init__(self, dealer: int, dealer_vul: bool, non_dealer_vul: bool, use_double_dummy_result: bool) -> None:
        self.dealer = dealer
        vulnerable = (dealer_vul, non_dealer_vul) if dealer % 2 == 0 else (non_dealer_vul, dealer_vul)
        self.vulnerable = [side for side in (0, 1) if vulnerable[side]]
        self.computed = use_double_dummy_result

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            vulnerable = " and ".join([("NS", "EW")[side] for side in self.vulnerable]) or "nobody"
            return (
                f"bridge, seats N E S W in turn, NS against EW, you are {SEATS[seat][0]}; {SEATS[self.dealer][0]} "
                f"deals and calls first; vulnerable: {vulnerable}"
                + ("; the play is computed, double dummy\n" if self.computed else "\n")
                + ("" if self.computed else "a trick is its leader and the cards in order\n")
            )
        return (
            f"Contract bridge for four players, one deal of 52 cards, 13 for each. North and South play together "
            f"against East and West; turns go round in the order North, East, South, West. Cards are named by suit "
            f"(clubs C, diamonds D, hearts H, spades S) and rank (2 3 4 5 6 7 8 9 T J Q K A, the ace high): DT is the "
            f"ten of diamonds.\n"
            f"First comes the auction; {SEATS[self.dealer]} calls first, then the others in turn. A bid, 1C to 7NT, "
            f"says how many tricks more than six your side will take, and which suit is trump (NT: none). Each bid "
            f"must be higher than the last: in its number, or with the same number in the order C D H S NT. Instead "
            f"of bidding you may pass; or double the last bid, if it is the other side's and not doubled; or redouble "
            f"it, if it is your side's and has been doubled. The next bid undoes that. Three passes after a bid, a "
            f"double or a redouble end the auction, and the last bid is the contract. If all four pass at the start, "
            f"the deal ends without points. The declarer is the player on the contract's side who first bid its suit, "
            f"or NT; the partner is the dummy.\n"
            f"{_COMPUTED if self.computed else _PLAYED}"
            f"The contract is made with as many tricks as bid, or more. For each trick bid the declarer's side gets 20 "
            f"in C and D, 30 in H and S, and in NT 40 for the first and 30 for the others; twice that if doubled, four "
            f"times if redoubled. If this comes to 100 or more, it gets 300 on top, or 500 if vulnerable; if less, 50. "
            f"It also gets 500 (vulnerable 750) for a bid of six, 1000 (vulnerable 1500) for a bid of seven, 50 if "
            f"doubled, and 100 if redoubled. Each trick beyond the bid brings 20 in C and D and 30 otherwise; but "
            f"doubled 100 (vulnerable 200), redoubled 200 (vulnerable 400).\n"
            f"If the contract is not made, the declarer's side loses 50 for each missing trick, or 100 if vulnerable. "
            f"Doubled it loses 100 for the first, 200 for the second and the third, and 300 for each after those; "
            f"vulnerable 200 for the first and 300 for each other; redoubled twice as much.\n"
            f"The other side gets the opposite. Your result is your side's points. "
            f"{' and '.join([_SIDES[side] for side in self.vulnerable]) or 'Nobody'} "
            f"{'are' if self.vulnerable else 'is'} vulnerable.\n"
            f"You are {SEATS[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        history: list[int] = state.history()
        past = parse_history(history, self.dealer)
        over = state.is_terminal()
        contract, tricks = past.contract, past.tricks
        gone = {card for trick in tricks for card in trick.cards}
        hand = _find_dealt_hand(history, seat) - gone
        # the dummy's hand is shown after the opening lead
        dummy = (
            _find_dealt_hand(history, contract.dummy) - gone if contract is not None and tricks and not over else None
        )
        taken = (
            _parse_result(state, contract)
            if over and self.computed and contract is not None
            else count_side_tricks(tricks)
        )
        result = f"{int(state.player_return(seat)):+d}" if over else ""
        if style == "compact":
            moves = " ".join([MOVES[action] for action in state.legal_actions(seat)])
            lines = [f"hand {format_hand(hand, _SHOWN) or 'none'}"]
            if dummy is not None:
                lines.append(f"dummy {format_hand(dummy, _SHOWN) or 'none'}")
            lines.append(f"auction {' '.join(past.calls) or 'none'}")
            if contract is not None:
                lines.append(f"contract {contract.bid}{_DOUBLED[contract.doubled]} {SEATS[contract.declarer][0]}")
                lines += [] if self.computed else [f"tricks {format_tricks(tricks)}"]
                lines.append(f"taken NS {taken[0]} EW {taken[1]}")
                lines += [] if over else [f"turn {SEATS[past.turn][0]}"]
            lines.append(f"result {result}" if over else f"legal {moves or 'none'}")
            return "\n".join(lines) + "\n"
        names = NAMES[seat]
        lines = [] if over else [f"Your hand: {format_by_suit(hand, _SHOWN) or 'empty'}."]
        if contract is not None and dummy is not None and seat != contract.dummy:
            lines.append(f"The dummy's hand ({SEATS[contract.dummy]}): {format_by_suit(dummy, _SHOWN) or 'empty'}.")
        lines.append(_describe_auction(past.calls, self.dealer, seat))
        if contract is not None:
            lines += [_describe_contract(contract, names), *describe_tricks(tricks, seat)]
        if tricks or any(taken):
            lines.append(f"Tricks taken: North and South {taken[0]}, East and West {taken[1]}.")
        if over:
            lines.append(f"The deal is over. Your result: {result}.")
        elif contract is not None:
            lines.append(_describe_turn(past, contract, seat))
        return "\n".join(lines) + "\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        past = parse_history(state.history(), self.dealer)
        known = format_compact_facts(self, state, seat)
        calls = known["auction"].split()
        bids = [f"{level}{strain}" for level in range(1, 8) for strain in ("C", "D", "H", "S", "NT")]
        last = next((call for call in reversed(calls) if call in bids), "")
        gone = bids[: bids.index(last)] if last else ()
        rows = [bids[start : start + 5] for start in range(0, 35, 5)] + [["pass", "double", "redouble"]]
        auction = [draw_table(rows, last=last, faded=gone, places=True)] if past.contract is None else []
        parts = [_draw_cards(known["hand"], "Your hand")]
        if "dummy" in known and past.contract is not None and seat != past.contract.dummy:
            parts.append(_draw_cards(known["dummy"], f"The dummy's hand ({SEATS[past.contract.dummy]})"))
        tricks = draw_tricks(past.tricks, seat, f"Tricks taken: {known['taken']}") if "taken" in known else []
        contract = f"\nContract: {known['contract']}" if "contract" in known else ""
        return Picture.from_parts(
            draw_note(f"Auction, from {SEATS[self.dealer]}: {known['auction'] or 'no call yet'}{contract}"),
            *auction,
            *tricks,
            *parts,
            told=f"Your hand: {known['hand'] or 'empty'}; auction: {known['auction'] or 'no call yet'}",
        )


_PLAYED = (
    "Then 13 tricks are played. The player after the declarer leads to the first; then the dummy's hand is laid open, "
    "and the declarer plays the dummy's cards as well, each in its turn. You must follow the suit that was led if you "
    "can; otherwise you may play any card. The highest trump takes the trick, or where there is none the highest card "
    "of the suit led; that hand leads the next.\n"
)
_COMPUTED = (
    "The tricks are not played: the declarer's side is given as many as it would take if all four saw all cards and "
    "nobody made a mistake, the player after the declarer leading to the first.\n"
)


def _parse_result(state: pyspiel.State, contract: Contract) -> tuple[int, int]:
    """Return the number of tricks of both sides, which the engine exposes only in its text."""
    won = int(str(state).rpartition("Declarer tricks: ")[2].split()[0])
    return (won, 13 - won) if contract.declarer % 2 == 0 else (13 - won, won)


def _find_dealt_hand(history: Sequence[int], seat: int) -> set[str]:
    return {CARDS[action] for action in history[seat:DEALT:4]}


@lru_cache(4096)  # every later prompt shows it again
def _describe_auction(calls: tuple[str, ...], dealer: int, seat: int) -> str:
    names = NAMES[seat]
    in_turn = ", ".join([f"{names[(dealer + turn) % 4]} {call}" for turn, call in enumerate(calls)])
    return f"Auction: {in_turn or 'no calls so far'}."


def _describe_contract(contract: Contract, names: Sequence[str]) -> str:
    return (
        f"Contract: {contract.bid}{_DOUBLED[contract.doubled]}, {contract.needed} tricks; declarer: "
        f"{names[contract.declarer]}; dummy: {names[contract.dummy]}."
    )


def _describe_turn(past: BridgeHistory, contract: Contract, seat: int) -> str:
    """Describe who plays the next card."""
    names = NAMES[seat]
    if past.turn == contract.dummy:
        player, whose = contract.declarer, "the dummy's hand"
    else:
        player, whose = past.turn, "your own hand" if past.turn == seat else "their own hand"
    return f"Now {names[player]} {'play' if player == seat else 'plays'} from {whose}."


def _draw_cards(cards: str, title: str) -> PicturePart:
    """Return a picture of a hand given as the engine's card names: `SA HK`."""
    names = cards.split()
    return draw_hand([card[1] + card[0].lower() for card in names], title, names=names)


class BridgeGame(OpenSpielGame):
    """Bridge with a sampler.

    For the dummy's seat, the engine's sampler returns hands that are inconsistent with the play."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        super().__init__(spec, params, load_engine_game("bridge", params), Bridge(**params))
        if not (params["dealer_vul"] or params["non_dealer_vul"]):
            # the engine's bound is 7600 (bridge.h, kMaxScore): 13 tricks too few, redoubled and vulnerable
            self.utility_range = (-7000.0, 7000.0)

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Redeal the unseen cards, uniformly over all consistent deals.

        No player gets a card of a suit that they failed to follow."""
        history = match.state.history()
        past = parse_history(history, self.params["dealer"])
        contract, tricks = past.contract, past.tricks
        order = ORDERS[contract.denomination if contract is not None else "NT"]
        hands = list_played_cards(tricks)
        known = {seat, contract.dummy} if contract is not None and tricks else {seat}
        for who in known:
            hands[who] = list(_find_dealt_hand(history, who))
        others = [who for who in range(4) if who not in known]
        fill_hands(hands, others, 13, CARDS, order.suit, find_voids(tricks, order), rng)
        for who in others:
            rng.shuffle(hands[who])
            history[who:DEALT:4] = [MOVES.index(card) for card in hands[who]]
        return self.world(match, history, rng)


game = BridgeGame
