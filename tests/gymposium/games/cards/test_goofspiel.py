"""Goofspiel with hidden and public bids, against independent models."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium.games.protocol import CHANCE, Match
from gymposium.plugins.host import host
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import READERS

from ..matches import parse_lines

GAMES = (
    "goofspiel(num_cards=8,imp_info=False)",
    "goofspiel(num_cards=5,imp_info=False,points_order=descending)",
    "goofspiel(num_cards=2,imp_info=False,points_order=ascending)",
    "goofspiel(num_cards=16,imp_info=False)",
)


def listed(cards: set[int], order: str) -> str:
    return " ".join(map(str, sorted(cards, reverse=order == "descending")))


@pytest.mark.parametrize("name", GAMES)
def test_text_shows_what_the_bids_left(name: str) -> None:
    game, rng = load_game(name), random.Random(1)
    total, order = game.params["num_cards"], game.params["points_order"]
    for seed in range(20):
        match = game.new(seed)
        hands, points, left = [set(range(1, total + 1)) for _ in range(2)], [0, 0], set(range(1, total + 1))
        number = 0
        while match.to_move():
            number += 1
            if order == "random":
                prize = [int(e.move.split()[-1]) for e in match.events if e.seat == CHANCE][number - 1]
            else:
                prize = min(left) if order == "ascending" else max(left)
            left.remove(prize)
            for seat in (0, 1):
                mine, theirs = (" ".join(map(str, sorted(hands[s]))) for s in (seat, 1 - seat))
                assert match.observe(seat).text == (
                    f"Round {number} of {total}: the prize is {prize}. Prizes to come: {listed(left, order)}.\n"
                    f"Your hand: {mine}. Your opponent's hand: {theirs}. Points: you {points[seat]}, your opponent "
                    f"{points[1 - seat]}.\n"
                )
                assert match.observe(seat, "compact").text == (
                    f"points {points[seat]} {points[1 - seat]}\nhand {mine}\ntheirs {theirs}\n"
                    f"left {listed(left, order)}\nprize {prize}\n"
                    f"legal {', '.join([f'bid {card}' for card in sorted(hands[seat])])}\n"
                )
            bids = {seat: rng.choice(match.legal_moves(seat)) for seat in (0, 1)}
            match.apply(bids)
            cards = [int(bids[seat].removeprefix("bid ")) for seat in (0, 1)]
            for seat in (0, 1):
                hands[seat].remove(cards[seat])
            if cards[0] != cards[1]:
                points[cards[0] < cards[1]] += prize
        (prize,) = left  # the last cards are bid without asking
        last = [hands[seat].pop() for seat in (0, 1)]
        if last[0] != last[1]:
            points[last[0] < last[1]] += prize
        assert match.returns()[0] == (points[0] > points[1]) - (points[0] < points[1])
        assert f"Points: you {points[0]}, your opponent {points[1]}." in match.observe(0).text


def test_rules_say_whether_bids_are_hidden() -> None:
    hidden, shown = load_game("goofspiel").rules(0), load_game("goofspiel", imp_info=False).rules(0)
    assert "never your opponent's card" in hidden
    assert "Both are shown." in shown
    assert "bids shown" in load_game("goofspiel", imp_info=False).rules(1, "compact")


def compact(match: Match, seat: int) -> str:
    return get_prompt(match.game, "compact", READERS["move"])(match.observe(seat, "compact"))


def test_compact_prompt_shows_the_bid_format() -> None:
    match = load_game("goofspiel(num_cards=4,points_order=descending)").new(0)
    match.apply({0: "bid 3", 1: "bid 2"})
    prompt = compact(match, 0)
    assert "moves bid N" in prompt
    assert "past is prize:your bid with w won" in prompt
    assert "\npast 4:3w\n" in prompt


@given(st.integers(2, 16), st.sampled_from(["random", "ascending", "descending"]), st.integers(0, 9999), st.randoms())
@settings(max_examples=60)
def test_play_agrees_with_the_rules_model(cards: int, order: str, seed: int, rng: object) -> None:
    match = load_game("goofspiel", num_cards=cards, points_order=order).new(seed)
    assert f"the cards 1 to {cards}" in match.game.rules(0)
    assert f"in {order} order" in match.game.rules(1)
    hands = [set(range(1, cards + 1)), set(range(1, cards + 1))]
    points, past, number = [0, 0], [[], []], 1  # type: ignore[var-annotated]
    prizes_seen: list[int] = []

    def settle(bids: list[int], prize: int) -> None:
        for seat in (0, 1):
            hands[seat].remove(bids[seat])
            result = "won" if bids[seat] > bids[1 - seat] else "lost" if bids[seat] < bids[1 - seat] else "tied"
            past[seat].append(f"Round {number}: prize {prize}, you bid {bids[seat]} and {result}.")
            points[seat] += prize * (result == "won")

    while seats := match.to_move():
        assert seats == (0, 1)
        for seat in (0, 1):
            text = match.observe(seat).text
            found = re.search(rf"Round {number} of {cards}: the prize is (\d+)\. Prizes to come: ([\d ]+)\.", text)
            assert found is not None, text
            prize, rest = int(found[1]), [int(p) for p in found[2].split()]
            assert sorted([*prizes_seen, prize, *rest]) == list(range(1, cards + 1))
            assert rest == sorted(rest, reverse=order == "descending")
            if order != "random":
                assert prize == (cards + 1 - number if order == "descending" else number)
            hand = sorted(hands[seat])
            assert f"Your hand: {' '.join(map(str, hand))}." in text
            assert f"Points: you {points[seat]}, your opponent {points[1 - seat]}." in text
            assert [line for line in text.splitlines() if " and " in line] == past[seat]
            assert match.legal_moves(seat) == [f"bid {card}" for card in hand]
            told = parse_lines(match.observe(seat, "compact").text)
            assert told["points"] == f"{points[seat]} {points[1 - seat]}"
            assert told["hand"] == " ".join(map(str, hand))
            assert told["prize"] == str(prize)
        bids = [rng.choice(sorted(hands[seat])) for seat in (0, 1)]  # type: ignore[attr-defined]
        match.apply({seat: f"bid {bids[seat]}" for seat in (0, 1)})
        settle(bids, prize)
        prizes_seen.append(prize)
        number += 1
    assert number == cards, "the last card is bid automatically"
    [last] = set(range(1, cards + 1)) - set(prizes_seen)
    settle([next(iter(hands[0])), next(iter(hands[1]))], last)
    for seat in (0, 1):
        assert f"Points: you {points[seat]}, your opponent {points[1 - seat]}." in match.observe(seat).text
    sign = (points[0] > points[1]) - (points[0] < points[1])
    assert match.returns() == (float(sign), float(-sign))


def test_parameter_ranges_are_enforced() -> None:
    by_name = {p.name: p for p in host().game("goofspiel").parameters}
    assert (by_name["num_cards"].low, by_name["num_cards"].high) == (2, 16)  # as drawn above
    assert set(by_name["points_order"].choices or ()) == {"random", "ascending", "descending"}
    with pytest.raises(BadParameter, match="from 2 to 16"):
        load_game("goofspiel(num_cards=1)")
