"""Euchre: prompts match the engine, and worlds are consistent with the seat's view."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pyspiel
import pytest

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.plugins.host import host
from gymposium.replies.reading import READERS, read_reply
from gymposium_testing import assert_no_leaks

SEATS = ["North", "East", "South", "West"]
NAMES = {"c": "clubs", "d": "diamonds", "h": "hearts", "s": "spades"}
EXAMPLES = [dict(example) for example in host().game("euchre").examples]
CARDS = [rank + suit for rank in "9TJQKA" for suit in "cdhs"]


def parse_prompt(match: Match, seat: int) -> dict[str, str]:
    lines = match.observe(seat, "compact").text.splitlines()
    return {key: rest for key, _, rest in (line.partition(" ") for line in lines)}


def find_suit(card: str, trump: str) -> str:
    """Return the suit of a card. The other jack of trump's color is a trump."""
    pair = {"c": "s", "s": "c", "d": "h", "h": "d"}
    return trump if card == "J" + pair[trump] else card[1]


def rank_card(card: str, trump: str) -> int:
    if card == "J" + trump:
        return 8
    return 7 if card[0] == "J" and find_suit(card, trump) == trump else "9TJQKA".index(card[0])


def find_trick_winner(trick: list[tuple[int, str]], trump: str) -> int:
    suits = [find_suit(card, trump) for _, card in trick]
    wanted = trump if trump in suits else suits[0]
    return max(
        (rank_card(card, trump), seat) for (seat, card), suit in zip(trick, suits, strict=True) if suit == wanted
    )[1]


class RulesModel:
    """Model of a hand, by the rules in the prompt."""

    def __init__(self, dealt: Sequence[Event], lone_defender: bool, stick: bool) -> None:
        assert len(dealt) == 22
        cards = [event.move[1] + event.move[0].lower() for event in dealt[1:]]
        self.lone_defender, self.stick = lone_defender, stick
        self.dealer = "NESW".index(dealt[0].move)
        self.hands = [set(cards[(seat - self.dealer) % 4 : 20 : 4]) for seat in range(4)]
        self.upcard = cards[20]
        self.bids: list[str] = []
        self.trump, self.maker, self.discard = "", -1, ""
        self.alone: dict[int, bool] = {}
        self.out: set[int] = set()
        self.to_ask: list[int] = []
        self.tricks: list[list[tuple[int, str]]] = []
        self.mover, self.stage = (self.dealer + 1) % 4, "bid"

    def legal(self) -> set[str]:
        hand, suit = self.hands[self.mover], self.upcard[1]
        if self.stage == "bid":
            if len(self.bids) < 4:
                return {"pass", NAMES[suit]}
            others = set(NAMES.values()) - {NAMES[suit]}
            return others if self.stick and len(self.bids) == 7 else others | {"pass"}
        if self.stage == "discard":
            return hand - {self.upcard}
        if self.stage == "alone":
            return {"alone", "partner"}
        if self.tricks and len(self.tricks[-1]) < 4 - len(self.out):
            led = find_suit(self.tricks[-1][0][1], self.trump)
            return {card for card in hand if find_suit(card, self.trump) == led} or hand
        return hand

    def play(self, move: str) -> None:
        seat = self.mover
        if self.stage == "bid":
            self.bids.append(move)
            if move != "pass":
                self.trump, self.maker = move[0], seat
                if len(self.bids) <= 4:
                    self.hands[self.dealer].add(self.upcard)
                    self.mover, self.stage = self.dealer, "discard"
                else:
                    self.stage = "alone"
            else:
                self.mover = (seat + 1) % 4
                self.stage = "over" if len(self.bids) == 8 else "bid"
        elif self.stage == "discard":
            self.hands[seat].remove(move)
            self.discard, self.mover, self.stage = move, self.maker, "alone"
        elif self.stage == "alone":
            self.alone[seat] = move == "alone"
            if move == "alone":
                self.out.add((seat + 2) % 4)
            if seat == self.maker:
                defenders = [s for s in self.order(self.dealer + 1) if s % 2 != seat % 2]
                self.to_ask = defenders if self.lone_defender else []
            elif move == "alone":
                self.to_ask = []
            if self.to_ask:
                self.mover = self.to_ask.pop(0)
            else:
                self.stage = "play"
                self.mover = next(s for s in self.order(self.dealer + 1) if s not in self.out)
        else:
            self.hands[seat].remove(move)
            if not self.tricks or len(self.tricks[-1]) == 4 - len(self.out):
                self.tricks.append([])
            trick = self.tricks[-1]
            trick.append((seat, move))
            if len(trick) == 4 - len(self.out):
                self.mover = find_trick_winner(trick, self.trump)
                self.stage = "over" if len(self.tricks) == 5 else "play"
            else:
                self.mover = next(s for s in self.order(seat + 1) if s not in self.out)

    def order(self, first: int) -> list[int]:
        return [(first + turn) % 4 for turn in range(4)]

    def taken(self) -> list[int]:
        done = [find_trick_winner(trick, self.trump) % 2 for trick in self.tricks if len(trick) == 4 - len(self.out)]
        return [done.count(0), done.count(1)]

    def result(self) -> tuple[float, ...]:
        if not self.trump:
            return (0.0, 0.0, 0.0, 0.0)
        won = self.taken()[self.maker % 2]
        lone_defender = any(self.alone[seat] for seat in self.alone if seat != self.maker)
        if won >= 3:
            points = 1 if won < 5 else 4 if self.alone[self.maker] else 2
        else:
            points = -4 if lone_defender else -2
        return tuple(float(points if seat % 2 == self.maker % 2 else -points) for seat in range(4))


