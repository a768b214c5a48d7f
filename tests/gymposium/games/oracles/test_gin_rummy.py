"""Gin rummy against an independent solver of deadwood and lay-offs: random hands, and hands made for what is misjudged.

`GYMPOSIUM_SEEDS` is the number of random hands of each test, 100 by default."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from functools import cache

import pyspiel
import pytest

from gymposium import load_game
from gymposium.games.cards.gin_rummy import GinRummyGame
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event

RANKS = "A23456789TJQK"
CARDS = [rank + suit for suit in "scdh" for rank in RANKS]
SEEDS = int(os.environ.get("GYMPOSIUM_SEEDS", "100"))
GIN: GinRummyGame = load_game("gin_rummy")  # type: ignore[assignment]
Cards = frozenset[str]


def points(cards: Cards) -> int:
    return sum(min(10, RANKS.index(card[0]) + 1) for card in cards)


def is_meld(cards: Sequence[str]) -> bool:
    ranks, suits = sorted(RANKS.index(card[0]) for card in cards), {card[1] for card in cards}
    if len(cards) < 3:
        return False
    return len(set(ranks)) == 1 or (len(suits) == 1 and ranks == list(range(ranks[0], ranks[0] + len(ranks))))


@cache
def all_melds() -> list[Cards]:
    runs = [[RANKS[i] + suit for i in range(a, b)] for suit in "scdh" for a in range(13) for b in range(a + 3, 14)]
    fours = [[rank + suit for suit in "scdh"] for rank in RANKS]
    threes = [[card for card in four if card != left] for four in fours for left in four]
    return [frozenset(meld) for meld in runs + fours + threes]


def rests(hand: Cards, melds: Sequence[Cards] | None = None) -> Iterator[Cards]:
    """Return what is left of a hand outside each set of melds."""
    melds = [meld for meld in all_melds() if meld <= hand] if melds is None else melds
    yield hand
    for number, meld in enumerate(melds):
        yield from rests(hand - meld, [other for other in melds[number + 1 :] if not other & meld])


def deadwood(hand: Cards) -> int:
    return min(map(points, rests(hand)))


def parse_deadwood(hand: Cards) -> set[int]:
    """Return the deadwood of a hand with the card just drawn, as the prompt tells it: one number for each set of melds
    that leaves the fewest points."""
    left = list(rests(hand))
    least = min(map(points, left))
    if least == 0:
        return {min(deadwood(hand - {card}) for card in hand)}
    return {least - max(points(frozenset([card])) for card in rest) for rest in left if points(rest) == least}


def deal(mine: str, theirs: str, upcard: str) -> OpenSpielMatch:
    cards = [*mine.split(), *theirs.split(), upcard]
    return GIN.load([Event(CHANCE, f"Chance outcome: {card}") for card in cards])  # type: ignore[return-value]


def melded_hand(rng: random.Random, number: int) -> list[str]:
    """Draw cards, half the time with a run or a set among them."""
    start = list(rng.choice(all_melds())) if rng.random() < 0.5 else []
    start = start[:number]
    return start + rng.sample([card for card in CARDS if card not in start], number - len(start))


def test_deadwood_of_random_hands_matches_the_solver() -> None:
    utils, rng, cards = pyspiel.gin_rummy.GinRummyUtils(13, 4, 10), random.Random(0), list(CARDS)
    for _ in range(SEEDS):
        hand = melded_hand(rng, 10)
        assert utils.min_deadwood([cards.index(card) for card in hand]) == deadwood(frozenset(hand))


def test_knock_is_offered_according_to_the_rules() -> None:
    rng = random.Random(1)
    offered = [0, 0]
    for _ in range(SEEDS):
        mine = melded_hand(rng, 11)
        upcard = mine.pop()
        theirs = rng.sample([card for card in CARDS if card not in [*mine, upcard]], 10)
        match = deal(" ".join(mine), " ".join(theirs), upcard)
        match.apply({0: "draw upcard"})
        hand = frozenset([*mine, upcard])
        shown = int(match.observe(0, "compact").text.partition("deadwood ")[2].split()[0])
        assert shown in parse_deadwood(hand)
        knock = "knock" in match.legal_moves(0)
        assert knock == (shown <= 10)
        offered[knock] += 1
        if knock:
            match.apply({0: "knock"})
            legal = {move.split()[1] for move in match.legal_moves(0)}
            assert legal == {card for card in hand if deadwood(hand - {card}) <= 10}
    assert all(offered)


def test_knock_needing_another_discard_is_not_offered() -> None:
    match = deal("4s 5s 6s 7s 5c 6c 2d 4d 5d 6d", "As 2s 3c Ad 3d 9c 7d 9d Jh Td", "6h")
    match.apply({0: "draw upcard"})
    assert min(deadwood(frozenset("4s 5s 6s 7s 5c 6c 2d 4d 5d 6d 6h".split()) - {card}) for card in CARDS) == 10
    assert "knock" not in match.legal_moves(0)
    assert "Your deadwood after discarding your highest unmatched card: 11." in match.observe(0).text
    assert "even where another discard would leave less" in GIN.rules(0)


def extending(laid: list[list[str]], hand: Sequence[str]) -> set[str]:
    """Return the cards that extend a meld; cards laid off before are added to every meld that they extend."""
    return {card for card in hand if any(is_meld([*meld, card]) for meld in laid)}


LAY_OFFS = {
    "three below": ("7s 8s 9s Kh Kd Kc Qh Qd Qc 2c", "4s 5s 6s Ad 3d 5d 7d 9d Jh Td", "Th"),
    "five above": ("As 2s 3s Kh Kd Kc Qh Qd Qc 2c", "4s 5s 6s 7s 8s 5d 7d 9d Jh Td", "Th"),
    "to the ace and the king": ("6s 7s 8s Kh Kd Kc Qh Qd Qc 2c", "As 2s 3s 4s 5s 9s Ts Js Qs Ks", "Th"),
    "no card behind the king": ("Js Qs Ks Kh Kd Kc 4h 4d 4c 2d", "Ac 2c Ts 9s 8s 7s 6s 5s 3d Td", "Th"),
    "a card that fits a set and a run": ("7s 8s 9s 6h 6d 6c Qh Qd Qc 2c", "6s 5s 4s 3s Ad 3d 5d 9d Jh Td", "Th"),
    "a card on a set that a run reaches later": (
        "7h 8h 9h 5s 5c 5d Qh Qd Qc 2c",
        "5h 6h 4h 3h Ad 3d 4d 9d Jh Td",
        "Th",
    ),
    "gin": ("7s 8s 9s Kh Kd Kc Qh Qd Qc Qs", "4s 5s 6s Ad 3d 5d 7d 9d Jh Td", "Th"),
}


@pytest.mark.parametrize(("mine", "theirs", "upcard"), LAY_OFFS.values(), ids=LAY_OFFS)
def test_lay_offs_match_the_solver(mine: str, theirs: str, upcard: str) -> None:
    match = deal(mine, theirs, upcard)
    match.apply({0: "draw upcard"})
    match.apply({0: "knock"})
    check_lay_offs(match, upcard)


def check_lay_offs(match: OpenSpielMatch, discard: str) -> int:
    """Lay the knocker's melds and lay off all that can be, beside the solver. Returns the number of lay-offs."""
    match.apply({0: f"discard {discard}"})
    laid: list[list[str]] = []
    while melds := [move for move in match.legal_moves(0) if move.startswith("meld")]:
        meld = max(melds, key=len)
        match.apply({0: meld})
        laid.append(meld.split()[1:])
    match.apply({0: "pass"})
    gin = not match.state.hands()[0]
    count, rest = 0, {CARDS[card] for card in match.state.hands()[1]}
    assert all(is_meld(meld) for meld in laid)
    while True:
        expected = set() if gin else extending(laid, list(rest))
        legal = match.legal_moves(1)  # after gin the other player lays melds at once
        assert "pass" in legal
        assert {m for m in legal if not m.startswith("meld")} - {"pass"} == {f"lay off {card}" for card in expected}
        assert gin or not any(move.startswith("meld") for move in legal)
        if not expected:
            break
        card = min(expected)
        match.apply({1: f"lay off {card}"})
        laid = [[*meld, card] if is_meld([*meld, card]) else meld for meld in laid]
        rest.remove(card)
        count += 1
    match.apply({1: "pass"})
    assert set(match.state.hands()[1]) == {CARDS.index(card) for card in rest}
    return count


def test_lay_offs_of_random_hands_match_the_solver() -> None:
    rng = random.Random(2)
    most = 0
    for _ in range(SEEDS):
        runs = [meld for meld in all_melds() if len({card[1] for card in meld}) == 1 and len(meld) < 6]
        first = rng.choice(runs)
        mine = [*first, *rng.choice([meld for meld in all_melds() if len(meld) == 3 and not meld & first])]
        mine += rng.sample([card for card in CARDS if card not in mine], 10 - len(mine))
        left = [card for card in CARDS if card not in mine]
        near = [card for card in left if card[1] == next(iter(first))[1]]
        theirs = rng.sample(near, min(6, len(near)))
        theirs += rng.sample([card for card in left if card not in theirs], 10 - len(theirs))
        upcard = rng.choice([card for card in left if card not in theirs])
        match = deal(" ".join(mine), " ".join(theirs), upcard)
        match.apply({0: "draw upcard"})
        if "knock" not in match.legal_moves(0):
            continue
        match.apply({0: "knock"})
        discards = [move.split()[1] for move in match.legal_moves(0)]
        most = max(most, check_lay_offs(match, rng.choice(discards)))
    assert most > 2
