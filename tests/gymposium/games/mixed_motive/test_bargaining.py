"""Bargaining against an independent model written from the rules text alone."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from typing import Any

import pyspiel
import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.replies.reading import READERS, read_reply
from gymposium_testing import assert_no_leaks

from ..matches import own_parameters

params_sets = st.fixed_dictionaries(
    {
        "max_turns": st.integers(2, 30),
        "discount": st.sampled_from([1.0, 0.9, 0.5, 0.1]),
        "prob_end": st.sampled_from([0.0, 0.1, 0.9]),
    }
)
ITEMS = ("book", "hat", "basketball")


def parse_prompt(match: Match, seat: int) -> tuple[list[int], list[int]]:
    """Return the pool, and the value of each item to the seat."""
    line = match.observe(seat).text.partition("\n")[0]
    found = re.findall(r"(\w+): (\d+), worth (\d+) each to you", line)
    assert tuple(item for item, _, _ in found) == ITEMS
    pool, values = [int(n) for _, n, _ in found], [int(v) for _, _, v in found]
    compact = f"pool {' '.join(map(str, pool))}, values {' '.join(map(str, values))}\n"
    assert match.observe(seat, "compact").text.startswith(compact)
    return pool, values


def compute_value(values: list[int], things: list[int]) -> int:
    return sum(value * number for value, number in zip(values, things, strict=True))


@given(params_sets, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_play_agrees_with_the_rules_model(params: dict[str, Any], rng: random.Random) -> None:
    game = load_game("bargaining", **params)
    most, discount, chance = params["max_turns"], params["discount"], params["prob_end"]
    for seat in (0, 1):
        rules, compact = game.rules(seat), game.rules(seat, "compact")
        assert "in the order book, hat, basketball: take 1 0 2" in rules
        assert f"After {most} offers without agreement it is over and both get 0" in rules
        assert (f"multiplied by {discount:g} for each turn after the second" in rules) == (discount < 1)
        assert (f"ends at once with probability {chance:g}" in rules) == (chance > 0)
        assert rules.endswith(f"{('You make', 'The other player makes')[seat]} the first offer.\n")
        assert f"no deal after {most} offers: 0 each" in compact
        assert (f"results x {discount:g}" in compact) == (discount < 1)
        assert f"you move {('first', 'second')[seat]}\n" in compact
    match = game.new(rng.randrange(2**31))
    pool, values = parse_prompt(match, 0)[0], [parse_prompt(match, seat)[1] for seat in (0, 1)]
    assert parse_prompt(match, 1)[0] == pool
    takes = [f"take {' '.join(map(str, q))}" for q in itertools.product(*[range(number + 1) for number in pool])]
    offers: list[list[int]] = []
    expected = (0.0, 0.0)
    while match.to_move():
        seat = len(offers) % 2
        assert match.to_move() == (seat,)
        for who in (0, 1):
            text = match.observe(who).text
            for number, offer in enumerate(offers):
                whose = "you would" if number % 2 == who else "the other player would"
                assert f"Turn {number + 1}: {whose} take {' '.join(map(str, offer))}.\n" in text
            assert f"Turn {len(offers) + 1} of at most {most}: {'your' if who == seat else 'the other'}" in text
            past = ", ".join(
                [f"{'you' if n % 2 == who else 'they'} {' '.join(map(str, o))}" for n, o in enumerate(offers)]
            )
            short = match.observe(who, "compact").text
            assert f"offers {past or 'none'}\n" in short
            listed = ", ".join(match.legal_moves(who) or ()) or "none"
            assert short.endswith(f"turn {len(offers) + 1}/{most}\nlegal {listed}\n")
        legal = match.legal_moves(seat) or []
        assert len(legal) == len(set(legal))
        assert set(legal) == {*takes, *(["agree"] if offers else [])}
        move = "agree" if offers and rng.random() < 0.15 else rng.choice(takes)
        match.apply({seat: move})
        if move == "agree":
            taken = offers[-1]
            left = [number - gone for number, gone in zip(pool, taken, strict=True)]
            paid = [float(compute_value(values[seat], left)), float(compute_value(values[1 - seat], taken))]
            factor = discount ** max(0, len(offers) + 1 - 2)
            expected = (paid[seat] * factor, paid[1 - seat] * factor)
            break
        offers.append(list(map(int, move.split()[1:])))
        assert len(offers) <= most
    agreed = match.events[-1].move == "agree"
    ended = match.events[-1] == Event(CHANCE, "End")
    assert match.to_move() == ()
    assert agreed or ended or len(offers) == most
    assert not ended or len(offers) >= 2
    assert match.returns() == pytest.approx(expected)
    for seat in (0, 1):
        result = f"{match.returns()[seat]:g}"
        who = "You" if len(offers) % 2 == seat else "The other player"
        end = f"{who} agreed. You get {result}.\n" if agreed else "over without agreement. You get 0.\n"
        assert match.observe(seat).text.endswith(end)
        short = f"{'agreed' if agreed else 'no deal'}, result {result}\nlegal none\n"
        assert match.observe(seat, "compact").text.endswith(short)


def test_every_deal_satisfies_the_rules() -> None:
    engine = pyspiel.load_game("bargaining")
    rules = load_game("bargaining").rules(0)
    deals = engine.all_instances()
    totals = [sum(deal.pool) for deal in deals]
    assert f"{min(totals)} to {max(totals)} things in all, at least one of each kind" in rules
    assert "worth 10 to you and 10 to the other" in rules
    for deal in deals:
        assert min(deal.pool) >= 1
        assert [compute_value(deal.values[seat], deal.pool) for seat in (0, 1)] == [10, 10]
        assert all(deal.values[0][k] + deal.values[1][k] for k in range(3)), "each is worth something to somebody"
        assert any(deal.values[0][k] * deal.values[1][k] for k in range(3)), "one is worth something to both"


def test_chance_follows_middle_offers_only() -> None:
    game = load_game("bargaining", max_turns=4, prob_end=0.1)
    match = next(
        match
        for match in (played(game.new(seed), ["take 0 0 0"] * 4) for seed in range(50))
        if len([event for event in match.events if event.seat != CHANCE]) == 4
    )
    assert [event.move for event in match.events[1:]] == [
        "take 0 0 0",
        "take 0 0 0",
        "Continue",
        "take 0 0 0",
        "Continue",
        "take 0 0 0",
    ]


def played(match: Match, moves: list[str]) -> Match:
    for move in moves:
        if match.to_move():
            match.apply({match.to_move()[0]: move})
    return match


def test_deal_is_one_event_of_the_record() -> None:
    game = load_game("bargaining")
    match = game.new(3)
    assert re.fullmatch(r"pool \d \d \d, values \d+ \d+ \d+ and \d+ \d+ \d+", match.events[0].move)
    pool, values = parse_prompt(match, 0)
    assert match.events[0].move.startswith(f"pool {' '.join(map(str, pool))}, values {' '.join(map(str, values))} and")
    assert game.load(match.events).view(1) == match.view(1)


def test_worlds_are_uniform_over_consistent_deals() -> None:
    """Has chance nodes between the offers, with which the engine's own sampler fails."""
    game, rng = load_game("bargaining", prob_end=0.1), random.Random(0)
    engine = pyspiel.load_game("bargaining")
    for seed in range(6):
        match = played(game.new(seed), ["take 0 1 0", "take 1 0 0", "take 0 0 0"])
        if not match.to_move():
            continue
        [seat] = match.to_move()
        pool, values = parse_prompt(match, seat)
        others = [d.values[1 - seat] for d in engine.all_instances() if d.pool == pool and d.values[seat] == values]
        drawn = Counter(tuple(parse_prompt(match.resample(seat, rng), 1 - seat)[1]) for _ in range(60 * len(others)))
        assert set(drawn) == set(map(tuple, others))
        assert all(abs(number - 60) < 40 for number in drawn.values())
        world = match.resample(seat, rng)
        assert world.observe(seat) == match.observe(seat)
        assert [event.move for event in world.events[1:]] == [event.move for event in match.events[1:]]