def check(match: Match, account: RulesModel, seat: int) -> None:
    """Compare the texts of a seat with the model."""
    over = account.stage == "over"
    text, compact = match.observe(seat).text, parse_prompt(match, seat)
    names = [*SEATS[:seat], "you", *SEATS[seat + 1 :]]
    hand = account.hands[seat]
    assert set(compact["hand"].replace("none", "").split()) == hand
    assert f"Dealer: {names[account.dealer]}. Upcard: {account.upcard}.\n" in text
    if over:
        assert "Your hand" not in text
    else:
        shown = re.findall(r"[9TJQKA][cdhs]", text.splitlines()[0])
        assert set(shown) == hand
        assert len(shown) == len(hand)
    assert compact["dealer"] == f"{SEATS[account.dealer][0]} upcard {account.upcard}"
    assert compact["bids"] == (" ".join(account.bids) or "none")
    bids = [f"{names[(account.dealer + 1 + i) % 4]} {bid}" for i, bid in enumerate(account.bids)]
    assert (f"First round of bids: {', '.join(bids[:4])}.\n" in text) == bool(bids)
    assert (f"Second round of bids: {', '.join(bids[4:])}.\n" in text) == (len(bids) > 4)
    if account.trump:
        how = {None: "", True: " alone", False: " partner"}[account.alone.get(account.maker)]
        assert compact["trump"] == f"{NAMES[account.trump]} by {SEATS[account.maker][0]}{how}"
        assert f"Trump is {NAMES[account.trump]}, named by {names[account.maker]}" in text
    if account.discard:
        mine = seat == account.dealer
        dropped = account.discard if mine else "a card"
        assert compact["discard"] == (account.discard if mine else "hidden")
        assert f"{names[account.dealer].capitalize()} took {account.upcard} and discarded {dropped}." in text
    else:
        assert "discard" not in compact
    for who, alone in account.alone.items():
        verb = ("play" if who == account.maker else "defend") + ("" if who == seat else "s")
        assert f"{verb} {'alone, without' if alone else 'with'} {names[(who + 2) % 4]}." in text
    said = [f"{SEATS[s][0]} {'alone' if a else 'partner'}" for s, a in account.alone.items() if s != account.maker]
    assert compact.get("defence", "") == ", ".join(said)
    lines = []
    for number, trick in enumerate(account.tricks, start=1):
        cards = ", ".join(f"{names[s]} {card}" for s, card in trick)
        winner = find_trick_winner(trick, account.trump)
        full = len(trick) == 4 - len(account.out)
        end = f"; {names[winner]} take{'' if winner == seat else 's'} it." if full else " (under way)."
        lines.append(f"Trick {number}: {cards}{end}")
    assert [line for line in text.splitlines() if line.startswith("Trick ")] == lines
    short = [f"{SEATS[trick[0][0]][0]} {' '.join(card for _, card in trick)}" for trick in account.tricks]
    assert compact["tricks"] == (", ".join(short) or "none")
    taken = account.taken()
    assert compact["taken"] == f"NS {taken[0]} EW {taken[1]}"
    assert (f"Tricks taken: North and South {taken[0]}, East and West {taken[1]}.\n" in text) == bool(account.tricks)
    if over:
        assert text.endswith(f"The hand is over. Your result: {int(account.result()[seat]):+d}.\n")
        assert compact["result"] == f"{int(account.result()[seat]):+d}"
    else:
        assert compact["legal"] == (" ".join(match.legal_moves(seat) or []) or "none")


