"""Worlds of the hidden games: the seat cannot tell them apart, none is likelier than another, and nothing leaks."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence

import pyspiel
import pytest

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.openspiel.wording import Wording
from gymposium.games.protocol import CHANCE, Event, Match, Style
from gymposium.testing import assert_no_leaks, check_leaks

RANKS = "A23456789TJQK"
CARDS = [rank + suit for suit in "scdh" for rank in RANKS]


def lively(match: Match, rng: random.Random) -> str:
    legal = match.legal_moves(match.to_move()[0]) or []
    knocks = [move for move in legal if move.startswith(("knock", "meld", "lay off"))]
    return rng.choice(knocks) if knocks and rng.random() < 0.8 else rng.choice(legal)


def chi_square(counts: Counter[str], kinds: int) -> float:
    """Distance from evenness, in standard deviations of the chi-square distribution."""
    total = sum(counts.values())
    distance = sum((n - total / kinds) ** 2 for n in counts.values()) / (total / kinds)
    distance += (kinds - len(counts)) * total / kinds
    return float((distance - (kinds - 1)) / (2 * (kinds - 1)) ** 0.5)


HEARTS = "hearts(can_lead_any_club=True,can_lead_hearts_instead_of_qs=True,no_pts_on_first_trick=False)"
SHARE = {
    "gin_rummy": 0.06,
    "gin_rummy(hand_size=7,oklahoma=True)": 0.06,
    "gin_rummy(hand_size=3)": 0.06,
    "blackjack": 1.0,
    "hearts": 0.3,
    HEARTS: 0.3,
}
"""How many of the decisions are looked at."""


@pytest.mark.parametrize("name", SHARE)
def test_worlds_tell_the_seat_the_same_story(name: str, story: Callable[[Match, int], list[str]]) -> None:
    game, rng = load_game(name), random.Random(1)
    worlds, different, knocked = 0, 0, 0
    for seed in range(40 if name == "blackjack" else 12):
        match = game.new(seed)
        while match.to_move():
            [seat] = match.to_move()
            late = "knock" in [event.move for event in match.events]
            if rng.random() < (0.7 if late else SHARE[name]):
                true = list(match.events)
                world = match.resample(seat, rng)
                assert isinstance(world, OpenSpielMatch)
                assert match.events == true
                assert world.seed is None
                assert world.to_move() == match.to_move()
                assert world.observe(seat) == match.observe(seat)
                assert world.legal_actions(seat) == match.legal_actions(seat)
                assert [event.seat for event in world.events] == [event.seat for event in true]
                assert story(world, seat) == story(match, seat)
                assert str(game.load(world.events).state) == str(world.state)  # type: ignore[attr-defined]
                worlds, different, knocked = worlds + 1, different + (world.events != true), knocked + late
                while world.to_move():
                    world.apply({world.to_move()[0]: lively(world, rng)})
            match.apply({seat: lively(match, rng)})
    assert worlds >= 30
    assert different >= 0.9 * worlds
    assert knocked or "hand_size=3" not in name


def test_every_card_is_as_likely_to_be_the_dealers() -> None:
    game = load_game("blackjack")
    deal = ["H2", "CA", "D7", "HA"]  # the third is the hidden one
    match, rng = game.load([Event(CHANCE, card) for card in deal]), random.Random(0)
    drawn = Counter(match.resample(0, rng).events[2].move for _ in range(4900))
    assert len(drawn) == 49
    assert not {"H2", "CA", "HA"} & set(drawn)
    assert abs(chi_square(drawn, 49)) < 4


def gin(size: int, *cards: str, moves: Sequence[str] = ()) -> Match:
    """A hand from its deal on."""
    game = load_game("gin_rummy", hand_size=size)
    return more(game.load([Event(CHANCE, f"Chance outcome: {card}") for card in cards]), *moves)


def more(match: Match, *moves: str) -> Match:
    """The match, played on; a move that is a card is one drawn from the stock."""
    events = list(match.events)
    for move in moves:
        if move in CARDS:
            events.append(Event(CHANCE, f"Chance outcome: {move}"))
        else:
            [seat] = match.game.load(events).to_move()
            events.append(Event(seat, move))
    return match.game.load(events)


def hidden(world: Match, size: int) -> list[str]:
    """What seat 1 was dealt and drew from the stock, in order."""
    cards = [event.move.split()[-1] for event in world.events[size : 2 * size]]
    drew = False
    for event in world.events[2 * size + 1 :]:
        if drew:
            cards.append(event.move.split()[-1])
        drew = event == Event(1, "draw stock")
    return cards


def test_every_unseen_card_is_as_likely_in_the_other_hand() -> None:
    match, rng = load_game("gin_rummy").new(11), random.Random(0)
    held = Counter(card for _ in range(3000) for card in hidden(match.resample(0, rng), 10))
    assert len(held) == 52 - 11
    assert chi_square(held, 41) < 4
    true = sum(held[card] for card in hidden(match, 10))
    assert abs(true - 3000 * 100 / 41) < 4 * (3000 * 100 / 41) ** 0.5


def test_a_discard_came_from_any_hidden_draw() -> None:
    """Seat 1 drew from the stock twice and discarded 9c, then 2c: 9c was dealt or the first draw, evenly, and 2c
    any of those that are left; the card taken from the pile is known all along."""
    mine, theirs = ["As", "2s", "3s"], ["9c", "5d", "6d"]
    match = gin(3, *mine, *theirs, "Kd", moves=["pass", "pass", "draw stock", "Qh", "discard Qh"])
    for moves in (
        ["draw stock", "2c", "discard 9c"],
        ["draw stock", "7h", "discard 7h"],
        ["draw stock", "8h", "discard 2c"],
    ):
        match = more(match, *moves)
    rng = random.Random(0)
    first: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    rest: Counter[str] = Counter()
    for _ in range(4000):
        cards = hidden(match.resample(0, rng), 3)
        assert len(cards) == 5
        first[str(cards.index("9c"))] += 1
        pairs[f"{cards.index('9c')} {cards.index('2c')}"] += 1
        rest.update(card for card in cards if card not in ("9c", "2c"))
    assert set(first) == {"0", "1", "2", "3"}
    assert abs(chi_square(first, 4)) < 4
    assert len(pairs) == 16
    assert abs(chi_square(pairs, 16)) < 4
    assert chi_square(rest, 52 - 3 - 1 - 2 - 2) < 4
    assert not {"As", "2s", "3s", "Kd", "Qh", "7h"} & set(rest)


def test_a_card_taken_from_the_pile_stays_where_it_was_seen() -> None:
    match = gin(3, "As", "2s", "3s", "9c", "5d", "6d", "Kd", moves=["pass", "draw upcard", "discard 9c"])
    rng = random.Random(0)
    for _ in range(50):
        world = match.resample(0, rng)
        assert "9c" in hidden(world, 3)
        assert "Kd" not in hidden(world, 3)
        assert isinstance(world, OpenSpielMatch)
        assert CARDS.index("Kd") in world.state.hands()[1]


def test_what_a_knocker_keeps_is_any_deadwood_within_the_limit() -> None:
    """Seat 1 knocked with the meld 5c 5d 5h and two more cards: every pair that counts ten or less is as likely."""
    mine, theirs = ["Ks", "Qs", "9s", "8c", "7d"], ["5c", "5d", "5h", "Ac", "3d"]
    moves = ["draw upcard", "knock", "discard Kd", "meld 5c 5d 5h", "pass"]
    match = gin(5, *mine, *theirs, "Kd", moves=["pass", *moves])
    assert match.to_move() == (0,)
    unseen = [card for card in CARDS if card not in [*mine, "5c", "5d", "5h", "Kd"]]
    counts = {card: min(10, RANKS.index(card[0]) + 1) for card in unseen}
    pairs = {" ".join(sorted(p)) for p in itertools.combinations(unseen, 2) if counts[p[0]] + counts[p[1]] <= 10}
    rng = random.Random(0)
    kept: Counter[str] = Counter()
    for _ in range(15 * len(pairs)):
        cards = hidden(match.resample(0, rng), 5)
        kept[" ".join(sorted(card for card in cards if card[0] != "5" or card == "5s"))] += 1
    assert set(kept) <= pairs
    assert abs(chi_square(kept, len(pairs))) < 4


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_hands_of_hearts_are_even_among_all_that_fit(seed: int) -> None:
    """Late in a hand, all ways to share out the unseen cards that the tricks allow are listed and counted."""
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


def test_a_hidden_pass_of_hearts_is_any_three_cards() -> None:
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
    """The suits that each seat has failed to follow."""
    begin = 53 if match.events[0].move == "No Pass" else 65
    out: list[set[str]] = [set(), set(), set(), set()]
    led = ""
    for number, (seat, card) in enumerate(match.events[begin:]):
        if number % 4 == 0:
            led = card[1]
        elif card[1] != led:
            out[seat].add(led)
    return out


# -- leaks: none in the games as they are, and one planted in each is found

MATCHES = {"liars_dice(numdice=2)": 20, "phantom_ttt": 20, "gin_rummy(hand_size=3)": 4, "hearts": 4, "blackjack": 20}


@pytest.mark.parametrize("name", MATCHES)
def test_nothing_leaks(name: str) -> None:
    report = assert_no_leaks(load_game(name), matches=MATCHES[name])
    assert report.worlds >= 10, report


class Telling:
    """The words of a game, and a hint at something that the seat may not know."""

    def __init__(self, wording: Wording) -> None:
        self._wording = wording

    def __getattr__(self, name: str) -> object:
        return getattr(self._wording, name)

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        return self._wording.position(state, seat, style) + hint(state, seat)


def hint(state: pyspiel.State, seat: int) -> str:
    game = state.get_game().get_type().short_name
    if game == "phantom_ttt":
        return f"{len(state.history())}\n"
    if game == "blackjack":
        return f"{state.cards(1)[0] % 2}\n"
    if game == "gin_rummy":
        return f"{sum(state.hands()[1 - seat]) % 2}\n"
    dice = 2 * (1 - seat) if game == "liars_dice" else 1 + (seat + 1) % 4
    return f"{state.history()[dice] % 2}\n"


@pytest.mark.parametrize("name", MATCHES)
def test_a_bit_of_what_is_hidden_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    telling = load_game(name)  # one for everybody: a copy would be the same
    monkeypatch.setattr(telling, "wording", Telling(telling.wording))  # type: ignore[attr-defined]
    leaks = check_leaks(telling, matches=MATCHES[name]).leaks
    assert {leak.seat for leak in leaks if leak.fault == "leak" and "prompt" in leak.what} == set(range(telling.seats))
