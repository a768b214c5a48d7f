"""Kuhn poker, Leduc poker and Texas hold'em against PokerKit: who acts, what is legal, what it costs, who wins.

`GYMPOSIUM_SEEDS` is the number of random hands at each table, 5 by default."""

from __future__ import annotations

import os
import random
from collections import Counter
from fractions import Fraction

import pokerkit
import pytest
from pokerkit import Automation

from gymposium import load_game
from gymposium.games.protocol import CHANCE, Event, Match

SEEDS = int(os.environ.get("GYMPOSIUM_SEEDS", "5"))
AUTOMATIONS = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)
KUHN, LEDUC = ("Js", "Qs", "Ks"), ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")


def shared(chips: int, winners: int) -> tuple[Fraction, Fraction]:
    """Split a pot evenly, in fractions of chips."""
    return Fraction(chips, winners), Fraction(0)


def dealt(match: Match, names: tuple[str, ...] = ()) -> list[str]:
    """Return the cards dealt so far. `names` are the cards by the engine's number."""
    moves = [event.move for event in match.events if event.seat == CHANCE]
    return [names[int(move.rpartition(":")[2])] if names else move[-2:] for move in moves]


def deal(oracle: pokerkit.State, board: list[str]) -> None:
    """Deal the cards on the table that the oracle waits for. It also burns cards, which no player sees."""
    while oracle.can_burn_card() or oracle.can_deal_board():
        if oracle.can_burn_card():
            oracle.burn_card("??")
        street = oracle.street
        assert street is not None
        laid = sum(len(cards) for cards in oracle.board_cards)
        oracle.deal_board("".join(board[laid : laid + street.board_dealing_count]))


def check_end(match: Match, oracle: pokerkit.State) -> bool:
    """Compare who acts, and the result of a finished hand. Returns whether it is finished."""
    assert match.to_move() == (() if oracle.actor_index is None else (oracle.actor_index,))
    if oracle.actor_index is not None:
        return False
    assert not oracle.status
    assert match.returns() == pytest.approx([float(payoff) for payoff in oracle.payoffs])
    return True


def test_kuhn_poker_matches_pokerkit() -> None:
    game, rng, ended = load_game("kuhn_poker"), random.Random(0), Counter[tuple[float, ...]]()
    for seed in range(20 * SEEDS):
        match, oracle = game.new(seed), pokerkit.KuhnPoker.create_state(AUTOMATIONS, divmod=shared)
        for card in dealt(match, KUHN):
            oracle.deal_hole(card)
        while not check_end(match, oracle):
            seat, lacks = match.to_move()[0], oracle.checking_or_calling_amount
            assert sorted(match.legal_moves(seat) or []) == ["bet", "pass"]
            assert oracle.can_complete_bet_or_raise_to(1) == (not lacks)  # a second bet is a call
            move = rng.choice(["bet", "pass"])
            match.apply({seat: move})
            if move == "bet" and not lacks:
                oracle.complete_bet_or_raise_to(1)
            elif move == "pass" and lacks:
                oracle.fold()
            else:
                oracle.check_or_call()
        ended[match.returns()] += 1
    assert ended.keys() == {(-2, 2), (-1, 1), (1, -1), (2, -2)}


def test_leduc_poker_matches_pokerkit() -> None:
    game, rng, ended = load_game("leduc_poker"), random.Random(0), set[float]()
    for seed in range(20 * SEEDS):
        match, oracle = game.new(seed), pokerkit.LeducHoldem.create_state(AUTOMATIONS, divmod=shared)
        for card in dealt(match, LEDUC):
            oracle.deal_hole(card)
        while not check_end(match, oracle):
            seat = match.to_move()[0]
            moves = {"call"}
            moves |= {"fold"} if oracle.checking_or_calling_amount else set()
            moves |= {"raise"} if oracle.can_complete_bet_or_raise_to() else set()
            assert set(match.legal_moves(seat) or []) == moves
            move = rng.choices(sorted(moves), [1 if move == "fold" else 4 for move in sorted(moves)])[0]
            match.apply({seat: move})
            if move == "raise":
                oracle.complete_bet_or_raise_to()
            else:
                oracle.fold() if move == "fold" else oracle.check_or_call()
            deal(oracle, dealt(match, LEDUC)[2:])
        ended.add(abs(match.returns()[0]))
    assert {0, 1, 3, 5, 13} <= ended


SHOWDOWNS = {
    "the table is best for all": ("2c 3d 2d 3c 2h 3h", "As Ks Qs Js Ts"),
    "two share, in fractions": ("Ac 9d Ad 9c Kh 7h", "Ah Qs Jd 6c 2s"),
    "an ace below the two": ("Ac 9d Kd Kc 6h 7h", "2h 3s 4d 5c Ks"),
    "no straight round the ace": ("Kc Ad 9d 9c Qh 7h", "2h 3s 4d Kd 9s"),
    "the kicker": ("Ac Kd Ad Qc As Jh", "Ah 2s 7d 9c 4s"),
    "the kicker does not play": ("Ac 3d Ad 2c 9s 8h", "Ah Ks Qd Jc 4s"),
    "two pairs, then the kicker": ("Ac 9d Kd 9c 2h 2d", "Qh Qs 9h 3c 4s"),
    "three pairs": ("2c 2d 3d 3c Ah Qh", "Kh Ks Jd Jc 4s"),
    "the higher full house": ("2c 2d Kd Qc 3h 3s", "Kh Ks 2h 3c Qs"),
    "the highest card of a flush": ("Ac 2c Kc Qc 9c 8c", "3c 5c 7c Td Jd"),
    "a straight flush over four of a kind": ("5c 6c Kd Kc Ad As", "7c 8c 9c Kh Ks"),
}
"""Two cards for each of three seats, and the cards on the table."""


