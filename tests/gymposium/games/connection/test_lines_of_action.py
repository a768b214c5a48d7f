"""Lines of Action against an independent model written from the rules text alone."""

from __future__ import annotations

import random
import re

import pytest

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Event, Match
from gymposium.replies.reading import READERS, read_reply

from ..matches import own_parameters

Board = dict[str, str]
SQUARES = [f"{column}{row}" for row in range(1, 9) for column in "abcdefgh"]
LINES = ((1, 0), (0, 1), (1, 1), (1, -1))
WAYS = [(way * right, way * up) for right, up in LINES for way in (1, -1)]


def at(square: str, right: int, up: int) -> str:
    return f"{chr(ord(square[0]) + right)}{int(square[1]) + up}"


def beginning() -> Board:
    board = dict.fromkeys(SQUARES, ".")
    board |= dict.fromkeys([f"{column}{row}" for column in "bcdefg" for row in (1, 8)], "x")
    return board | dict.fromkeys([f"{column}{row}" for column in "ah" for row in range(2, 8)], "o")


def run(square: str, right: int, up: int) -> list[str]:
    """Return the squares from this one to the edge."""
    found = []
    while (square := at(square, right, up)) in SQUARES:
        found.append(square)
    return found


def legal(board: Board, mine: str) -> list[str]:
    moves = []
    for square in SQUARES:
        for right, up in WAYS if board[square] == mine else ():
            ahead = run(square, right, up)
            line = [square, *ahead, *run(square, -right, -up)]
            steps = sum(board[other] != "." for other in line)
            over, end = ahead[: steps - 1], ahead[steps - 1 : steps]
            if end and board[end[0]] != mine and all(board[other] in (".", mine) for other in over):
                moves.append(square + end[0])
    return moves


def joined(board: Board, mark: str) -> bool:
    mine = {square for square in SQUARES if board[square] == mark}
    group = {min(mine)}
    edge = list(group)
    while edge:
        square = edge.pop()
        new = {other for way in WAYS if (other := at(square, *way)) in mine} - group
        group |= new
        edge += new
    return group == mine


def after(board: Board, move: str) -> Board:
    return board | {move[:2]: ".", move[2:]: board[move[:2]]}


def whole(board: Board) -> str:
    return "".join(board[square] for square in SQUARES)


def check(match: Match, board: Board, moves: int, seat: int | None, drawing: list[str]) -> None:
    """Check the texts of both seats. `seat` is to move, and `drawing` holds its moves that repeat a position."""
    most = match.game.params["max_game_length"]
    rows = [[board[f"{column}{row}"] for column in "abcdefgh"] for row in range(8, 0, -1)]
    for who, mark in enumerate("xo"):
        mine = match.legal_moves(who) or []
        draws = [move for move in mine if move in drawing] if who == seat else []
        turn = ", to move" if who == seat else ""
        where = (
            f". The game is over after {moves} moves."
            if seat is None
            else f"{turn}. Move {moves + 1} of at most {most}."
        )
        spaced = "".join(f"{8 - i} {' '.join(row)}\n" for i, row in enumerate(rows))
        text = f"You are {mark}{where} The board:\n{spaced}  a b c d e f g h\n"
        told = f"A draw at once, by an earlier position: {', '.join(draws)}.\n" if draws else ""
        assert match.observe(who).text == text + told
        tight = "".join(f"{8 - i}{''.join(row)}\n" for i, row in enumerate(rows))
        count = f"over after {moves}" if seat is None else f"move {moves + 1}"
        told = f"draws {' '.join(draws)}\n" if draws else ""
        short = f"{tight} abcdefgh\n{count}\n{told}legal {' '.join(mine) or 'none'}\n"
        assert match.observe(who, "compact").text == short


def play_by_rules(match: Match, rng: random.Random, restless: float) -> str:
    """Play beside the model, and return how the match ends. A higher `restless` means more captures and fewer moves
    back."""
    most = match.game.params["max_game_length"]
    board, seat, moves = beginning(), 0, 0
    seen = {whole(board)}
    while True:
        mark, other = "xo"[seat], "xo"[1 - seat]
        options = legal(board, mark)
        if not options:
            assert match.to_move() == ()
            assert match.returns()[seat] == -1.0
            return "blocked"
        drawing = [move for move in options if whole(after(board, move)) in seen]
        assert match.to_move() == (seat,)
        assert sorted(match.legal_moves(seat) or []) == sorted(options)
        if drawing or moves % 10 == 0:
            check(match, board, moves, seat, drawing)
        wild = rng.random() < restless
        takes = [move for move in options if board[move[2:]] == other]
        move = rng.choice((takes if wild else drawing) or options)
        board = after(board, move)
        match.apply({seat: move})
        moves += 1
        if moves == most or move in drawing:
            assert match.returns() == (0.0, 0.0)
            how = "repetition" if move in drawing else "the last move"
        elif joined(board, mark):
            assert match.returns()[seat] == 1.0
            how = "both" if joined(board, other) else "joined"
        elif joined(board, other):
            assert match.returns()[seat] == -1.0
            how = "given"
        else:
            seen.add(whole(board))
            seat = 1 - seat
            continue
        assert match.to_move() == ()
        assert sum(match.returns()) == 0
        check(match, board, moves, None, [])
        return how


