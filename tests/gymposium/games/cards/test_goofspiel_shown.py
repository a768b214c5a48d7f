"""Goofspiel with bids that are shown: hands, points and prizes are what an account kept from the bids says."""

from __future__ import annotations

import random

import pytest

from gymposium import load_game
from gymposium.games.protocol import CHANCE

GAMES = (
    "goofspiel(num_cards=8,imp_info=False)",
    "goofspiel(num_cards=5,imp_info=False,points_order=descending)",
    "goofspiel(num_cards=2,imp_info=False,points_order=ascending)",
    "goofspiel(num_cards=16,imp_info=False)",
)


def listed(cards: set[int], order: str) -> str:
    return " ".join(map(str, sorted(cards, reverse=order == "descending")))


@pytest.mark.parametrize("name", GAMES)
def test_the_text_says_what_the_bids_left(name: str) -> None:
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


def test_the_rules_say_which_it_is() -> None:
    hidden, shown = load_game("goofspiel").rules(0), load_game("goofspiel", imp_info=False).rules(0)
    assert "never your opponent's card" in hidden
    assert "Both are shown." in shown
    assert "bids shown" in load_game("goofspiel", imp_info=False).rules(1, "compact")
