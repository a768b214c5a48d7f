"""Checkers against an independent model written from the rules text alone: positions, legal moves, results."""

from __future__ import annotations

import random
import re

import pyspiel
import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.replies.reading import READERS, read_reply

from ..matches import own_parameters, plain_examples

Board = dict[str, str]
"""What stands on each square, by name."""
COLORS = ("White", "Black")
UP, DOWN = ((-1, 1), (1, 1)), ((-1, -1), (1, -1))


def beside(square: str, step: tuple[int, int], times: int = 1) -> str:
    return f"{chr(ord(square[0]) + times * step[0])}{int(square[1:]) + times * step[1]}"


def halves(move: str) -> tuple[str, str]:
    start, end = re.findall(r"[a-z]\d+", move)
    return start, end


class RulesModel:
    """Model of a match, by the rules in the prompt, starting from the board drawn at the start."""

    def __init__(self, board: Board, rows: int, draw: int) -> None:
        self.board, self.rows, self.draw = board, rows, draw
        self.seat, self.quiet, self.jumping = 0, 0, ""

    def mine(self, square: str) -> bool:
        return self.board[square].lower() == "wb"[self.seat]

    def ways(self, square: str) -> tuple[tuple[int, int], ...]:
        piece = self.board[square]
        return UP + DOWN if piece.isupper() else UP if piece == "w" else DOWN

    def jumps(self, square: str) -> list[str]:
        theirs = "bw"[self.board[square].lower() == "b"]
        return [
            square + beside(square, way, 2)
            for way in self.ways(square)
            if self.board.get(beside(square, way), ".").lower() == theirs
            and self.board.get(beside(square, way, 2)) == "."
        ]

    def legal(self) -> list[str]:
        if self.quiet == self.draw:
            return []
        pieces = [self.jumping] if self.jumping else [square for square in self.board if self.mine(square)]
        jumps = [jump for square in pieces for jump in self.jumps(square)]
        steps = [
            square + beside(square, way)
            for square in pieces
            for way in self.ways(square)
            if self.board.get(beside(square, way)) == "."
        ]
        return sorted(jumps or steps)

    def play(self, move: str) -> None:
        start, end = halves(move)
        piece, self.board[start] = self.board[start], "."
        crowned = piece.islower() and end[1:] == ("1" if self.seat else str(self.rows))
        self.board[end] = piece.upper() if crowned else piece
        self.quiet, self.jumping = self.quiet + 1, ""
        if abs(ord(start[0]) - ord(end[0])) == 2:
            self.board[f"{chr((ord(start[0]) + ord(end[0])) // 2)}{(int(start[1:]) + int(end[1:])) // 2}"] = "."
            self.quiet = 0
            if not crowned and self.jumps(end):
                self.jumping = end
        if not self.jumping:
            self.seat = 1 - self.seat


def drawn(match: OpenSpielMatch, seat: int) -> Board:
    lines = [line.split() for line in match.observe(seat).text.partition("The board:\n")[2].splitlines()]
    *rows, columns = lines
    return {f"{c}{row}": cell for row, *cells in rows for c, cell in zip(columns, cells, strict=True)}


def check_position(match: OpenSpielMatch, account: RulesModel) -> None:
    for seat in (0, 1):
        assert drawn(match, seat) == account.board
        text, compact = match.observe(seat).text, match.observe(seat, "compact").text
        mine = match.to_move() == (seat,)
        assert text.startswith(f"You are {COLORS[seat]}{', to move' if mine else ''}.")
        assert f"Moves since the last capture: {account.quiet}. The board:" in text
        who = "You" if mine else "Your opponent"
        on = f"{who} must go on jumping with the piece on {account.jumping}. "
        assert (on in text) == bool(account.jumping) == ("must go on" in text)
        *board, columns, _ = compact.partition("quiet")[0].split("\n")
        rows = [found for row in board if (found := re.fullmatch(r" ?(\d+)(\D+)", row))]
        cells = {f"{c}{row[1]}": cell for row in rows for c, cell in zip(columns.strip(), row[2], strict=True)}
        assert cells == account.board
        assert f"\nquiet {account.quiet}\n" in compact
        assert (f"\ngo on {account.jumping}\n" in compact) == bool(account.jumping) == ("go on" in compact)
        assert compact.endswith(f"\nlegal {' '.join(match.legal_moves(seat)) or 'none'}\n")


def play(rows: int, columns: int, rng: random.Random, every: int) -> set[str]:
    """Play a random match beside the model. Returns what happened in it."""
    match: OpenSpielMatch = load_game("checkers", rows=rows, columns=columns).new(0)  # type: ignore[assignment]
    rules = [match.game.rules(seat) for seat in (0, 1)]
    limit = re.search(
        r"After (\d+) moves in a row without a capture, counting both players', the game is a draw", rules[0]
    )
    men = re.search(r"White's (\d+) men (?s:.*)Black's (\d+) men", rules[0])
    assert limit is not None
    assert men is not None
    account = RulesModel(drawn(match, 0), rows, int(limit[1]))
    standing = list(account.board.values())
    assert (int(men[1]), int(men[2])) == (standing.count("w"), standing.count("b"))
    for square, piece in account.board.items():
        row = int(square[1:])
        assert piece == "." or (row <= 3 if piece == "w" else row > rows - 3)
        assert "." in (
            piece,
            account.board.get(beside(square, (0, 1)), "."),
            account.board.get(beside(square, (1, 0)), "."),
        )
    assert match.to_move() == (0,)
    noted: list[str] = []
    while legal := account.legal():
        assert match.to_move() == (account.seat,)
        if not len(match.events) % every or account.jumping:
            check_position(match, account)
            assert sorted(match.legal_moves(account.seat)) == legal
            assert match.legal_moves(1 - account.seat) == []
        move = rng.choice(legal)
        start, end = halves(move)
        man = account.board[start].islower()
        match.apply({account.seat: move})
        account.play(move)
        if account.jumping:
            noted.append("goes on")
        elif account.quiet == 0 and man and account.board[end].isupper() and account.jumps(end):
            noted.append("stops, as a king")
    check_position(match, account)
    assert match.to_move() == ()
    assert len(match.events) <= match.game.max_decisions
    if account.quiet == account.draw:
        assert match.returns() == (0.0, 0.0)
        noted.append("draw")
    else:
        loser = account.seat
        assert match.returns() == ((-1.0, 1.0) if loser == 0 else (1.0, -1.0))
        noted.append("blocked" if any(account.mine(square) for square in account.board) else "all taken")
    result = "a draw" if noted[-1] == "draw" else f"{COLORS[1 - account.seat]} wins"
    assert f"The game is over: {result}." in match.observe(0).text
    return set(noted)