@pytest.mark.parametrize(("cards", "board"), SHOWDOWNS.values(), ids=SHOWDOWNS)
def test_showdowns_match_pokerkit(cards: str, board: str) -> None:
    game = load_game("universal_poker", players=3)
    deals = [Event(CHANCE, f"player=-1 move=Deal {card}") for card in [*cards.split(), *board.split()]]
    rounds = [[deals[:6], "call call check"], [deals[6:9], "check check check"]]
    rounds += [[[deal], "check check check"] for deal in deals[9:]]
    events: list[Event] = []
    for number, (dealt_now, moves) in enumerate(rounds):
        events += dealt_now
        seats = (0, 1, 2) if number else (2, 0, 1)
        events += [Event(seat, move) for seat, move in zip(seats, moves.split())]
    match = game.load(events)
    oracle = begun(match)
    while oracle.actor_index is not None:
        oracle.check_or_call()
        deal(oracle, board.split())
    assert check_end(match, oracle)


TABLES = {
    "two seats": {},
    "two seats, short": {"stack": 40, "small_blind": 10},
    "three seats": {"players": 3, "stack": 60},
    "six seats": {"players": 6, "stack": 100, "small_blind": 3},
    "limit": {"betting": "limit"},
    "limit, four seats": {"betting": "limit", "players": 4, "small_blind": 2},
}


def begun(match: Match) -> pokerkit.State:
    params = match.game.params
    players, small = params["players"], params["small_blind"]
    blinds = (small, 2 * small)
    if params["betting"] == "limit":
        oracle = pokerkit.FixedLimitTexasHoldem.create_state(
            AUTOMATIONS, True, 0, blinds, 2 * small, 4 * small, 10_000, players, divmod=shared
        )
    else:
        oracle = pokerkit.NoLimitTexasHoldem.create_state(
            AUTOMATIONS, True, 0, blinds, 2 * small, params["stack"], players, divmod=shared
        )
    cards = dealt(match)
    for seat in range(players):
        oracle.deal_hole("".join(cards[2 * seat : 2 * seat + 2]))
    return oracle


def legal(oracle: pokerkit.State, limit: bool) -> dict[str, int]:
    """Return the legal moves with the chips that they cost.

    Pot and all-in are the only raises in our game without a limit. At the limit the big blind counts as the first of
    four bets, which PokerKit leaves to the table."""
    seat, lacks = oracle.actor_index, oracle.checking_or_calling_amount
    assert seat is not None
    moves = {"fold": 0, "call": lacks} if lacks else {"check": 0}
    if limit:
        blind_counts = oracle.street_index == 0 and oracle.completion_betting_or_raising_count == 3
        if oracle.can_complete_bet_or_raise_to() and not blind_counts:
            moves["raise"] = oracle.min_completion_betting_or_raising_to_amount - oracle.bets[seat]
        return moves
    left = oracle.stacks[seat]
    pot = lacks + (oracle.total_pot_amount + lacks)
    if pot <= left and oracle.can_complete_bet_or_raise_to(oracle.bets[seat] + pot):
        moves["pot"] = pot
    if moves.get("pot") != left and oracle.can_complete_bet_or_raise_to(oracle.bets[seat] + left):
        moves["all-in"] = left
    return moves


def parse_costs(match: Match, seat: int) -> dict[str, int]:
    """Return the legal moves with the chips that the prompt says they cost."""
    text = match.observe(seat, "compact").text.partition("\ncosts ")[2].partition("\n")[0]
    words = text.split()
    costs = {} if text == "none" else {move: int(chips) for move, chips in zip(words[::2], words[1::2])}
    return {move: costs.get(move, 0) for move in match.legal_moves(seat) or []}


@pytest.mark.parametrize("params", TABLES.values(), ids=TABLES)
def test_texas_holdem_matches_pokerkit(params: dict[str, int | str]) -> None:
    game = load_game("universal_poker", **params)
    for seed in range(SEEDS):
        rng = random.Random(seed)
        match = game.new(seed)
        oracle = begun(match)
        while not check_end(match, oracle):
            seat = match.to_move()[0]
            moves = legal(oracle, game.params["betting"] == "limit")
            assert parse_costs(match, seat) == moves
            move = rng.choices(list(moves), [{"fold": 1, "all-in": 1}.get(move, 4) for move in moves])[0]
            match.apply({seat: move})
            if move in ("raise", "pot", "all-in"):
                oracle.complete_bet_or_raise_to(oracle.bets[seat] + moves[move])
            else:
                oracle.fold() if move == "fold" else oracle.check_or_call()
            deal(oracle, dealt(match)[2 * game.seats :])
