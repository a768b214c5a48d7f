"""Bridge: prompts match the engine, and worlds are consistent with the seat's view."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyspiel
import pytest

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Match
from gymposium.plugins.host import host
from gymposium.replies.reading import READERS, read_reply
from gymposium_testing import assert_no_leaks

SEATS = ["North", "East", "South", "West"]
RANKS = "23456789TJQKA"
DENOMINATIONS = ["C", "D", "H", "S", "NT"]
BIDS = [f"{level}{denomination}" for level in range(1, 8) for denomination in DENOMINATIONS]
SUITS = {"♣": "C", "♦": "D", "♥": "H", "♠": "S"}
EXAMPLES = [dict(example) for example in host().game("bridge").examples]


def parse_prompt(match: Match, seat: int) -> dict[str, str]:
    lines = match.observe(seat, "compact").text.splitlines()
    return {key: rest for key, _, rest in (line.partition(" ") for line in lines)}


def find_trick_winner(trick: list[tuple[int, str]], trump: str) -> int:
    wanted = trump if any(card[0] == trump for _, card in trick) else trick[0][1][0]
    return max((RANKS.index(card[1]), seat) for seat, card in trick if card[0] == wanted)[1]


def score(bid: str, doubled: int, vulnerable: bool, won: int) -> int:
    """Return the points of the declarer's side, by the rules in the prompt. `doubled` is 1, 2 or 4."""
    level, suit = int(bid[0]), bid[1:]
    missing = 6 + level - won
    if missing > 0:
        if doubled == 1:
            return -missing * (100 if vulnerable else 50)
        each = [200, *[300] * 12] if vulnerable else [100, 200, 200, *[300] * 10]
        return -sum(each[:missing]) * (doubled // 2)
    trick = 20 if suit in "CD" else 30
    points = (trick * level + 10 * (suit == "NT")) * doubled
    extra = {1: trick, 2: 200 if vulnerable else 100, 4: 400 if vulnerable else 200}[doubled]
    bonus = (500 if vulnerable else 300) if points >= 100 else 50
    slam = {6: 750 if vulnerable else 500, 7: 1500 if vulnerable else 1000}.get(level, 0)
    return points + bonus + slam + {1: 0, 2: 50, 4: 100}[doubled] - missing * extra


class RulesModel:
    """Model of a deal, by the rules in the prompt."""

    def __init__(self, match: Match) -> None:
        cards = [event.move for event in match.events[:52]]
        self.hands = [{SUITS[card[0]] + card[1:].replace("10", "T") for card in cards[seat::4]} for seat in range(4)]
        params = match.game.params
        self.dealer, self.computed = params["dealer"], params["use_double_dummy_result"]
        sides = [params["dealer_vul"], params["non_dealer_vul"]]
        self.vulnerable = sides if self.dealer % 2 == 0 else sides[::-1]
        self.calls: list[tuple[int, str]] = []
        self.bid, self.bidder, self.doubled = "", -1, 1
        self.declarer = -1
        self.turn, self.stage = self.dealer, "auction"
        self.tricks: list[list[tuple[int, str]]] = []

    @property
    def mover(self) -> int:
        """Return the player of the next card. The declarer plays the dummy's cards."""
        return self.declarer if self.stage == "play" and self.turn == (self.declarer + 2) % 4 else self.turn

    def legal(self) -> set[str]:
        if self.stage == "auction":
            calls = {"pass", *BIDS[BIDS.index(self.bid) + 1 if self.bid else 0 :]}
            theirs = self.bid and self.bidder % 2 != self.turn % 2
            if theirs and self.doubled == 1:
                calls.add("double")
            if self.bid and not theirs and self.doubled == 2:
                calls.add("redouble")
            return calls
        hand = self.hands[self.turn]
        if self.tricks and len(self.tricks[-1]) < 4:
            return {card for card in hand if card[0] == self.tricks[-1][0][1][0]} or hand
        return hand

    def play(self, move: str) -> None:
        if self.stage == "auction":
            self.calls.append((self.turn, move))
            if move in BIDS:
                self.bid, self.bidder, self.doubled = move, self.turn, 1
            elif move != "pass":
                self.doubled *= 2
            self.turn = (self.turn + 1) % 4
            if len(self.calls) >= 4 and all(call == "pass" for _, call in self.calls[-3:]):
                if self.bid:
                    side = [(s, c) for s, c in self.calls if s % 2 == self.bidder % 2]
                    self.declarer = next(s for s, c in side if c in BIDS and c[1:] == self.bid[1:])
                    self.turn = (self.declarer + 1) % 4
                    self.stage = "over" if self.computed else "play"
                else:
                    self.stage = "over"
            return
        self.hands[self.turn].remove(move)
        if not self.tricks or len(self.tricks[-1]) == 4:
            self.tricks.append([])
        self.tricks[-1].append((self.turn, move))
        full = len(self.tricks[-1]) == 4
        self.turn = find_trick_winner(self.tricks[-1], self.bid[1:]) if full else (self.turn + 1) % 4
        if full and len(self.tricks) == 13:
            self.stage = "over"

    def taken(self) -> list[int]:
        winners = [find_trick_winner(trick, self.bid[1:]) % 2 for trick in self.tricks if len(trick) == 4]
        return [winners.count(0), winners.count(1)]

    def result(self, won: int) -> tuple[float, ...]:
        if not self.bid:
            return (0.0, 0.0, 0.0, 0.0)
        side = self.declarer % 2
        points = score(self.bid, self.doubled, self.vulnerable[side], won)
        return tuple(float(points if seat % 2 == side else -points) for seat in range(4))


def check(match: Match, account: RulesModel, seat: int) -> None:
    """Compare the texts of a seat with the model."""
    text, compact = match.observe(seat).text, parse_prompt(match, seat)
    lines = text.splitlines()
    names = [*SEATS[:seat], "you", *SEATS[seat + 1 :]]
    over = account.stage == "over"

    def shown(start: str) -> list[str]:
        [line] = [line for line in lines if line.startswith(start)]
        return line.removeprefix(start).rstrip(".").replace(",", "").replace("empty", "").split()

    assert sorted(compact["hand"].replace("none", "").split()) == sorted(account.hands[seat])
    if over:
        assert "hand:" not in text
        assert "hand (" not in text
    else:
        assert sorted(shown("Your hand: ")) == sorted(account.hands[seat])
    dummy = (account.declarer + 2) % 4
    if account.tricks and not over:
        assert sorted(compact["dummy"].replace("none", "").split()) == sorted(account.hands[dummy])
        if seat != dummy:
            assert sorted(shown(f"The dummy's hand ({SEATS[dummy]}): ")) == sorted(account.hands[dummy])
    else:
        assert "dummy" not in compact
        assert "dummy's hand (" not in text
    calls = ", ".join(f"{names[s]} {call}" for s, call in account.calls)
    assert f"Auction: {calls or 'no calls so far'}." in lines
    assert compact["auction"] == (" ".join(call for _, call in account.calls) or "none")
    if account.declarer >= 0:
        doubled = {1: "", 2: " doubled", 4: " redoubled"}[account.doubled]
        assert compact["contract"] == f"{account.bid}{doubled} {SEATS[account.declarer][0]}"
        assert (
            f"Contract: {account.bid}{doubled}, {int(account.bid[0]) + 6} tricks; declarer: "
            f"{names[account.declarer]}; dummy: {names[dummy]}."
        ) in lines
    else:
        assert "contract" not in compact
    if account.stage == "play":
        assert compact["turn"] == SEATS[account.turn][0]
        who = names[account.mover] + (" play" if account.mover == seat else " plays")
        own = "your own hand" if account.mover == seat else "their own hand"
        assert lines[-1] == f"Now {who} from {'the dummy' + chr(39) + 's hand' if account.turn == dummy else own}."
    tricks = []
    for n, trick in enumerate(account.tricks, start=1):
        cards = ", ".join(f"{names[s]} {card}" for s, card in trick)
        winner = find_trick_winner(trick, account.bid[1:])
        end = f"; {names[winner]} take{'' if winner == seat else 's'} it." if len(trick) == 4 else " (under way)."
        tricks.append(f"Trick {n}: {cards}{end}")
    assert [line for line in lines if line.startswith("Trick ")] == tricks
    if account.tricks:
        short = [f"{SEATS[trick[0][0]][0]} {' '.join(card for _, card in trick)}" for trick in account.tricks]
        assert compact["tricks"] == ", ".join(short)
        taken = account.taken()
        assert compact["taken"] == f"NS {taken[0]} EW {taken[1]}"
        assert f"Tricks taken: North and South {taken[0]}, East and West {taken[1]}." in lines
    if over:
        assert lines[-1] == f"The deal is over. Your result: {int(match.returns()[seat]):+d}."
        assert compact["result"] == f"{int(match.returns()[seat]):+d}"
    else:
        assert compact["legal"] == (" ".join(match.legal_moves(seat) or []) or "none")


def choice(match: Match, rng: random.Random) -> str:
    """Draw a move: low bids and many doubles in the auction, then any card."""
    moves = match.legal_moves(match.to_move()[0]) or []
    if "pass" not in moves:
        return rng.choice(moves)
    loud = [move for move in moves if "double" in move] or moves
    return rng.choice(["pass", rng.choice(moves[:7]), rng.choice(loud[:3])])


SETTINGS: list[dict[str, Any]] = [
    *EXAMPLES,
    {"dealer": 2, "non_dealer_vul": True},
    {"dealer": 3, "dealer_vul": True, "non_dealer_vul": True},
]


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_play_agrees_with_the_rules_model(params: dict[str, Any]) -> None:
    game = load_game("bridge", **params)
    for seed in range(7):
        match, rng = game.new(seed), random.Random(seed)
        account = RulesModel(match)
        while account.stage != "over":
            assert match.to_move() == (account.mover,)
            for seat in range(4):
                check(match, account, seat)
            moves = match.legal_moves(account.mover) or []
            assert len(moves) == len(set(moves))
            assert set(moves) == account.legal()
            move = choice(match, rng)
            match.apply({account.mover: move})
            account.play(move)
        assert match.to_move() == ()
        assert match.returns() == account.result(account.taken()[account.declarer % 2])
        for seat in range(4):
            check(match, account, seat)


def test_scores_agree_with_the_rules_model() -> None:
    rng, seen = random.Random(0), Counter[object]()
    for seed in range(160):
        match = load_game("bridge", **SETTINGS[seed % 4]).new(seed)
        account = RulesModel(match)
        while account.stage != "over":
            move = choice(match, rng)
            match.apply({account.mover: move})
            account.play(move)
        won = account.taken()[account.declarer % 2]
        assert match.returns() == account.result(won)
        made = account.bid and won >= int(account.bid[0]) + 6
        seen.update([account.doubled, "made" if made else "failed", account.bid[1:]])
    assert {1, 2, 4, "made", "failed", *DENOMINATIONS} <= set(seen)


@pytest.mark.parametrize("vulnerable", [False, True])
def test_every_result_matches_the_engine(vulnerable: bool) -> None:
    """Compares with the engine's table of points, for the tricks that it has computed."""
    game = load_game("bridge", dealer_vul=vulnerable, non_dealer_vul=vulnerable, use_double_dummy_result=True)
    low, high = game.utility_range
    reached = set()
    match = game.new(3)
    assert isinstance(match, OpenSpielMatch)
    contracts = range(match.state.get_game().num_possible_contracts())
    tricks: dict[tuple[str, int], set[int]] = {}
    points = match.state.score_for_contracts(0, list(contracts))
    for index in contracts:
        name = match.state.get_game().contract_string(index)
        if name == "Passed Out":
            assert points[index] == 0
            continue
        bid, declarer = name.split(" ")[0], "NESW".index(name[-1])  # `1NX E`: 1NT doubled, by East
        doubled = {0: 1, 1: 2, 2: 4}[bid.count("X")]
        bid = bid.rstrip("X").replace("N", "NT")
        mine = points[index] if declarer % 2 == 0 else -points[index]
        fits = {won for won in range(14) if score(bid, doubled, vulnerable, won) == mine}
        assert fits
        tricks.setdefault((bid[1:], declarer), set(range(14))).intersection_update(fits)
        reached.add(mine)
    assert all(len(won) == 1 for won in tricks.values())
    assert low <= min(reached) <= max(reached) <= high


def test_return_range_covers_thirteen_undertricks() -> None:
    for params, vulnerable in (({}, False), ({"dealer_vul": True}, True), ({"non_dealer_vul": True}, True)):
        results = [score(b, d, vulnerable, won) for b in BIDS for d in (1, 2, 4) for won in range(14)]
        low, high = load_game("bridge", **params).utility_range
        assert low == min(results) == -high


def test_rules_mention_double_dummy_results() -> None:
    game = load_game("bridge", use_double_dummy_result=True)
    assert "The tricks are not played" in game.rules(0)
    assert "laid open" not in game.rules(0)
    assert "double dummy" in game.rules(0, "compact")
    match = game.new(1)
    for call in ("1NT", "double", "pass", "pass", "pass"):
        assert match.to_move()
        match.apply({match.to_move()[0]: call})
    assert match.to_move() == ()
    won = int(parse_prompt(match, 0)["taken"].split()[1])
    assert match.returns()[0] == score("1NT", 2, False, won)
    assert f"Tricks taken: North and South {won}, East and West {13 - won}." in match.observe(3).text
    assert "tricks" not in parse_prompt(match, 0)


def test_rules_depend_on_the_parameters() -> None:
    for params in SETTINGS:
        game = load_game("bridge", **params)
        account = RulesModel(game.new(0))
        sides = [
            name for name, is_so in zip(("North and South", "East and West"), account.vulnerable, strict=True) if is_so
        ]
        for seat in range(4):
            rules, compact = game.rules(seat), game.rules(seat, "compact")
            assert rules.endswith(f"You are {SEATS[seat]}.\n")
            assert f"the auction; {SEATS[account.dealer]} calls first" in rules
            assert f"{' and '.join(sides)} are vulnerable." in rules if sides else "Nobody is vulnerable." in rules
            assert f"you are {SEATS[seat][0]}; {SEATS[account.dealer][0]} deals" in compact
            assert all(
                (mark in compact.partition("vulnerable: ")[2]) == bool(is_so)
                for mark, is_so in zip(("NS", "EW"), account.vulnerable, strict=True)
            )


def test_all_may_pass() -> None:
    match = load_game("bridge", dealer=3).new(0)
    for seat in (3, 0, 1, 2):
        assert match.to_move() == (seat,)
        match.apply({seat: "pass"})
    assert match.returns() == (0.0, 0.0, 0.0, 0.0)
    assert (
        match.observe(2).text
        == "Auction: West pass, North pass, East pass, you pass.\nThe deal is over. Your result: +0.\n"
    )


def test_parameter_ranges_are_enforced() -> None:
    assert {p.name: (p.low, p.high) for p in host().game("bridge").parameters if p.low is not None} == {
        "dealer": (0, 3)
    }
    for value in (-1, 4):
        with pytest.raises(BadParameter, match="from 0 to 3"):
            load_game("bridge", dealer=value)


def test_moves_match_the_engines_actions() -> None:
    match = load_game("bridge").new(0)
    assert isinstance(match, OpenSpielMatch)
    words = {"Pass": "pass", "Dbl": "double", "RDbl": "redouble"}
    for action, name in enumerate(match.game.names or []):
        word = match.state.action_to_string(0, action)
        for mark, suit in SUITS.items():
            word = word.replace(mark, suit)
        assert name == words.get(word, word.replace("10", "T"))


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("bridge").new(0)
    legal = match.legal_moves(0)
    kinds = {"SA": "illegal", "double": "illegal", "redouble": "illegal", "1NT": "move", "7C": "move", "pass": "move"}
    kinds |= {"8C": "unparsable", "1N": "unparsable", "As": "unparsable", "D10": "unparsable", "Pass": "unparsable"}
    for text, kind in kinds.items():
        assert read_reply(text, legal, READERS["move"], match.game.move_pattern).kind == kind


# -- worlds


def test_worlds_are_consistent_with_the_seats_view(check_worlds: Callable[..., None]) -> None:
    check_worlds(load_game("bridge"), 4, 0.15)


@pytest.mark.parametrize("seed", [4, 5])
def test_sampled_hands_are_uniform(seed: int, check_even: Callable[..., None]) -> None:
    """Late in a deal, lists and counts all distributions of the unseen cards that the tricks allow."""
    match, rng = load_game("bridge").new(seed), random.Random(seed)
    account = RulesModel(match)
    while sum(map(len, account.hands)) > 20:
        move = choice(match, rng)
        match.apply({account.mover: move})
        account.play(move)
    [seat] = match.to_move()
    others = [s for s in range(4) if s != seat and s != (account.declarer + 2) % 4]
    assert len(others) == 2
    out: list[set[str]] = [set(), set(), set(), set()]
    for trick in account.tricks:
        for who, card in trick:
            if card[0] != trick[0][1][0]:
                out[who].add(trick[0][1][0])
    unseen = sorted(card for who in others for card in account.hands[who])
    fitting = set()
    for held in itertools.combinations(unseen, len(account.hands[others[0]])):
        rest = [card for card in unseen if card not in held]
        hands = dict(zip(others, (list(held), rest), strict=True))
        if not any(card[0] in out[who] for who, cards in hands.items() for card in cards):
            fitting.add(str(list(hands.values())))
    assert len(fitting) > 3
    counts: Counter[str] = Counter()
    for _ in range(15 * len(fitting)):
        world = match.resample(seat, rng)
        played = {card for trick in account.tricks for _, card in trick}
        hands_now = [hand - played for hand in RulesModel(world).hands]
        counts[str([sorted(hands_now[who]) for who in others])] += 1
        assert hands_now[seat] == account.hands[seat]
    check_even(counts, fitting)


def test_nothing_leaks() -> None:
    assert assert_no_leaks(load_game("bridge"), matches=1, tries=1, events=60_000).worlds >= 5


@pytest.mark.slow
def test_leak_check_detects_a_hidden_bit(find_leaking_seats: Callable[..., set[int]]) -> None:
    def hint(state: pyspiel.State, seat: int) -> int:
        return int(state.history()[(seat + 1) % 4]) % 2

    assert find_leaking_seats(load_game("bridge"), hint, 2)
