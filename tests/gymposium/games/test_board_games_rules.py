"""What the prompts of othello, hex, clobber, breakthrough and pig say is what happens: a second account of each
game, kept from the words alone, agrees with every position, legal move and result, for both seats."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event, Match

Board = dict[str, str]
"""What stands on each square, by name."""
rngs = st.randoms(use_true_random=False)


def draw_board(match: Match, seat: int) -> Board:
    """The board as the full text draws it. Its rows and columns are labelled."""
    *_, drawn = match.observe(seat).text.partition("The board:\n")
    lines = [line.split() for line in drawn.splitlines()]
    columns = next(line for line in lines if line[0] == "a")
    return {f"{c}{row}": cell for row, *cells in lines if row != "a" for c, cell in zip(columns, cells, strict=True)}


def draw_compact(match: Match, seat: int) -> Board:
    lines = [line.strip() for line in match.observe(seat, "compact").text.splitlines() if "legal" not in line]
    columns = next(line for line in lines if line[0] == "a")
    rows = [found for line in lines if (found := re.fullmatch(r"(\d+)(\D+)", line))]
    return {f"{c}{row[1]}": cell for row in rows for c, cell in zip(columns, row[2], strict=True)}


def check_board(match: Match, board: Board) -> None:
    for seat in (0, 1):
        assert draw_board(match, seat) == board
        assert draw_compact(match, seat) == board


def move_by(square: str, right: int, up: int) -> str:
    return f"{chr(ord(square[0]) + right)}{int(square[1:]) + up}"


def squares(columns: int, rows: int) -> list[str]:
    return [f"{chr(ord('a') + c)}{r + 1}" for c in range(columns) for r in range(rows)]


STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
AROUND = tuple(step for step in itertools.product((-1, 0, 1), repeat=2) if step != (0, 0))

# -- othello


def enclosed(board: Board, square: str, mine: str) -> list[str]:
    found: list[str] = []
    for right, up in AROUND:
        run, at = [], move_by(square, right, up)
        while board.get(at, ".") not in (".", mine):
            run.append(at)
            at = move_by(at, right, up)
        if board.get(at) == mine:
            found += run
    return found


def moves_of(board: Board, mine: str) -> list[str]:
    return sorted(square for square in board if board[square] == "." and enclosed(board, square, mine))


def othello_as_told(match: Match, rng: random.Random) -> tuple[float, bool]:
    """The result for x, and whether somebody had to pass."""
    board = dict.fromkeys(squares(8, 8), ".") | {"d4": "o", "e5": "o", "e4": "x", "d5": "x"}
    mine, passed = "x", False
    while moves_of(board, "x") or moves_of(board, "o"):
        check_board(match, board)
        counts = [list(board.values()).count(mark) for mark in "xo"]
        assert f"Discs: x {counts[0]}, o {counts[1]}." in match.observe(0).text
        seat = "xo".index(mine)
        assert match.to_move() == (seat,)
        legal = moves_of(board, mine)
        assert sorted(match.legal_moves(seat) or []) == (legal or ["pass"])
        move = rng.choice(legal or ["pass"])
        match.apply({seat: move})
        if move == "pass":
            passed = True
        else:
            board |= dict.fromkeys([move, *enclosed(board, move, mine)], mine)
        mine = "xo"[1 - seat]
    check_board(match, board)
    assert match.to_move() == ()
    x, o = (list(board.values()).count(mark) for mark in "xo")
    return float((x > o) - (x < o)), passed


def test_othello_as_the_rules_tell_it() -> None:
    ends = set()
    for seed in range(25):
        match = load_game("othello").new(0)
        result, passed = othello_as_told(match, random.Random(seed))
        assert match.returns() == (result, -result)
        ends.add((result, passed))
    assert {(1.0, True), (-1.0, True)} <= ends, "somebody had to pass, and both have won"
    assert 0.0 in {result for result, _ in ends}
    assert "a1 is top left, h8 bottom right" in match.game.rules(0)


def test_an_othello_game_may_end_long_before_the_board_is_full() -> None:
    moves = "e6 f4 e3 f6 g5 d6 e7 f5 c5".split()  # the shortest game that there is
    match = load_game("othello").load([Event(i % 2, move) for i, move in enumerate(moves)])
    assert match.to_move() == ()
    assert match.returns() == (1.0, -1.0)
    assert match.observe(1).text.startswith("You are o. Discs: x 13, o 0. The board:\n")


# -- hex


@given(st.integers(3, 19), rngs)
@settings(max_examples=25)
def test_hex_as_the_rules_tell_it(size: int, rng: random.Random) -> None:
    match = load_game("hex", board_size=size).new(0)
    board = dict.fromkeys(squares(size, size), ".")
    last = chr(ord("a") + size - 1)
    assert f"a board of {size} by {size}" in match.game.rules(0)
    sides = {
        "x": (lambda square: square[1:] == "1", lambda square: square[1:] == str(size)),
        "o": (lambda square: square[0] == "a", lambda square: square[0] == last),
    }
    goals = (f"join top (row 1) to bottom (row {size})", f"join left (column a) to right (column {last})")
    for seat in (0, 1):
        assert match.game.rules(seat).endswith(
            f"You play {'xo'[seat]}, move {('first', 'second')[seat]} and {goals[seat]}.\n"
        )
        assert f"you are {'xo'[seat]} and {goals[seat]}" in match.game.rules(seat, "compact")
    # b2 touches b1 and c1 above, a2 and c2 beside it, a3 and b3 below
    touching = [(0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1)]
    assert [move_by("b2", *step) for step in touching] == ["b1", "c1", "a2", "c2", "a3", "b3"]

    def joined(mark: str) -> bool:
        start, goal = sides[mark]
        chain = [square for square in board if board[square] == mark and start(square)]
        seen = set(chain)
        while chain:
            square = chain.pop()
            if goal(square):
                return True
            near = {move_by(square, *step) for step in touching}
            new = {at for at in near if board.get(at) == mark} - seen
            seen |= new
            chain += new
        return False

    turns = 0
    while not joined("x") and not joined("o"):
        seat = turns % 2
        assert match.to_move() == (seat,)
        free = sorted(square for square in board if board[square] == ".")
        if turns % 7 == 0:
            check_board(match, board)
            assert sorted(match.legal_moves(seat) or []) == free
        move = rng.choice(free)
        match.apply({seat: move})
        board[move] = "xo"[seat]
        turns += 1
    check_board(match, board)
    assert match.to_move() == ()
    assert match.returns() == ((1.0, -1.0) if joined("x") else (-1.0, 1.0))


@pytest.mark.parametrize("size", [5, 11, 19])
def test_the_hexagons_of_a_board_line_up(size: int) -> None:
    lines = load_game("hex", board_size=size).new(0).observe(0).text.splitlines()[1:]
    first = [line.index(".") for line in lines[1:]]
    assert first == list(range(first[0], first[0] + size)), "each row is half a cell, one character, to the right"
    assert lines[0].index("a") == first[0]


# -- clobber


@given(st.integers(2, 12), st.integers(2, 12), rngs)
@settings(max_examples=25)
def test_clobber_as_the_rules_tell_it(rows: int, columns: int, rng: random.Random) -> None:
    match = load_game("clobber", rows=rows, columns=columns).new(0)
    board = {s: "ox"[(ord(s[0]) - ord("a") + int(s[1:]) - 1) % 2] for s in squares(columns, rows)}
    assert board["a1"] == "o"
    assert f"{rows} rows and {columns} columns" in match.game.rules(1)
    seat = 0
    while True:
        check_board(match, board)
        mine, theirs = "ox"[seat], "ox"[1 - seat]
        legal = sorted(
            square + at
            for square in board
            for step in STRAIGHT
            if board[square] == mine and board.get(at := move_by(square, *step)) == theirs
        )
        if not legal:
            break
        assert match.to_move() == (seat,)
        assert sorted(match.legal_moves(seat) or []) == legal
        move = rng.choice(legal)
        match.apply({seat: move})
        start, end = re.findall(r"[a-z]\d+", move)
        board |= {start: ".", end: mine}
        seat = 1 - seat
    assert match.to_move() == ()
    assert match.returns()[seat] == -1.0, "whoever cannot move loses"
    assert match.returns()[1 - seat] == 1.0


# -- breakthrough


@given(st.integers(3, 9), st.integers(2, 12), rngs, st.booleans())
@settings(max_examples=30)
def test_breakthrough_as_the_rules_tell_it(rows: int, columns: int, rng: random.Random, greedy: bool) -> None:
    match = load_game("breakthrough", rows=rows, columns=columns).new(0)
    rules = match.game.rules(0)
    assert f"{rows} rows and {columns} columns" in rules
    deep = 2 if "b fills the two rows at the top, w the two rows at the bottom" in rules else 1
    assert ("b fills the row at the top, w the row at the bottom" in rules) is (deep == 1)
    board = dict.fromkeys(squares(columns, rows), ".")
    for square in board:
        row = int(square[1:])
        board[square] = "b" if row > rows - deep else "w" if row <= deep else "."
    for seat in (0, 1):
        goal = (1, rows)[seat]
        assert f"{('down', 'up')[seat]} the board, and must reach row {goal}.\n" in match.game.rules(seat)
        assert f"you are {'bw'[seat]}, move {('down', 'up')[seat]} and win on row {goal}\n" in match.game.rules(
            seat, "compact"
        )
        example = re.search(r"captures: ([a-z]\d[a-z]\d)\.", match.game.rules(seat))
        assert example is not None
        if seat == 0:
            assert example[1] in (match.legal_moves(0) or [])
    seat = 0
    while True:
        check_board(match, board)
        mine, theirs, forward = "bw"[seat], "bw"[1 - seat], (-1, 1)[seat]
        legal = [
            square + at
            for square, right in itertools.product(board, (-1, 0, 1))
            if board[square] == mine
            and (there := board.get(at := move_by(square, right, forward))) is not None
            and (there == "." or (there == theirs and right))
        ]
        assert match.to_move() == (seat,)
        assert sorted(match.legal_moves(seat) or []) == sorted(legal)
        takes = [move for move in legal if board[move[2:]] == theirs]
        move = rng.choice(takes if greedy and takes else legal)
        match.apply({seat: move})
        board |= {move[:2]: ".", move[2:]: mine}
        if int(move[3:]) == (1, rows)[seat] or theirs not in board.values():
            break
        seat = 1 - seat
    check_board(match, board)
    assert match.to_move() == ()
    assert match.returns()[seat] == 1.0
    assert match.returns()[1 - seat] == -1.0


def test_the_seat_to_move_is_part_of_what_a_breakthrough_player_knows() -> None:
    game = load_game("breakthrough(rows=4,columns=2)")
    lines = ("a4a3 b1b2 a3a2 b2a3 b4a3 a1b2", "b4b3 b1b2 a4a3 a1a2 b3a2")
    even, odd = (game.load([Event(i % 2, move) for i, move in enumerate(line.split())]) for line in lines)
    assert (even.to_move(), odd.to_move()) == ((0,), (1,))
    assert draw_board(even, 0) == draw_board(odd, 0)
    for seat in (0, 1):
        assert even.view(seat) != odd.view(seat)


def test_the_breakthrough_tensor_tells_which_side_is_the_seats_own() -> None:
    match = load_game("breakthrough(rows=5,columns=4)").new(0)
    match.apply({0: "b5b4"})
    for seat in (0, 1):
        tensor = match.tensor(seat)
        assert tensor.shape == match.game.tensor_shape == (4, 5, 4)
        for square, piece in draw_board(match, seat).items():
            row, column = 5 - int(square[1]), "abcd".index(square[0])
            assert list(tensor[:, row, column]) == [piece == "b", piece == "w", piece == ".", seat]


@pytest.mark.parametrize("winner", [0, 1])
def test_a_breakthrough_player_without_pieces_loses(winner: int) -> None:
    lines = ("b5b4 b1a2 a5a4 a2a3 b4a3 a1b2 a3b2", "b5a4 b1a2 a4b3 a2b3 a5a4 b3a4")
    events = [Event(i % 2, move) for i, move in enumerate(lines[winner].split())]
    match = load_game("breakthrough(rows=5,columns=2)").load(events)
    assert match.to_move() == ()
    assert match.returns()[winner] == 1.0
    assert set(draw_board(match, 0).values()) == {".", "bw"[winner]}
    reached = {square[1:] for square, piece in draw_board(match, 1).items() if piece == "bw"[winner]}
    assert ("1", "5")[winner] not in reached


# -- pig

NUMBERS = re.compile(
    r"Scores: you (\d+), your opponent (\d+)\. It is your (turn|opponent's turn); the turn total is (\d+)\. "
    r"This is decision (\d+) of at most (\d+)\.\n"
)


@given(st.integers(1, 60), st.integers(2, 12), st.integers(1, 80), st.integers(0, 9999), st.sampled_from((0.3, 0.7, 1)))
@settings(max_examples=60)
def test_pig_as_the_rules_tell_it(winscore: int, sides: int, horizon: int, seed: int, daring: float) -> None:
    match = load_game("pig", winscore=winscore, diceoutcomes=sides, horizon=horizon).new(seed)
    rules = match.game.rules(0)
    assert f"one die of {sides} sides" in rules
    assert f"the first to have {winscore} points wins" in rules
    assert f"after {horizon} decisions" in rules
    rng, scores, total, seat, decisions = random.Random(seed), [0, 0], 0, 0, 0
    while max(scores) < winscore and decisions < horizon:
        assert match.to_move() == (seat,)
        must_stop = scores[seat] + total >= winscore
        assert match.legal_moves(seat) == (["stop"] if must_stop else ["roll", "stop"])
        for who in (0, 1):
            found = NUMBERS.fullmatch(match.observe(who).text)
            assert found is not None
            whose = "turn" if who == seat else "opponent's turn"
            expected = (scores[who], scores[1 - who], whose, total, decisions + 1, horizon)
            assert found.groups() == tuple(map(str, expected))
            legal = " ".join(match.legal_moves(who) or []) or "none"
            assert match.observe(who, "compact").text == (
                f"scores {scores[who]} {scores[1 - who]}\nturn total {total}\ndecision {decisions + 1}\nlegal {legal}\n"
            )
        move = "stop" if must_stop or rng.random() > daring else "roll"
        before = len(match.events)
        match.apply({seat: move})
        decisions += 1
        if move == "stop":
            scores[seat] += total
            total, seat = 0, 1 - seat
        elif decisions < horizon:  # the last roll decides nothing, and its die is not cast
            [die] = [int(event.move.removeprefix("Roll ")) for event in match.events[before + 1 :]]
            assert 1 <= die <= sides
            total = total + die if die > 1 else 0
            seat = seat if die > 1 else 1 - seat
    assert match.to_move() == ()
    for who in (0, 1):
        won = (scores[who] >= winscore) - (scores[1 - who] >= winscore)
        assert match.returns()[who] == won
        told = f"Scores: you {scores[who]}, your opponent {scores[1 - who]}."
        assert match.observe(who).text == f"{told} The game is over after {decisions} decisions.\n"
        assert match.observe(who, "compact").text.endswith(f"over after {decisions}\nlegal none\n")


def test_a_pig_player_knows_how_many_decisions_are_left() -> None:
    first = load_game("pig").load([Event(0, "stop"), Event(1, "stop")])
    second = load_game("pig").load(
        [Event(0, "roll"), Event(CHANCE, "Roll 1"), Event(1, "roll"), Event(CHANCE, "Roll 1")]
    )
    assert first.view(0) == second.view(0)
    later = load_game("pig").load([Event(i % 2, "stop") for i in range(4)])
    assert isinstance(first, OpenSpielMatch)
    assert isinstance(later, OpenSpielMatch)
    assert first.state.observation_string(0) == later.state.observation_string(0)
    assert first.view(0) != later.view(0)


def test_the_pig_tensor_has_the_seats_own_score_first() -> None:
    events = [Event(0, "roll"), Event(CHANCE, "Roll 5"), Event(0, "stop"), Event(1, "roll"), Event(CHANCE, "Roll 3")]
    match = load_game("pig(winscore=20)").load(events)
    for seat, expected in enumerate(([3, 5, 0], [3, 0, 5])):
        tensor = match.tensor(seat)
        assert tensor.shape == match.game.tensor_shape == (3, 21)
        assert tensor.sum() == 3
        assert list(tensor.argmax(axis=1)) == expected
