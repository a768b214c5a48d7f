"""What the prompts say is what the engine does: every number, name and direction, for both seats."""

from __future__ import annotations

import itertools
import random
import re

import pyspiel
import pytest
from hypothesis import assume, given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.plugins.host import host
from gymposium.prompt import prompt_for
from gymposium.reading import READERS
from gymposium.testing.golden import golden_games


def full(match: Match, seat: int) -> str:
    return prompt_for(match.game, "full", READERS["move"])(match.observe(seat))


def compact(match: Match, seat: int) -> str:
    return prompt_for(match.game, "compact", READERS["move"])(match.observe(seat, "compact"))


def engine(match: Match) -> pyspiel.State:
    assert isinstance(match, OpenSpielMatch)
    return match.state


def lines_of(text: str) -> dict[str, str]:
    """`card J` → {"card": "J"}."""
    return {key: rest for key, _, rest in (line.partition(" ") for line in text.splitlines())}


@pytest.mark.parametrize("game", golden_games(), ids=lambda game: game.name)
def test_every_prompt_lists_the_legal_moves_and_says_who_one_is(game: OpenSpielGame) -> None:
    match = game.new(3)
    while seats := match.to_move():
        for seat in seats:
            assert f"Legal moves: {', '.join(match.legal_moves(seat))}\n" in full(match, seat)
            for style in ("full", "compact"):
                assert "you" in game.rules(seat, style).lower() or game.spec.name in ("goofspiel", "solitaire")
        match.apply({seat: match.legal_moves(seat)[-1] for seat in seats})


# -- tic-tac-toe and connect four: the board as drawn is the board, square by square


def test_tic_tac_toe_squares_are_where_the_names_say() -> None:
    game = load_game("tic_tac_toe")
    for move in game.new(0).legal_moves(0) or []:
        match = game.new(0)
        match.apply({0: move})
        for text in (match.observe(1).text, match.observe(0).text):
            [row] = [line for line in text.splitlines() if line.startswith(move[1])]
            footer = text.splitlines()[-1]
            assert row[footer.index(move[0])] == "x"
            assert text.count("x") == (2 if "You are x" in text else 1)
        rows = match.observe(1, "compact").text.splitlines()
        assert rows["321".index(move[1])].split()["abc".index(move[0])] == "x"
    assert "rows 3 2 1, columns a b c, you are x" in game.rules(0, "compact")
    assert "a3 is top left, b2 the centre" in game.rules(0)


def test_tic_tac_toe_three_in_a_row_win_in_all_directions() -> None:
    game = load_game("tic_tac_toe")
    lines = [[f"{c}{r}" for c in "abc"] for r in "123"] + [[f"{c}{r}" for r in "123"] for c in "abc"]
    lines += [["a1", "b2", "c3"], ["a3", "b2", "c1"]]
    for line in lines:
        others = [f"{c}{r}" for c in "abc" for r in "123" if f"{c}{r}" not in line]
        for replies in itertools.permutations(others, 2):
            match = game.new(0)
            for move in (line[0], replies[0], line[1], replies[1]):
                match.apply({match.to_move()[0]: move})
            assert match.to_move() == (0,)
            match.apply({0: line[2]})
            assert match.to_move() == ()
            assert match.returns() == (1.0, -1.0)
            assert "to move" not in match.observe(1).text


boards = st.tuples(st.integers(4, 12), st.integers(4, 12), st.integers(3, 6))


def test_the_ranges_of_connect_four_are_those_on_offer() -> None:
    ranges = {p.name: (p.low, p.high) for p in host().game("connect_four").parameters}
    assert ranges == {"rows": (4, 12), "columns": (4, 12), "x_in_row": (3, 6)}  # as drawn below