@pytest.mark.parametrize("params", EXAMPLES, ids=str)
def test_play_agrees_with_the_rules_model(params: dict[str, Any]) -> None:
    game = load_game("euchre", **params)
    lone, stick = game.params["allow_lone_defender"], game.params["stick_the_dealer"]
    seen: Counter[str] = Counter()
    for seed in range(25):
        match, rng = game.new(seed), random.Random(seed)
        account = RulesModel(match.events, lone, stick)
        while account.stage != "over":
            assert match.to_move() == (account.mover,)
            for seat in range(4):
                check(match, account, seat)
            moves = match.legal_moves(account.mover) or []
            assert len(moves) == len(set(moves))
            assert set(moves) == account.legal()
            # mostly passes, so that the second round and its end are seen too
            move = "pass" if "pass" in moves and rng.random() < 0.85 else rng.choice(moves)
            seen[account.stage] += 1
            match.apply({account.mover: move})
            account.play(move)
        assert match.to_move() == ()
        assert match.returns() == account.result()
        seen[str(int(max(account.result())))] += 1
        for seat in range(4):
            check(match, account, seat)
    assert {"bid", "discard", "alone", "play", "1", "2"} <= set(seen)
    assert ("0" in seen) == (not stick)
    assert lone <= ("4" in seen)