def test_play_agrees_with_the_rules_model() -> None:
    ends = {
        play_by_rules(load_game("lines_of_action", max_game_length=most).new(0), random.Random(seed), restless)
        for most, restless, seeds in ((1000, 0.5, (0, 1, 2, 5, 31)), (1000, 0.95, (0, 2, 8, 55)), (20, 1.0, (0, 1)))
        for seed in seeds
    }
    assert ends == {"repetition", "the last move", "joined", "given", "both"}


def played(moves: str, **params: int) -> Match:
    events = [Event(i % 2, move) for i, move in enumerate(moves.split())]
    return load_game("lines_of_action", **params).load(events)


def test_repeated_position_ignores_the_side_to_move() -> None:
    """x returns in three moves, o in two: the position is that of the start, with o to move."""
    match = played("d8d6 h6f4 d6b6 f4h6")
    assert match.to_move() == (0,)
    assert "A draw at once, by an earlier position: b6d8.\n" in match.observe(0).text
    match.apply({0: "b6d8"})
    assert match.to_move() == ()
    assert match.returns() == (0.0, 0.0)


def winning(seed: int) -> list[Event]:
    """Return a match of random players that ends with a win."""
    while True:
        match, rng = load_game("lines_of_action").new(0), random.Random(seed)
        while seats := match.to_move():
            match.apply({seats[0]: rng.choice(match.legal_moves(seats[0]) or [])})
        if match.returns() != (0.0, 0.0):
            return list(match.events)
        seed += 1


def test_win_on_the_last_allowed_move_is_a_draw() -> None:
    events = winning(0)
    before = load_game("lines_of_action", max_game_length=len(events) + 1).load(events)
    assert sorted(before.returns()) == [-1.0, 1.0]
    match = load_game("lines_of_action", max_game_length=len(events)).load(events)
    assert match.to_move() == ()
    assert match.returns() == (0.0, 0.0)


@pytest.mark.parametrize("most", [20, 60, 1000])
@pytest.mark.parametrize("seat", [0, 1])
def test_prompts_tell_each_seat_its_side_and_the_limit(most: int, seat: int) -> None:
    game = load_game("lines_of_action", max_game_length=most)
    assert f"a draw, too, after {most} moves" in game.rules(seat)
    assert f"or after {most} moves" in game.rules(seat, "compact")
    assert game.max_decisions == most
    assert "x moves first" in game.rules(seat)
    assert game.rules(seat).endswith(f"You play {'xo'[seat]} and move {('first', 'second')[seat]}.\n")
    assert game.rules(seat, "compact").endswith(f"you are {'xo'[seat]}\n")


def test_example_move_in_the_rules_is_legal() -> None:
    match = load_game("lines_of_action").new(0)
    example = re.search(r"whether or not it captures: (\w+)\.", match.game.rules(0))
    assert example is not None
    assert example[1] in (match.legal_moves(0) or [])


def test_move_names_drop_the_engines_marks() -> None:
    match = load_game("lines_of_action").new(0)
    assert isinstance(match, OpenSpielMatch)
    engines = [match.state.action_to_string(0, action) for action in match.legal_actions(0)]
    assert {name[2] for name in engines} == {"-", "x"}
    assert match.legal_moves(0) == [name[:2] + name[3:] for name in engines]


def test_view_includes_the_move_history() -> None:
    one = played("d8d6 h6f4 b1b3")
    other = played("b1b3 h6f4 d8d6")
    assert one.observe(0).text.splitlines()[1:9] == other.observe(0).text.splitlines()[1:9]
    assert one.view(0) != other.view(0)


def test_tensor_shows_the_seats_own_side() -> None:
    match = load_game("lines_of_action").new(0)
    match.apply({0: "b1b3"})
    board = after(beginning(), "b1b3")
    for seat in (0, 1):
        tensor = match.tensor(seat)
        assert tensor.shape == match.game.tensor_shape == (4, 8, 8)
        for square, piece in board.items():
            row, column = int(square[1]) - 1, "abcdefgh".index(square[0])
            assert list(tensor[:, row, column]) == [piece == "x", piece == "o", piece == ".", seat]


def test_parameter_ranges_are_enforced() -> None:
    assert [(p.name, p.low, p.high) for p in own_parameters("lines_of_action")] == [("max_game_length", 20, 1000)]
    for most in (19, 1001):
        with pytest.raises(BadParameter, match=f"max_game_length={most}"):
            load_game("lines_of_action", max_game_length=most)


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("lines_of_action").new(0)
    for kind, replies in (
        ("illegal", ["b1b2", "a2c2", "b1b1", "c1c4"]),
        ("unparsable", ["b1-b3", "c1xa3", "b1", "i1i3", "b0b2", "B1B3", "b1b3 ."]),
    ):
        for reply in replies:
            assert read_reply(reply, match.legal_moves(0), READERS["move"], match.game.move_pattern).kind == kind, reply
            with pytest.raises(IllegalMove):
                match.apply({0: reply})