@pytest.mark.parametrize("params", [{}, {"max_turns": 6, "discount": 0.9, "prob_end": 0.1}])
def test_nothing_leaks(params: dict[str, Any]) -> None:
    report = assert_no_leaks(load_game("bargaining", **params), matches=10, events=30_000)
    assert report.worlds >= 10, report


def test_parameter_ranges_are_playable_at_both_ends() -> None:
    bounds = {p.name: (p.low, p.high) for p in own_parameters("bargaining")}
    assert bounds == {"max_turns": (2, 30), "discount": (0.1, 1.0), "prob_end": (0.0, 0.9)}
    for key, span in bounds.items():
        for value in span:
            match = load_game("bargaining", **{key: value}).new(1)
            while match.to_move():
                [seat] = match.to_move()
                match.apply({seat: (match.legal_moves(seat) or [])[0]})
            assert match.returns() == (0.0, 0.0)


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("bargaining").new(3)
    replies = ["take 0 0 0", "take 7 7 7", "agree", "take 1 1", "Take 0 0 0", "take 10 0 0", "offer 1 1 1", "I agree"]
    kinds = [
        read_reply(reply, match.legal_moves(0), READERS["move"], match.game.move_pattern).kind for reply in replies
    ]
    assert kinds == ["move", "illegal", "illegal", *["unparsable"] * 5]
