"""Spades: prompts match the engine, and worlds are consistent with the seat's view."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable

import pyspiel
import pytest

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.replies.reading import READERS, read_reply
from gymposium_testing import assert_no_leaks

SEATS = ["North", "East", "South", "West"]
RANKS = "23456789TJQKA"


def parse_prompt(match: Match, seat: int) -> dict[str, str]:
    lines = match.observe(seat, "compact").text.splitlines()
    return {key: rest for key, _, rest in (line.partition(" ") for line in lines)}


def number(bid: str) -> int:
    return 0 if bid == "nil" else int(bid)


def find_trick_winner(trick: list[tuple[int, str]]) -> int:
    wanted = "s" if any(card[1] == "s" for _, card in trick) else trick[0][1][1]
    return max((RANKS.index(card[0]), seat) for seat, card in trick if card[1] == wanted)[1]


class RulesModel:
    """Model of a hand, by the rules in the prompt."""

    def __init__(self, match: Match) -> None:
        cards = [event.move[1] + event.move[0].lower() for event in match.events[:52]]
        self.hands = [set(cards[seat::4]) for seat in range(4)]
        self.bids: list[str] = []
        self.tricks: list[list[tuple[int, str]]] = []
        self.mover = 0

    @property
    def over(self) -> bool:
        return len(self.tricks) == 13 and len(self.tricks[-1]) == 4

    def legal(self) -> set[str]:
        if len(self.bids) < 4:
            partner = number(self.bids[self.mover - 2]) if self.mover >= 2 else 0
            return {bid for bid in ["nil", *map(str, range(1, 14))] if number(bid) + partner <= 13}
        hand = self.hands[self.mover]
        if self.tricks and len(self.tricks[-1]) < 4:
            return {card for card in hand if card[1] == self.tricks[-1][0][1][1]} or hand
        return {card for card in hand if card[1] != "s"} or hand

    def play(self, move: str) -> None:
        if len(self.bids) < 4:
            self.bids.append(move)
            self.mover = (self.mover + 1) % 4
            return
        self.hands[self.mover].remove(move)
        if not self.tricks or len(self.tricks[-1]) == 4:
            self.tricks.append([])
        self.tricks[-1].append((self.mover, move))
        self.mover = find_trick_winner(self.tricks[-1]) if len(self.tricks[-1]) == 4 else (self.mover + 1) % 4

    def taken(self) -> list[int]:
        winners = [find_trick_winner(trick) for trick in self.tricks if len(trick) == 4]
        return [winners.count(seat) for seat in range(4)]

    def result(self) -> tuple[float, ...]:
        points, taken = [0, 0], self.taken()
        for side in (0, 1):
            contract = number(self.bids[side]) + number(self.bids[side + 2])
            extra = taken[side] + taken[side + 2] - contract
            points[side] = -10 * contract if extra < 0 else 10 * contract + extra - 100 * (extra >= 10)
            for seat in (side, side + 2):
                if self.bids[seat] == "nil":
                    points[side] += -100 if taken[seat] else 100
        return tuple(float(points[seat % 2]) for seat in range(4))


def check(match: Match, account: RulesModel, seat: int) -> None:
    """Compare the texts of a seat with the model."""
    text, compact = match.observe(seat).text, parse_prompt(match, seat)
    names = [*SEATS[:seat], "you", *SEATS[seat + 1 :]]
    lines = text.splitlines()
    hand = account.hands[seat]
    assert set(compact["hand"].replace("none", "").split()) == hand
    if account.over:
        assert "Your hand" not in text
    else:
        shown = lines[0].removeprefix("Your hand: ").rstrip(".").replace(",", "").replace("empty", "").split()
        assert len(shown) == len(hand)
        assert set(shown) == hand
    bids = ", ".join(f"{name} {bid}" for name, bid in zip(names, account.bids, strict=False))
    assert f"Bids: {bids or 'none so far'}." in lines
    assert compact["bids"] == (" ".join(account.bids) or "none")
    tricks = []
    for n, trick in enumerate(account.tricks, start=1):
        cards = ", ".join(f"{names[s]} {card}" for s, card in trick)
        winner = find_trick_winner(trick)
        end = f"; {names[winner]} take{'' if winner == seat else 's'} it." if len(trick) == 4 else " (under way)."
        tricks.append(f"Trick {n}: {cards}{end}")
    assert [line for line in lines if line.startswith("Trick ")] == tricks
    short = [f"{SEATS[trick[0][0]][0]} {' '.join(card for _, card in trick)}" for trick in account.tricks]
    assert compact["tricks"] == (", ".join(short) or "none")
    taken = account.taken()
    assert compact["taken"] == " ".join(f"{name[0]} {n}" for name, n in zip(SEATS, taken, strict=True))
    if account.tricks:
        tell = ", ".join(f"{name} {n}" for name, n in zip(names, taken, strict=True))
        ns, ew = (number(account.bids[side]) + number(account.bids[side + 2]) for side in (0, 1))
        assert f"Tricks taken: {tell}. Contracts: North and South {ns}, East and West {ew}." in lines
    if account.over:
        result = [int(points) for points in account.result()]
        assert lines[-1] == (
            f"The hand is over. Points: North and South {result[0]}, East and West {result[1]}. "
            f"Your result: {result[seat]:+d}."
        )
        assert compact["result"] == f"{result[seat]:+d}"
    else:
        assert compact["legal"] == (" ".join(match.legal_moves(seat) or []) or "none")


def sensible(match: Match, rng: random.Random) -> str:
    """Draw a move: sometimes a bid that can be kept, and any card."""
    moves = match.legal_moves(match.to_move()[0]) or []
    return rng.choice(moves[:6]) if moves[0] == "nil" else rng.choice(moves)


def test_play_agrees_with_the_rules_model() -> None:
    for seed in range(12):
        match, rng = load_game("spades").new(seed), random.Random(seed)
        account = RulesModel(match)
        while not account.over:
            assert match.to_move() == (account.mover,)
            for seat in range(4):
                check(match, account, seat)
            moves = match.legal_moves(account.mover) or []
            assert len(moves) == len(set(moves))
            assert set(moves) == account.legal()
            move = sensible(match, rng)
            match.apply({account.mover: move})
            account.play(move)
        assert match.to_move() == ()
        assert match.returns() == account.result()
        for seat in range(4):
            check(match, account, seat)


def test_scores_agree_with_the_rules_model() -> None:
    rng, seen = random.Random(0), Counter[str]()
    for seed in range(120):
        match = load_game("spades").new(seed)
        account = RulesModel(match)
        while not account.over:
            move = sensible(match, rng)
            match.apply({account.mover: move})
            account.play(move)
        assert match.returns() == account.result()
        seen.update("made" if points > 0 else "failed" for points in match.returns()[:2])
        seen.update("nil" for seat in range(4) if account.bids[seat] == "nil" and not account.taken()[seat])
    assert set(seen) == {"made", "failed", "nil"}


def dealt(hands: list[str], bids: list[str]) -> Match:
    """Return a hand with these cards, seat by seat, after the bids."""
    cards = [hand.split() for hand in hands]
    match = load_game("spades").load(
        [Event(CHANCE, f"{cards[n % 4][n // 4][1].upper()}{cards[n % 4][n // 4][0]}") for n in range(52)]
    )
    for bid in bids:
        match.apply({match.to_move()[0]: bid})
    return match


def played_out(match: Match, suits: str) -> Match:
    """Play to the end. Each seat has two letters, the suits that it prefers, and plays the lowest card first."""
    while match.to_move():
        [seat] = match.to_move()
        match.apply(
            {seat: min(match.legal_moves(seat) or [], key=lambda c: (suits.split()[seat] + "cdhs").index(c[1]))}
        )
    return match


def cards(suit: str, ranks: str) -> str:
    return " ".join(rank + suit for rank in ranks)


STRONG = [
    f"{cards('h', '345678')} {cards('s', '89TJ')} {cards('c', '234')}",
    f"{cards('c', '56789TJQKA')} {cards('s', 'QKA')}",
    f"{cards('h', '29TJQKA')} {cards('s', '234567')}",
    cards("d", RANKS),
]
"""North and South take ten tricks, when they lead hearts first and East keeps the spades: North two, South eight."""


def test_extreme_scores_are_reachable() -> None:
    least = played_out(dealt(STRONG, ["nil"] * 4), "hs cd hs cd")
    assert parse_prompt(least, 0)["taken"] == "N 2 E 3 S 8 W 0"
    # South holds all spades, and so takes all tricks
    most = played_out(dealt([cards(suit, RANKS) for suit in "cdsh"], ["nil", "nil", "13", "nil"]), "cd cd cd cd")
    assert (least.returns()[0], most.returns()[0]) == most.game.utility_range == (-290.0, 230.0)


def test_no_score_is_out_of_range() -> None:
    """Counts all bids and distributions of tricks by the rules."""
    points = set()
    for one, other in itertools.product(range(14), repeat=2):
        for mine, theirs in itertools.product(range(14), repeat=2):
            if one + other <= 13 and mine + theirs <= 13:
                extra = mine + theirs - one - other
                made = 10 * (one + other) + extra - 100 * (extra >= 10) if extra >= 0 else -10 * (one + other)
                points.add(made + sum(100 - 200 * (n > 0) for bid, n in ((one, mine), (other, theirs)) if bid == 0))
    assert (min(points), max(points)) == load_game("spades").utility_range


def test_spades_are_never_broken() -> None:
    """East plays a spade on the first trick, but South still may not lead one."""
    match = dealt(STRONG, ["3"] * 4)
    for move in ["3h", "Qs", "9h", "2d", "5c", "2s", "3d", "2c"]:
        match.apply({match.to_move()[0]: move})
    assert match.to_move() == (2,)
    assert {card[1] for card in match.legal_moves(2) or []} == {"h"}
    assert "not even after spades have been played" in match.game.rules(2)


def test_prompts_tell_each_seat_its_side() -> None:
    game = load_game("spades")
    for seat in range(4):
        assert game.rules(seat).endswith(f"You are {SEATS[seat]}.\n")
        assert f"you are {SEATS[seat][0]};" in game.rules(seat, "compact")


def test_moves_match_the_engines_actions() -> None:
    match = load_game("spades").new(0)
    assert isinstance(match, OpenSpielMatch)
    for action, name in enumerate(match.game.names or []):
        word = match.state.action_to_string(0, action)
        assert name == (word[1] + word[0].lower() if action < 52 else word.lower())


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("spades").new(0)
    legal = match.legal_moves(0)
    kinds = {"2c": "illegal", "nil": "move", "13": "move", "1": "move", "0": "unparsable", "14": "unparsable"}
    kinds |= {"Nil": "unparsable", "2C": "unparsable", "10c": "unparsable", "bid 3": "unparsable"}
    for text, kind in kinds.items():
        assert read_reply(text, legal, READERS["move"], match.game.move_pattern).kind == kind


# -- worlds


def test_worlds_are_consistent_with_the_seats_view(check_worlds: Callable[..., None]) -> None:
    check_worlds(load_game("spades"), 4, 0.2)


@pytest.mark.parametrize("seed", [2, 3])
def test_sampled_hands_are_uniform(seed: int, check_even: Callable[..., None]) -> None:
    """Late in a hand, lists and counts all distributions of the unseen cards that the tricks allow."""
    match, rng = load_game("spades").new(seed), random.Random(seed)
    account = RulesModel(match)
    while sum(map(len, account.hands)) > 10:
        move = sensible(match, rng)
        match.apply({account.mover: move})
        account.play(move)
    [seat] = match.to_move()
    others = [s for s in range(4) if s != seat]
    out: list[set[str]] = [set(), set(), set(), set()]
    for trick in account.tricks:
        if trick[0][1][1] == "s":
            out[trick[0][0]] |= {"c", "d", "h"}
        for who, card in trick:
            if card[1] != trick[0][1][1]:
                out[who].add(trick[0][1][1])
    unseen = sorted(card for who in others for card in account.hands[who])
    fitting = set()
    for places in set(itertools.permutations([who for who in others for _ in account.hands[who]])):
        if not any(card[1] in out[who] for card, who in zip(unseen, places, strict=True)):
            fitting.add(str([[c for c, p in zip(unseen, places, strict=True) if p == who] for who in others]))
    assert len(fitting) > 3
    counts: Counter[str] = Counter()
    for _ in range(15 * len(fitting)):
        world = match.resample(seat, rng)
        hands = RulesModel(world).hands
        played = {event.move for event in world.events[56:]}
        counts[str([sorted(hands[who] - played) for who in others])] += 1
        assert hands[seat] - played == account.hands[seat]
    check_even(counts, fitting)


def test_leading_a_spade_means_no_other_suit() -> None:
    """Holds in every world, by the rules."""
    rng, led = random.Random(0), 0
    for seed in range(60):
        match = load_game("spades").new(seed)
        account = RulesModel(match)
        while not account.over and not (account.tricks and account.tricks[-1][0][1][1] == "s"):
            move = sensible(match, rng)
            match.apply({account.mover: move})
            account.play(move)
        leader = account.tricks[-1][0][0]
        if not match.to_move() or not account.hands[leader]:
            continue
        led += 1
        world = match.resample((leader + 1) % 4, rng)
        played = {event.move for event in world.events[56:]}
        assert {card[1] for card in RulesModel(world).hands[leader] - played} == {"s"}
    assert led > 5


def test_nothing_leaks() -> None:
    assert assert_no_leaks(load_game("spades"), matches=1, tries=1, events=30_000).worlds >= 10


def test_leak_check_detects_a_hidden_bit(find_leaking_seats: Callable[..., set[int]]) -> None:
    def hint(state: pyspiel.State, seat: int) -> int:
        return int(state.history()[(seat + 1) % 4]) % 2

    assert find_leaking_seats(load_game("spades"), hint, 1) == {0, 1, 2, 3}
