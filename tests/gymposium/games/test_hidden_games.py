"""Liar's dice, phantom tic-tac-toe, blackjack and hearts: what the prompts say is what the engine does."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator

import pyspiel
import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, BadRecord
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event, Game, Match
from gymposium.plugins.host import host
from gymposium.reading import READERS, read

seeds = st.integers(0, 2**31)


def engine(match: Match) -> pyspiel.State:
    assert isinstance(match, OpenSpielMatch)
    return match.state


def lines_of(text: str) -> dict[str, str]:
    """`card J` → {"card": "J"}."""
    return {key: rest for key, _, rest in (line.partition(" ") for line in text.splitlines())}


def walk(game: Game, seed: int) -> Iterator[Match]:
    """A random match, at each decision and at its end."""
    match, rng = game.new(seed), random.Random(seed)
    while True:
        yield match
        if not match.to_move():
            return
        [seat] = match.to_move()
        match.apply({seat: rng.choice(match.legal_moves(seat) or [])})


def moves_of(match: Match, seat: int) -> list[str]:
    """The seat's legal moves, each checked: unique, and of the game's form; and listed by the compact prompt."""
    legal = match.legal_moves(seat) or []
    assert len(set(legal)) == len(legal) == len(engine(match).legal_actions(seat))
    for move in legal:
        assert read(move, legal, READERS["move"], match.game.move_pattern).kind == "move"
    return legal


@pytest.mark.parametrize(
    ("name", "illegal", "unparsable"),
    [
        ("liars_dice", ["liar", "12x6"], ["2-3", "0x1", "Liar", "bid 1x1", "1x0"]),
        ("phantom_ttt", [], ["b4", "B2", "d1", "22"]),
        ("blackjack", [], ["Hit", "double", "split", ""]),
        ("hearts", ["Qs", "2c", "Kd"], ["QS", "10h", "1c", "Q", "Qs Kd"]),
        (
            "gin_rummy",
            ["draw stock", "knock", "discard 7h", "lay off As", "meld 7h 8h 9h", "meld As Ac Ad Ah"],
            ["draw", "discard", "7h", "discard 10h", "meld 7h 8h", "meld 2h 3h 4h 5h 6h 7h", "Knock"],
        ),
    ],
)
def test_a_move_of_the_game_is_illegal_and_anything_else_unparsable(
    name: str, illegal: list[str], unparsable: list[str]
) -> None:
    match = load_game(name).new(3)
    legal = match.legal_moves(0)
    kinds = {move: read(move, legal, READERS["move"], match.game.move_pattern).kind for move in illegal + unparsable}
    assert kinds == {
        **{move: "move" if move in (legal or []) else "illegal" for move in illegal},
        **dict.fromkeys(unparsable, "unparsable"),
    }


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("liars_dice", {"numdice": (1, 6), "dice_sides": (2, 9)}),
        ("gin_rummy", {"hand_size": (3, 10), "knock_card": (0, 10), "gin_bonus": (0, 100), "undercut_bonus": (0, 100)}),
    ],
)
def test_both_ends_of_every_range_can_be_played(name: str, params: dict[str, tuple[int, int]]) -> None:
    assert {p.name: (p.low, p.high) for p in host().game(name).parameters if p.low is not None} == params
    for key, (low, high) in params.items():
        for value in (low, high):
            for match in walk(load_game(name, **{key: value}), 7):
                low_return, high_return = match.game.utility_range
                assert all(low_return <= value <= high_return for value in match.returns())
        for value in (low - 1, high + 1):
            with pytest.raises(BadParameter, match=f"from {low} to {high}"):
                load_game(name, **{key: value})


# -- liar's dice


dice_games = st.fixed_dictionaries(
    {
        "numdice": st.integers(1, 6),
        "dice_sides": st.integers(2, 9),
        "bidding_rule": st.sampled_from(["reset-face", "reset-quantity"]),
    }
)


@given(dice_games, seeds)
@settings(max_examples=40)
def test_liars_dice_prompts_and_results(params: dict[str, object], seed: int) -> None:
    game = load_game("liars_dice", **params)
    sides, rule = game.params["dice_sides"], game.params["bidding_rule"]
    for style in ("full", "compact"):
        assert f"faces 1 to {sides}" in game.rules(0, style)
        assert f"{sides} is wild" in game.rules(1, style)
        assert "You bid first." in game.rules(0)
        assert "You bid second." in game.rules(1)
    for match in walk(game, seed):
        rolled = [sorted(face) for face in str(engine(match)).split(" ")[:2]]
        events = [event for event in match.events if event.seat != CHANCE]
        bids = [event.move for event in events if event.move != "liar"]
        for seat in (0, 1):
            told, text = lines_of(match.observe(seat, "compact").text), match.observe(seat).text
            assert told["dice"].split() == rolled[seat]
            assert sorted(re.findall(r"\d", text.partition(".")[0])) == rolled[seat]
            assert told["bids"] == (" ".join(event.move for event in events) or "none")
            for number, bid in enumerate(bids):
                assert f"{'you' if number % 2 == seat else 'your opponent'} {bid}" in text
            legal = moves_of(match, seat)
            assert told["legal"] == (" ".join(legal) or "none")
        if match.to_move():
            [seat] = match.to_move()
            assert seat == len(bids) % 2
            legal = match.legal_moves(seat) or []
            assert ("liar" in legal) == bool(bids)
            for quantity in range(1, 2 * game.params["numdice"] + 1):
                for face in range(1, sides + 1):
                    assert (f"{quantity}x{face}" in legal) == raises(bids, quantity, face, rule)
            continue
        quantity, face = map(int, bids[-1].split("x"))
        true = sum(int(die) in (face, sides) for die in rolled[0] + rolled[1]) >= quantity
        bidder = (len(bids) - 1) % 2
        winner = bidder if true else 1 - bidder
        assert match.returns() == ((1.0, -1.0) if winner == 0 else (-1.0, 1.0))
        for seat in (0, 1):
            who = "You said liar to your opponent's" if seat != bidder else "Your opponent said liar to your"
            result = f"{'true' if true else 'false'}: you {'win' if seat == winner else 'lose'}"
            assert match.observe(seat).text.endswith(f"{who} {bids[-1]}, which was {result}.\n")
            assert f"result {'+' if seat == winner else '-'}1" in match.observe(seat, "compact").text


def raises(bids: list[str], quantity: int, face: int, rule: str) -> bool:
    """Whether a bid may follow, by the rule as the prompt tells it."""
    if not bids:
        return True
    last_quantity, last_face = map(int, bids[-1].split("x"))
    if rule == "reset-face":
        return quantity > last_quantity or (quantity == last_quantity and face > last_face)
    return face > last_face or (face == last_face and quantity > last_quantity)


# -- phantom tic-tac-toe

LINES = [[f"{c}{r}" for c in "abc"] for r in "123"] + [[f"{c}{r}" for r in "123"] for c in "abc"]
LINES += [["a1", "b2", "c3"], ["a3", "b2", "c1"]]
SQUARES = [f"{c}{r}" for r in "321" for c in "abc"]


@given(st.sampled_from(["reveal-nothing", "reveal-numturns"]), st.sampled_from(["classical", "abrupt"]), seeds)
@settings(max_examples=60)
def test_phantom_ttt_shows_what_a_seat_has_found_out(obstype: str, version: str, seed: int) -> None:
    match = load_game("phantom_ttt", obstype=obstype, gameversion=version).new(0)
    board: dict[str, int] = {}
    known: list[dict[str, int]] = [{}, {}]
    turns: list[tuple[int, str, bool]] = []
    rng, mover = random.Random(seed), 0
    while match.to_move():
        assert match.to_move() == (mover,)
        for seat in (0, 1):
            check_phantom(match, seat, known[seat], turns, obstype)
        assert moves_of(match, mover) == [square for square in SQUARES if square not in known[mover]]
        square = rng.choice(match.legal_moves(mover) or [])
        match.apply({mover: square})
        free = square not in board
        owner = board.setdefault(square, mover)
        known[mover][square] = owner
        turns.append((mover, square, free))
        if free or version == "abrupt":
            mover = 1 - mover
    winner = next((s for s in (0, 1) for line in LINES if all(board.get(q) == s for q in line)), None)
    assert winner is not None or len(board) == 9
    assert match.returns() == {0: (1.0, -1.0), 1: (-1.0, 1.0), None: (0.0, 0.0)}[winner]
    for seat in (0, 1):
        check_phantom(match, seat, known[seat], turns, obstype)
        end = "it is a draw" if winner is None else "you win" if winner == seat else "you lose"
        assert match.observe(seat).text.endswith(f"The match is over: {end}.\n")


def check_phantom(
    match: Match, seat: int, known: dict[str, int], turns: list[tuple[int, str, bool]], obstype: str
) -> None:
    cells = ["." if square not in known else "xo"[known[square]] for square in SQUARES]
    compact = match.observe(seat, "compact").text
    full = match.observe(seat).text
    assert [cell for line in compact.splitlines()[:3] for cell in line.split()] == cells
    assert [cell for line in full.splitlines()[1:4] for cell in line.split()[1:]] == cells
    assert [line[0] for line in full.splitlines()[1:4]] == ["3", "2", "1"]
    assert full.startswith(f"You are {'xo'[seat]}{', to move' if seat in match.to_move() else ''}. ")
    tried = [
        (square + ("" if free else "!")) if who == seat else "?"
        for who, square, free in turns
        if who == seat or obstype == "reveal-numturns"
    ]
    assert lines_of(compact)["tried"] == (" ".join(tried) or "none")
    past = full.partition("so far: ")[2].partition(".\n")[0].replace("your opponent ?", "?").replace("you ", "")
    assert past.replace(" (taken)", "!") == (", ".join(tried) or "none")


def test_phantom_ttt_rules_tell_what_happens_on_a_taken_square() -> None:
    for version, words in [("classical", "you try another one"), ("abrupt", "your turn is over")]:
        game = load_game("phantom_ttt", gameversion=version)
        assert words in game.rules(0)
        match = game.load([Event(0, "b2"), Event(1, "b2")])
        assert match.to_move() == ((1,) if version == "classical" else (0,))
        assert ("not told how often" in game.rules(0)) == (version == "classical")
        assert "told each time" in load_game(game.name, obstype="reveal-numturns").rules(1)


# -- blackjack

VALUES = {**{str(n): n for n in range(2, 10)}, **dict.fromkeys("TJQK", 10)}


def best_total(cards: list[str]) -> int:
    aces = sum(card[0] == "A" for card in cards)
    totals = [sum(VALUES.get(card[0], 1) for card in cards) + 10 * high for high in range(aces + 1)]
    return max([total for total in totals if total <= 21], default=min(totals))


@given(seeds)
@settings(max_examples=60)
def test_blackjack_prompts_and_results(seed: int) -> None:
    for match in walk(load_game("blackjack"), seed):
        state = engine(match)
        mine, dealers = ([card[1] + card[0].lower() for card in cards_of(state, who)] for who in (0, 1))
        told = lines_of(match.observe(0, "compact").text)
        text = match.observe(0).text
        assert told["cards"].split() == mine
        assert int(told["total"]) == best_total(mine) == state.get_best_player_total(0)
        assert text.startswith(f"Your cards: {' '.join(mine)} (total {best_total(mine)}). The dealer")
        if match.to_move():
            assert told["dealer"] == f"? {dealers[1]}"
            assert f"The dealer shows {dealers[1]};" in text
            assert dealers[0] not in re.findall(r"\b[A2-9TJQK][cdhs]\b", text)
            assert moves_of(match, 0) == ["hit", "stand"] == told["legal"].split()
            assert best_total(mine) <= 21
    assert told["dealer"].split() == dealers
    total, other = best_total(mine), best_total(dealers)
    assert f"The dealer's cards: {' '.join(dealers)} (total {other})." in text
    result = -1 if total > 21 else 1 if other > 21 else (total > other) - (total < other)
    assert match.returns() == (float(result),)
    assert told["result"] == f"{result:+d}"
    assert {1: "You win.", 0: "It is a tie.", -1: "You lose."}[result] in text
    if total > 21:
        assert len(dealers) == 2
    else:
        assert all(best_total(dealers[:n]) <= 16 for n in range(2, len(dealers)))
        assert other >= 17


def cards_of(state: pyspiel.State, who: int) -> list[str]:
    suits, ranks = "CDHS", "A23456789TJQK"
    return [suits[card // 13] + ranks[card % 13] for card in state.cards(who)]


# -- hearts

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
@settings(max_examples=40, deadline=None)
def test_hearts_prompts_and_rules(flags: dict[str, bool], seed: int) -> None:
    """Played beside a model of the rules as the prompt tells them."""
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
            assert set(moves_of(match, seat)) == hands[seat]
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
            assert set(moves_of(match, seat)) == allowed(hands[seat], trick, number == 0, broken, flags)
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
    """Whether the seat took the jack of diamonds and that counts."""
    for number, (_, trick) in enumerate(past):
        if "Jd" in trick and flags["jd_bonus"]:
            return taker(past[number]) == seat
    return False


def taker(trick: tuple[int, list[str]]) -> int:
    leader, cards = trick
    led = [card for card in cards if card[1] == cards[0][1]]
    return (leader + cards.index(max(led, key=lambda card: RANKS.index(card[0])))) % 4


def allowed(hand: set[str], trick: list[str], first: bool, broken: bool, flags: dict[str, bool]) -> set[str]:
    """The rules for playing a card, as the prompt tells them."""
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
    text, told = match.observe(seat).text, lines_of(match.observe(seat, "compact").text)
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
        winner = taker((leader, cards))
        verb = "take" if winner == seat else "takes"
        end = f"; {names[winner]} {verb} it." if len(cards) == 4 else " (under way)."
        expected.append(f"Trick {number}: {played}{end}")
    assert [line for line in lines if line.startswith("Trick ")] == expected
    assert f"Points: {', '.join(f'{name} {n}' for name, n in zip(names, points, strict=True))}." in lines
    told = lines_of(match.observe(seat, "compact").text)
    assert told["tricks"] == ", ".join(f"{SEATS[leader][0]} {' '.join(cards)}" for leader, cards in past)
    assert told["points"] == " ".join(f"{name[0]} {n}" for name, n in zip(SEATS, points, strict=True))
    if match.to_move():
        suits = {"s": "spades", "h": "hearts", "d": "diamonds", "c": "clubs"}
        out = [f"{names[s]} in {', '.join(suits[x] for x in 'shdc' if x in void[s])}" for s in range(4) if void[s]]
        assert f"Out of a suit, as seen: {'; '.join(out) or 'nobody'}." in lines


def test_hearts_rules_follow_the_flags() -> None:
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
    """North is dealt all clubs, so takes every trick."""
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


def test_nobody_passes_where_the_rules_say_so() -> None:
    """The engine gives all four directions a chance even then."""
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


def test_json_of_the_engine_agrees_with_the_hands_of_hearts() -> None:
    for match in walk(load_game("hearts"), 5):
        if match.to_move():
            state = json.loads(engine(match).to_json())
            for seat in range(4):
                told = lines_of(match.observe(seat, "compact").text)["hand"]
                assert set(lower(state["hands"][seat])) == set(told.replace("none", "").split())
                if not state["hands"][seat]:  # who waits in the last trick
                    assert match.observe(seat).text.startswith("Your hand: empty.\n")