@pytest.mark.parametrize(("how", "points"), [("alone", 4.0), ("partner", 2.0)])
def test_taking_all_five_tricks_scores_extra(how: str, points: float) -> None:
    """North deals and holds the five highest trumps."""
    game = load_game("euchre")
    norths = ["HJ", "DJ", "HA", "HK", "C9"]
    others = iter([card for card in (suit.upper() + rank for rank, suit in CARDS) if card not in [*norths, "HQ"]])
    deal = [norths[n // 4] if n % 4 == 0 else next(others) for n in range(20)]
    match = game.load([Event(CHANCE, "N"), *[Event(CHANCE, card) for card in [*deal, "HQ"]]])
    for move in ["pass", "pass", "pass", "hearts", "9c", how]:
        match.apply({match.to_move()[0]: move})
    while match.to_move():
        match.apply({match.to_move()[0]: (match.legal_moves(match.to_move()[0]) or [])[0]})
    assert match.returns() == (points, -points, points, -points)
    assert ("alone, without South" in match.observe(1).text) == (how == "alone")


@pytest.mark.parametrize("params", EXAMPLES, ids=str)
def test_rules_depend_on_the_parameters(params: dict[str, Any]) -> None:
    game = load_game("euchre", **params)
    for seat in range(4):
        rules, compact = game.rules(seat), game.rules(seat, "compact")
        assert rules.endswith(f"You are {SEATS[seat]}.\n")
        assert f"you are {SEATS[seat][0]};" in compact
        assert ("The dealer cannot pass then." in rules) == game.params["stick_the_dealer"]
        assert ("the hand ends without points" in rules) == (not game.params["stick_the_dealer"])
        assert ("must name trump in the end" in compact) == game.params["stick_the_dealer"]
        assert ("Then each defender" in rules) == game.params["allow_lone_defender"]
        assert ("or 4 if a defender played alone" in rules) == game.params["allow_lone_defender"]
        assert ("a defender may play alone" in compact) == game.params["allow_lone_defender"]


def test_moves_match_the_engines_actions() -> None:
    match = load_game("euchre").new(0)
    assert isinstance(match, OpenSpielMatch)
    names = match.game.names or []
    for action, name in enumerate(names):
        word = match.state.action_to_string(0, action)
        assert name == (word[1] + word[0].lower() if action < 24 else word.lower())


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("euchre").new(0)
    [seat] = match.to_move()
    legal = match.legal_moves(seat)
    for text, kind in [("alone", "illegal"), ("9c", "illegal"), ("pass", "move"), ("8c", "unparsable")]:
        assert read_reply(text, legal, READERS["move"], match.game.move_pattern).kind == kind
    for text in ("Pass", "order up", "hearts.", "9C", "10h", "J"):
        assert read_reply(text, legal, READERS["move"], match.game.move_pattern).kind == "unparsable"


def test_prompt_corrects_the_engines_text_on_trump() -> None:
    """The engine's text says that the seat picks up. Ours names trump."""
    match = played(["pass", "pass", "pass", "pass", "spades"])
    assert isinstance(match, OpenSpielMatch)
    engine = match.state.information_state_string(2)
    assert "Pick up!" in engine
    assert "Spades" not in engine
    assert "Trump is spades, named by East" in match.observe(2).text


# -- worlds


def played(moves: list[str], seed: int = 0) -> Match:
    """Start a hand in which North deals and a heart is turned up, and play these moves in turn."""
    game, rng = load_game("euchre"), random.Random(seed)
    cards = [suit.upper() + rank for rank, suit in CARDS]
    cards.remove("H9")
    rng.shuffle(cards)
    match = game.load([Event(CHANCE, "N"), *[Event(CHANCE, card) for card in [*cards[:20], "H9"]]])
    for move in moves:
        match.apply({match.to_move()[0]: move})
    return match


@pytest.mark.parametrize("params", EXAMPLES[:2], ids=str)
def test_worlds_are_consistent_with_the_seats_view(params: dict[str, Any], check_worlds: Callable[..., None]) -> None:
    check_worlds(load_game("euchre", **params), 10, 0.25)


def holdings(match: Match) -> tuple[list[set[str]], str]:
    """Return the current hands and the discard."""
    account = RulesModel(match.events[:22], False, True)
    for event in match.events[22:]:
        account.play(event.move)
    return account.hands, account.discard


@pytest.mark.parametrize("seed", [4, pytest.param(6, marks=pytest.mark.slow)])
def test_sampled_hands_and_discards_are_uniform(seed: int, check_even: Callable[..., None]) -> None:
    """With few cards left, lists and counts all distributions of the unseen cards that the tricks allow."""
    rng = random.Random(seed)
    match = played(["hearts"], seed)
    while sum(map(len, holdings(match)[0])) > 4:
        moves = match.legal_moves(match.to_move()[0]) or []
        match.apply({match.to_move()[0]: "partner" if "partner" in moves else rng.choice(moves)})
    [seat] = match.to_move()
    assert seat != 0  # the dealer
    hands, discard = holdings(match)
    out: list[set[str]] = [set(), set(), set(), set()]
    plays = match.events[-16:]
    for start in range(0, 16, 4):
        led = find_suit(plays[start].move, "h")
        for event in plays[start : start + 4]:
            if find_suit(event.move, "h") != led:
                out[event.seat].add(led)
    gone = {event.move for event in plays}
    others = [s for s in range(4) if s != seat]
    unseen = [card for card in CARDS if card not in hands[seat] | gone]
    own_dealt = {e.move for e in match.events if e.seat == seat}
    assert discard not in own_dealt
    fitting = set()
    rooms = [len(hands[s]) for s in others]
    for cards in itertools.permutations(unseen, sum(rooms) + 1):
        *held, dropped = cards
        shares, at = [], 0
        for who, room in zip(others, rooms, strict=True):
            share = held[at : at + room]
            at += room
            if list(share) != sorted(share) or any(find_suit(card, "h") in out[who] for card in share):
                break
            shares.append(" ".join(share))
        else:
            if "9h" in gone or "9h" in shares[others.index(0)].split():
                fitting.add(f"{shares} {dropped}")
    assert len(fitting) > 20, len(fitting)
    counts: Counter[str] = Counter()
    for _ in range(8 * len(fitting)):
        new, dropped = holdings(match.resample(seat, rng))
        assert new[seat] == hands[seat]
        counts[f"{[' '.join(sorted(new[who])) for who in others]} {dropped}"] += 1
    check_even(counts, fitting)


# -- leaks


@pytest.mark.parametrize("params", EXAMPLES[:2], ids=str)
def test_nothing_leaks(params: dict[str, Any]) -> None:
    assert assert_no_leaks(load_game("euchre", **params), matches=2, tries=2).worlds >= 10


def test_leak_check_detects_a_bit_of_the_discard(find_leaking_seats: Callable[..., set[int]]) -> None:
    def hint(state: pyspiel.State, seat: int) -> bool:
        return (state.discard() or 0) % 4 in (0, 3)

    assert find_leaking_seats(load_game("euchre"), hint, 3) == {0, 1, 2, 3}