@given(boards, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_connect_four_on_any_board(board: tuple[int, int, int], rng: object) -> None:
    rows, columns, x_in_row = board
    assume(x_in_row <= max(rows, columns))
    match = load_game("connect_four", rows=rows, columns=columns, x_in_row=x_in_row).new(0)
    assert f"{rows} rows and {columns} columns" in match.game.rules(0)
    assert f"{x_in_row} of your discs in a row" in match.game.rules(1)
    assert f"{x_in_row} in a row win, moves 1 to {columns} (columns)" in match.game.rules(1, "compact")
    cells = [["."] * columns for _ in range(rows)]  # own board, lowest row first
    while seats := match.to_move():
        [seat] = seats
        free = [str(c + 1) for c in range(columns) if cells[-1][c] == "."]
        assert match.legal_moves(seat) == free
        move = rng.choice(free)  # type: ignore[attr-defined]
        row = next(r for r in range(rows) if cells[r][int(move) - 1] == ".")
        cells[row][int(move) - 1] = "xo"[seat]
        match.apply({seat: move})
        text = match.observe(1 - seat).text.splitlines()
        drawn = [line.split() for line in text[1:-1]]
        assert drawn == cells[::-1]
        assert text[-1].split() == [str(c) for c in range(1, columns + 1)]
        assert len({len(line) for line in text[1:]}) == 1, "columns line up"
        compact = match.observe(1 - seat, "compact").text.splitlines()
        assert [line.split() for line in compact] == cells[::-1]
    winner = match.returns().index(1.0) if 1.0 in match.returns() else None
    lines = {seat: longest_line(cells, "xo"[seat]) for seat in (0, 1)}
    assert [lines[seat] >= x_in_row for seat in (0, 1)] == [winner == 0, winner == 1]


def longest_line(cells: list[list[str]], mark: str) -> int:
    best = 0
    for r, c in itertools.product(range(len(cells)), range(len(cells[0]))):
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
            n = 0
            while (
                0 <= (y := r + n * dr) < len(cells) and 0 <= (x := c + n * dc) < len(cells[0]) and cells[y][x] == mark
            ):
                n += 1
            best = max(best, n)
    return best


def test_a_board_on_which_nobody_can_win_is_refused() -> None:
    with pytest.raises(BadParameter, match="x_in_row=6 cannot be reached on a board of 5 rows and 4 columns"):
        load_game("connect_four(rows=5,columns=4,x_in_row=6)")


# -- Kuhn poker, all of it

DEALS = list(itertools.permutations("JQK", 2))


def kuhn(deal: tuple[str, str], *moves: str) -> Match:
    """The match with these cards and moves."""
    chance = [Event(CHANCE, f"Deal:{'JQK'.index(card)}") for card in deal]
    turns = [Event(i % 2, move) for i, move in enumerate(moves)]
    return load_game("kuhn_poker").load([*chance, *turns])


@pytest.mark.parametrize("deal", DEALS, ids="".join)
@pytest.mark.parametrize(
    ("moves", "chips"),
    [
        (("pass", "pass"), "showdown 1"),
        (("pass", "bet", "pass"), "seat 1 takes 1"),
        (("pass", "bet", "bet"), "showdown 2"),
        (("bet", "pass"), "seat 0 takes 1"),
        (("bet", "bet"), "showdown 2"),
    ],
    ids="-".join,
)
def test_kuhn_as_the_rules_tell_it(deal: tuple[str, str], moves: tuple[str, ...], chips: str) -> None:
    for upto in range(len(moves)):
        match = kuhn(deal, *moves[:upto])
        seat = upto % 2
        assert match.to_move() == (seat,)
        assert match.legal_moves(seat) == ["pass", "bet"]
        for who in (0, 1):
            assert f"Your card: {deal[who]}." in match.observe(who).text
            assert deal[1 - who] not in match.observe(who).text
            paid = [1 + sum(m == "bet" for m in moves[:upto][s::2]) for s in (who, 1 - who)]
            assert f"Chips in the pot: you {paid[0]}, your opponent {paid[1]}." in match.observe(who).text
            told = lines_of(match.observe(who, "compact").text)
            assert told["card"] == deal[who]
            assert told["moves"] == (" ".join(moves[:upto]) or "none")
            assert told["legal"] == ("pass bet" if who == seat else "none")
    match = kuhn(deal, *moves)
    assert match.to_move() == ()
    kind, *_, amount = chips.split()
    high = "JQK".index(deal[0]) > "JQK".index(deal[1])
    winner = (0 if high else 1) if kind == "showdown" else int(chips.split()[1])
    assert match.returns() == tuple(float(amount) * (1 if s == winner else -1) for s in (0, 1))
    assert "legal none" in match.observe(0, "compact").text


# -- Leduc poker, all of it, against a second account of the betting


def leduc_positions(match: OpenSpielMatch) -> list[OpenSpielMatch]:
    """Every position in which somebody acts, and every end, of one deal and public card."""
    found = [match]
    for seat in match.to_move():
        for move in match.legal_moves(seat):
            child = match.fork(random.Random(1))
            child.apply({seat: move})
            found += leduc_positions(child)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_leduc_as_the_rules_tell_it(seed: int) -> None:
    start = load_game("leduc_poker").new(seed)
    assert isinstance(start, OpenSpielMatch)
    cards = ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")
    for match in leduc_positions(start):
        dealt = [cards[int(e.move.rpartition(":")[2])] for e in match.events if e.seat == CHANCE]
        chips, betting, played = [1, 1], 0, []  # type: ignore[var-annotated]
        rounds: list[list[str]] = [[], []]
        folded: int | None = None
        for event in match.events:
            if event.seat == CHANCE:
                continue
            played.append(event)
            rounds[betting].append(event.move)
            seat = event.seat
            assert seat == (len(rounds[betting]) - 1) % 2, "the first player acts first in each round"
            if event.move == "raise":
                chips[seat] = chips[1 - seat] + (2, 4)[betting]
            elif event.move == "call":
                chips[seat] = chips[1 - seat]
                if len(rounds[betting]) > 1:
                    betting += 1
            else:
                folded = seat
        public = dealt[2] if len(dealt) == 3 else None
        over = folded is not None or betting == 2
        assert (match.to_move() == ()) is over
        for seat in (0, 1):
            text, told = match.observe(seat).text, lines_of(match.observe(seat, "compact").text)
            assert f"Your card: {dealt[seat]}. Public card: {public or 'not turned up yet'}." in text
            assert (told["card"], told["public"]) == (dealt[seat], public or "none")
            if over:
                won = int(match.returns()[seat])
                assert f"Chips won or lost: you {won:+d}, your opponent {-won:+d}." in text
                assert (told["result"], told["legal"]) == (f"{won:+d}", "none")
                continue
            assert f"Chips in the pot: you {chips[seat]}, your opponent {chips[1 - seat]}." in text
            assert told["pot"] == f"{chips[seat]} {chips[1 - seat]}"
            mine = seat == len(rounds[betting]) % 2
            assert (seat in match.to_move()) is mine
            legal = ["fold"] * (chips[0] != chips[1]) + ["call"] + ["raise"] * (rounds[betting].count("raise") < 2)
            assert match.legal_moves(seat) == (legal if mine else [])
            assert told["legal"] == (" ".join(legal) if mine else "none")
            for number, moves in enumerate(rounds, start=1):
                assert (f" round {number} " + (" ".join(moves) or "none")).strip() in match.observe(
                    seat, "compact"
                ).text
        if over:
            if folded is not None:
                winner: int | None = 1 - folded
            else:
                strength = [(dealt[s][0] == dealt[2][0], "JQK".index(dealt[s][0])) for s in (0, 1)]
                winner = None if strength[0] == strength[1] else int(strength[1] > strength[0])
            lost = chips[1 - winner] if winner is not None else 0
            assert match.returns() == tuple(0 if winner is None else lost if s == winner else -lost for s in (0, 1))


def test_leduc_from_minus_13_to_13() -> None:
    assert load_game("leduc_poker").utility_range == (-13.0, 13.0)
    assert "from -13 to 13" in load_game("leduc_poker").rules(0)
    assert load_game("kuhn_poker").utility_range == (-2.0, 2.0)
    assert "from -2 to 2" in load_game("kuhn_poker").rules(0)


# -- goofspiel, against a second account of the rounds


def test_compact_goofspiel_says_how_a_bid_is_written() -> None:
    match = load_game("goofspiel(num_cards=4,points_order=descending)").new(0)
    match.apply({0: "bid 3", 1: "bid 2"})
    prompt = compact(match, 0)
    assert "moves bid N" in prompt
    assert "past is prize:your bid with w won" in prompt
    assert "\npast 4:3w\n" in prompt


@given(st.integers(2, 16), st.sampled_from(["random", "ascending", "descending"]), st.integers(0, 9999), st.randoms())
@settings(max_examples=60)
def test_goofspiel_as_the_rules_tell_it(cards: int, order: str, seed: int, rng: object) -> None:
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
            told = lines_of(match.observe(seat, "compact").text)
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


def test_the_ranges_of_goofspiel_are_those_on_offer() -> None:
    by_name = {p.name: p for p in host().game("goofspiel").parameters}
    assert (by_name["num_cards"].low, by_name["num_cards"].high) == (2, 16)  # as drawn above
    assert set(by_name["points_order"].choices or ()) == {"random", "ascending", "descending"}
    with pytest.raises(BadParameter, match="from 2 to 16"):
        load_game("goofspiel(num_cards=1)")
