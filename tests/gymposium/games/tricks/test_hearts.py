"""Hearts: prompts match the engine, and worlds are uniform."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadRecord
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event, Match

from ..matches import check_readings, engine, list_moves, parse_lines, seeds, walk
from ..worlds import check_hint_is_found, check_nothing_leaks, check_worlds, chi_square

HEARTS = "hearts(can_lead_any_club=True,can_lead_hearts_instead_of_qs=True,no_pts_on_first_trick=False)"
FLAGS = [
    "pass_cards",
    "no_pts_on_first_trick",
    "can_lead_any_club",
    "jd_bonus",
    "avoid_all_tricks_bonus",
    "must_break_hearts",
    "qs_breaks_hearts",
    "can_lead_hearts_instead_of_qs",
]
SEATS = ["North", "East", "South", "West"]
RANKS = "23456789TJQKA"


def lower(cards: list[str]) -> list[str]:
    return [card[0] + card[1].lower() for card in cards]


@given(st.fixed_dictionaries({flag: st.booleans() for flag in FLAGS}), seeds)
@settings(max_examples=40)
def test_prompts_agree_with_the_rules_model(flags: dict[str, bool], seed: int) -> None:
    """Plays matches beside a model of the rules in the prompt."""
    game = load_game("hearts", **flags)
    match = game.new(seed)
    way = {"No Pass": 0, "Left": 1, "Across": 2, "Right": 3}[match.events[0].move]
    assert flags["pass_cards"] or way == 0
    hands = [set(lower([e.move for e in match.events[1 + seat : 53 : 4]])) for seat in range(4)]
    rng = random.Random(seed)
    gave: list[list[str]] = [[], [], [], []]
    for seat in range(4) if way else ():
        for _ in range(3):
            assert match.to_move() == (seat,)
            assert set(list_moves(match, seat)) == hands[seat]
            text = match.observe(seat).text
            assert f"Pass {['', 'left', 'across', 'right'][way]}, to {SEATS[(seat + way) % 4]}. Chosen so far" in text
            assert f"{3 - len(gave[seat])} more to choose" in text
            card = rng.choice(match.legal_moves(seat) or [])
            match.apply({seat: card})
            hands[seat].remove(card)
            gave[seat].append(card)
    got = [gave[(seat - way) % 4] for seat in range(4)]
    for seat in range(4):
        hands[seat] |= set(got[seat])
    leader = next(seat for seat in range(4) if "2c" in hands[seat])
    points, taken, broken = [0, 0, 0, 0], [0, 0, 0, 0], not flags["must_break_hearts"]
    void: list[set[str]] = [set(), set(), set(), set()]
    past: list[tuple[int, list[str]]] = []
    for number in range(13):
        trick: list[str] = []
        for turn in range(4):
            seat = (leader + turn) % 4
            assert match.to_move() == (seat,)
            check_hearts(match, seat, hands[seat], way, gave[seat], got[seat])
            check_tricks(match, seat, [*past, (leader, trick)] if trick else past, points, void)
            if past or trick:
                words = f"Hearts are {'broken' if broken else 'not broken'}."
                assert (words in match.observe(seat).text) == flags["must_break_hearts"]
            assert set(list_moves(match, seat)) == allowed(hands[seat], trick, number == 0, broken, flags)
            card = rng.choice(match.legal_moves(seat) or [])
            match.apply({seat: card})
            hands[seat].remove(card)
            trick.append(card)
            if card[1] != trick[0][1]:
                void[seat].add(trick[0][1])
            broken = broken or card[1] == "h" or (card == "Qs" and flags["qs_breaks_hearts"])
        winner = (leader + max(range(4), key=lambda i: (trick[i][1] == trick[0][1], RANKS.index(trick[i][0])))) % 4
        worth = sum(card[1] == "h" for card in trick) + 13 * ("Qs" in trick)
        points[winner] += worth - 10 * (flags["jd_bonus"] and "Jd" in trick)
        taken[winner] += 1
        past.append((leader, trick))
        leader = winner
    assert match.to_move() == ()
    moon = [seat for seat in range(4) if points[seat] + 10 * jack(past, seat, flags) == 26]
    if moon:
        points = [points[seat] + (-26 if seat in moon else 26) for seat in range(4)]
    elif flags["avoid_all_tricks_bonus"]:
        points = [points[seat] - 5 * (taken[seat] == 0) for seat in range(4)]
    assert match.returns() == tuple(26.0 - p for p in points)
    for seat in range(4):
        check_tricks(match, seat, past, points, void)
        assert match.observe(seat).text.endswith(f"The hand is over. Your result: {26 - points[seat]}.\n")
        assert f"result {26 - points[seat]:+d}" in match.observe(seat, "compact").text


def jack(past: list[tuple[int, list[str]]], seat: int, flags: dict[str, bool]) -> bool:
    """Return whether the seat took the jack of diamonds and it counts."""
    for number, (_, trick) in enumerate(past):
        if "Jd" in trick and flags["jd_bonus"]:
            return find_trick_winner(past[number]) == seat
    return False


def find_trick_winner(trick: tuple[int, list[str]]) -> int:
    leader, cards = trick
    led = [card for card in cards if card[1] == cards[0][1]]
    return (leader + cards.index(max(led, key=lambda card: RANKS.index(card[0])))) % 4


def allowed(hand: set[str], trick: list[str], first: bool, broken: bool, flags: dict[str, bool]) -> set[str]:
    """Return the cards that may be played, by the rules in the prompt."""
    if trick:
        follow = {card for card in hand if card[1] == trick[0][1]}
        if follow:
            return follow
        plain = {card for card in hand if card[1] != "h" and card != "Qs"}
        return plain if first and flags["no_pts_on_first_trick"] and plain else hand
    if first:
        return {card for card in hand if card[1] == "c"} if flags["can_lead_any_club"] else {"2c"}
    others = {card for card in hand if card[1] != "h"}
    if broken or not others or (flags["can_lead_hearts_instead_of_qs"] and others == {"Qs"}):
        return hand
    return others


def check_hearts(match: Match, seat: int, hand: set[str], way: int, gave: list[str], got: list[str]) -> None:
    text, told = match.observe(seat).text, parse_lines(match.observe(seat, "compact").text)
    shown = text.splitlines()[0].removeprefix("Your hand: ").removesuffix(".").replace(",", "").split()
    assert shown == told["hand"].split()
    assert set(shown) == hand
    assert len(shown) == len(hand)
    assert told["legal"].split() == match.legal_moves(seat)
    if way:
        kept = re.search(r"You passed (.*) and got (.*) from (\w+)\.", text)
        assert kept is not None
        assert sorted(kept[1].split()) == sorted(gave)
        assert sorted(kept[2].split()) == sorted(got)
        assert kept[3] == SEATS[(seat - way) % 4]


def check_tricks(
    match: Match, seat: int, past: list[tuple[int, list[str]]], points: list[int], void: list[set[str]]
) -> None:
    if not past:
        return
    names = [*SEATS[:seat], "you", *SEATS[seat + 1 :]]
    lines = match.observe(seat).text.splitlines()
    expected = []
    for number, (leader, cards) in enumerate(past, start=1):
        played = ", ".join(f"{names[(leader + i) % 4]} {card}" for i, card in enumerate(cards))
        winner = find_trick_winner((leader, cards))
        verb = "take" if winner == seat else "takes"
        end = f"; {names[winner]} {verb} it." if len(cards) == 4 else " (under way)."
        expected.append(f"Trick {number}: {played}{end}")
    assert [line for line in lines if line.startswith("Trick ")] == expected
    assert f"Points: {', '.join(f'{name} {n}' for name, n in zip(names, points, strict=True))}." in lines
    told = parse_lines(match.observe(seat, "compact").text)
    assert told["tricks"] == ", ".join(f"{SEATS[leader][0]} {' '.join(cards)}" for leader, cards in past)
    assert told["points"] == " ".join(f"{name[0]} {n}" for name, n in zip(SEATS, points, strict=True))
    if match.to_move():
        suits = {"s": "spades", "h": "hearts", "d": "diamonds", "c": "clubs"}
        out = [f"{names[s]} in {', '.join(suits[x] for x in 'shdc' if x in void[s])}" for s in range(4) if void[s]]
        assert f"Out of a suit, as seen: {'; '.join(out) or 'nobody'}." in lines


def test_rules_depend_on_the_flags() -> None:
    plain = load_game("hearts").rules(2)
    assert plain.endswith("You are South.\n")
    assert "a heart or Qs has been played" in plain
    assert "10 points" not in plain
    assert "5 points" not in plain
    other = load_game(
        "hearts", jd_bonus=True, avoid_all_tricks_bonus=True, pass_cards=False, qs_breaks_hearts=False
    ).rules(0)
    assert "Jd takes 10 points off" in other
    assert "5 points taken off" in other
    assert "No cards are passed." in other
    assert "before a heart has been played" in other
    free = load_game("hearts", must_break_hearts=False, can_lead_any_club=True, no_pts_on_first_trick=False).rules(3)
    assert "Hearts may be led at any time." in free
    assert "leads any club" in free
    assert "On the first trick" not in free


@pytest.mark.parametrize("bonus", [False, True])
def test_shooting_the_moon(bonus: bool) -> None:
    """North is dealt all clubs, so it takes every trick."""
    game = load_game("hearts", pass_cards=False, jd_bonus=bonus, avoid_all_tricks_bonus=True)
    others = iter([rank + suit for suit in "DHS" for rank in RANKS])
    deal = [rank + "C" if n == 0 else next(others) for rank in RANKS for n in range(4)]
    match = game.load([Event(CHANCE, "No Pass"), *[Event(CHANCE, card) for card in deal]])
    while match.to_move():
        [seat] = match.to_move()
        match.apply({seat: (match.legal_moves(seat) or [])[-1]})
    assert match.returns() == (36.0 if bonus else 26.0, 0.0, 0.0, 0.0)
    low, high = game.utility_range
    assert all(low <= value <= high for value in match.returns())


def test_pass_cards_false_skips_passing() -> None:
    """The engine lists all four directions even then."""
    game = load_game("hearts", pass_cards=False)
    assert {game.new(seed).events[0].move for seed in range(30)} == {"No Pass"}
    assert {load_game("hearts").new(seed).events[0].move for seed in range(30)} == {
        "No Pass",
        "Left",
        "Across",
        "Right",
    }
    with pytest.raises(BadRecord, match="not an outcome of chance"):
        game.load([Event(CHANCE, "Left")])


def test_hands_match_the_engines_json() -> None:
    for match in walk(load_game("hearts"), 5):
        if match.to_move():
            state = json.loads(engine(match).to_json())
            for seat in range(4):
                told = parse_lines(match.observe(seat, "compact").text)["hand"]
                assert set(lower(state["hands"][seat])) == set(told.replace("none", "").split())
                if not state["hands"][seat]:  # who waits in the last trick
                    assert match.observe(seat).text.startswith("Your hand: empty.\n")


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_sampled_hands_are_uniform(seed: int) -> None:
    """Late in a hand, lists and counts all distributions of the unseen cards that the tricks allow."""
    match, rng = load_game("hearts").new(seed), random.Random(seed)
    while sum(map(len, held(match))) > 10:
        match.apply({match.to_move()[0]: rng.choice(match.legal_moves(match.to_move()[0]) or [])})
    [seat] = match.to_move()
    true, out = held(match), out_of_suits(match)
    way = {"No Pass": 0, "Left": 1, "Across": 2, "Right": 3}[match.events[0].move]
    gave = [event.move for event in match.events[53:65] if event.seat == seat] if way else []
    pinned = dict.fromkeys(gave, (seat + way) % 4)
    others = [p for p in range(4) if p != seat]
    unseen = [card for p in others for card in sorted(true[p])]
    fitting = set()
    for places in set(itertools.permutations([p for p in others for _ in true[p]])):
        shared = dict(zip(unseen, places, strict=True))
        if all(card[1] not in out[p] and pinned.get(card, p) == p for card, p in shared.items()):
            fitting.add(" ".join(f"{card}{p}" for card, p in sorted(shared.items())))
    assert len(fitting) > 2
    worlds: Counter[str] = Counter()
    for _ in range(20 * len(fitting)):
        hands = held(match.resample(seat, rng))
        assert hands[seat] == true[seat]
        worlds[" ".join(f"{card}{p}" for card, p in sorted((card, p) for p in others for card in hands[p]))] += 1
    assert set(worlds) <= fitting
    assert abs(chi_square(worlds, len(fitting))) < 4


@pytest.mark.slow
def test_hidden_pass_may_be_any_three_cards() -> None:
    seed = next(seed for seed in range(99) if load_game("hearts").new(seed).events[0].move == "Left")
    match, rng = load_game("hearts").new(seed), random.Random(0)
    while len(match.events) < 65:
        match.apply({match.to_move()[0]: rng.choice(match.legal_moves(match.to_move()[0]) or [])})
    [seat] = match.to_move()
    passer = (seat + 1) % 4  # to the seat after it
    gave = {event.move for event in match.events[53:65] if event.seat == seat}
    passed: Counter[str] = Counter()
    for _ in range(2000):
        passed.update(event.move for event in match.resample(seat, rng).events[53:65] if event.seat == passer)
    assert len(passed) == 52 - 13 - 3
    assert not set(passed) & (held(match)[seat] | gave)
    assert chi_square(passed, 36) < 4
    true = sum(passed[event.move] for event in match.events[53:65] if event.seat == passer)
    assert abs(true - 2000 * 9 / 36) < 4 * (2000 * 9 / 36) ** 0.5


def held(match: Match) -> list[set[str]]:
    assert isinstance(match, OpenSpielMatch)
    hands = json.loads(match.state.to_json())["hands"]
    return [{card[0] + card[1].lower() for card in hand} for hand in hands]


def out_of_suits(match: Match) -> list[set[str]]:
    """Return the suits that each seat has failed to follow."""
    begin = 53 if match.events[0].move == "No Pass" else 65
    out: list[set[str]] = [set(), set(), set(), set()]
    led = ""
    for number, (seat, card) in enumerate(match.events[begin:]):
        if number % 4 == 0:
            led = card[1]
        elif card[1] != led:
            out[seat].add(led)
    return out


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    check_readings("hearts", ["Qs", "2c", "Kd"], ["QS", "10h", "1c", "Q", "Qs Kd"])


@pytest.mark.parametrize("name", ["hearts", HEARTS])
def test_worlds_are_consistent_with_the_seats_view(name: str, story: Callable[[Match, int], list[str]]) -> None:
    check_worlds(name, 0.3, 12, story)


@pytest.mark.slow
def test_nothing_leaks() -> None:
    check_nothing_leaks("hearts", 4)


@pytest.mark.slow
def test_leak_check_detects_a_hidden_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    check_hint_is_found("hearts", 4, lambda state, seat: state.history()[1 + (seat + 1) % 4] % 2, monkeypatch)