@given(st.integers(8, 12), st.integers(4, 8), st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_play_agrees_with_the_rules_model(rows: int, columns: int, rng: random.Random) -> None:
    play(rows, columns, rng, 3)


def test_random_play_covers_all_rules() -> None:
    noted: set[str] = set()
    for seed in range(40):
        noted |= play(8, 8, random.Random(seed), 50)
    assert noted == {"goes on", "stops, as a king", "draw", "blocked", "all taken"}


@pytest.mark.parametrize("example", plain_examples("checkers"), ids=str)
def test_prompts_tell_each_seat_its_side(example: dict[str, int]) -> None:
    game = load_game("checkers", **example)  # type: ignore[arg-type]
    last = "abcdefgh"[game.params["columns"] - 1]
    for seat in (0, 1):
        rules, way = game.rules(seat), ("up", "down")[seat]
        order = ("first", "second")[seat]
        assert rules.endswith(f"You play {COLORS[seat]} and move {order}; your men move {way} the board.\n")
        assert f"a board of {game.params['rows']} rows and {game.params['columns']} columns" in rules
        assert f"(a to {last}, from the left) and its row (1 to {game.params['rows']}, from the bottom)" in rules
        assert game.rules(seat, "compact").endswith(f"you are {COLORS[seat]}, men move {way}\n")


@pytest.mark.parametrize(("rows", "columns"), [(8, 4), (9, 5), (12, 8)])
def test_example_move_in_the_rules_uses_playable_squares(rows: int, columns: int) -> None:
    match: OpenSpielMatch = load_game("checkers", rows=rows, columns=columns).new(0)  # type: ignore[assignment]
    found = re.search(r"goes to: (\w+) is a step, (\w+) a jump", match.game.rules(0))
    assert found is not None
    names = match.game.names
    assert names is not None
    step, jump = found[1], found[2]
    assert {step, jump} <= set(names)
    dark = {square for move in names for square in re.findall(r"[a-z]\d+", move)}
    assert halves(step)[0] in dark
    board = drawn(match, 0)
    [start] = {halves(step)[0], halves(jump)[0]}
    parity = {(ord(s[0]) + int(s[1:])) % 2 for s, piece in board.items() if piece != "."}
    assert parity == {(ord(start[0]) + int(start[1:])) % 2}


def test_parameter_ranges_are_enforced() -> None:
    low_high = {p.name: (p.low, p.high) for p in own_parameters("checkers")}
    assert low_high == {"rows": (8, 12), "columns": (4, 8)}
    for params in ({"rows": 7}, {"rows": 13}, {"columns": 3}, {"columns": 9}):
        with pytest.raises(BadParameter, match="must be"):
            load_game("checkers", **params)


def test_engine_still_fails_on_wide_boards() -> None:
    """This is why the ranges have a least height and a greatest width."""
    engine = pyspiel.load_game("checkers", {"rows": 8, "columns": 10})

    def play_much() -> None:
        for seed in range(100):
            rng, state = random.Random(seed), engine.new_initial_state()
            while not state.is_terminal():
                state.apply_action(rng.choice(state.legal_actions()))

    with pytest.raises(pyspiel.SpielError, match="multiple_move_list"):
        play_much()


@pytest.mark.parametrize(("rows", "columns"), [(8, 4), (8, 8), (12, 4), (12, 8)])
def test_extreme_boards_are_playable(rows: int, columns: int) -> None:
    for seed in range(2):
        play(rows, columns, random.Random(seed), 5)


def test_tensor_shows_the_side_and_the_quiet_moves() -> None:
    match: OpenSpielMatch = load_game("checkers(rows=8,columns=6)").new(0)  # type: ignore[assignment]
    match.apply({0: "a3b4"})
    match.apply({1: match.legal_moves(1)[0]})
    planes = ["w", "W", "b", "B", "."]
    for seat in (0, 1):
        tensor = match.tensor(seat)
        assert tensor.shape == match.game.tensor_shape == (7, 8, 6)
        for square, piece in drawn(match, seat).items():
            row, column = 8 - int(square[1]), "abcdef".index(square[0])
            assert list(tensor[:5, row, column]) == [piece == plane for plane in planes]
            assert tensor[5, row, column] == seat
            assert tensor[6, row, column] == pytest.approx(2 / 40)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [("a3b4", "move"), ("a3a4", "illegal"), ("b6c5", "illegal"), ("9-13", "unparsable"), ("a3xb4", "unparsable")],
)
def test_replies_are_classified(reply: str, kind: str) -> None:
    match = load_game("checkers").new(0)
    assert read_reply(reply, match.legal_moves(0), READERS["move"], match.game.move_pattern).kind == kind
    if kind != "move":
        with pytest.raises(IllegalMove):
            match.apply({0: reply})
