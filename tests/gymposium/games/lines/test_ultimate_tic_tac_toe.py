"""Ultimate tic-tac-toe against an independent model written from the rules text alone."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from gymposium import load_game
from gymposium.errors import IllegalMove
from gymposium.games.protocol import Event, Match
from gymposium.replies.reading import READERS, read_reply

NUMBERS = range(1, 10)
THREES = [{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 4, 7}, {2, 5, 8}, {3, 6, 9}, {1, 5, 9}, {3, 5, 7}]
HEAD = re.compile(r"You are ([xo])(.*)\. Boards won: ([1-9 ]+|none) by x, ([1-9 ]+|none) by o; drawn: ([1-9 ]+|none)\.")


class RulesModel:
    """Model of a match, by the rules in the prompt."""

    def __init__(self) -> None:
        self.marks = {board: dict.fromkeys(NUMBERS, ".") for board in NUMBERS}
        self.seat = 0
        self.board: int | None = None
        """Where the seat must play; None where it is to choose."""
        self.finished = dict.fromkeys(NUMBERS, "")
        """Who has won each board, `drawn`, or nothing."""
        self.winner = ""

    def that(self, what: str) -> list[int]:
        return [board for board in NUMBERS if self.finished[board] == what]

    def over(self) -> bool:
        return bool(self.winner) or "" not in self.finished.values()

    def legal(self) -> list[str]:
        if self.over():
            return []
        if self.board is None:
            return [f"board {board}" for board in self.that("")]
        return [f"{self.board}/{square}" for square in NUMBERS if self.marks[self.board][square] == "."]

    def play(self, move: str) -> None:
        number = int(move[-1])
        if self.board is None:
            self.board = number
            return
        marks, mine = self.marks[self.board], "xo"[self.seat]
        marks[number] = mine
        if any(all(marks[square] == mine for square in three) for three in THREES):
            self.finished[self.board] = mine
            if any(all(self.finished[board] == mine for board in three) for three in THREES):
                self.winner = mine
        elif "." not in marks.values():
            self.finished[self.board] = "drawn"
        self.board = None if self.finished[number] else number
        self.seat = 1 - self.seat


def drawn_boards(text: str) -> Iterator[tuple[int, dict[int, str]]]:
    """Return the boards as the full text draws them, by the number above each."""
    bands = text.split("------+-------+------\n")
    assert len(bands) == 3
    for band in bands:
        numbers, *lines = band.splitlines()
        rows = [[cells.split() for cells in line.split("|")] for line in lines]
        for index, number in enumerate(numbers.split()):
            cells = [cell for row in rows for cell in row[index]]
            yield int(number), dict(zip(NUMBERS, cells, strict=True))


def check(match: Match, account: RulesModel) -> None:
    won = [" ".join(map(str, account.that(what))) or "none" for what in ("x", "o", "drawn")]
    for seat, mark in enumerate("xo"):
        moves = account.legal() if seat == account.seat else []
        assert match.legal_moves(seat) == moves
        head, _, drawn = match.observe(seat).text.partition(" The boards:\n")
        found = HEAD.fullmatch(head)
        assert found is not None
        told = f"play in board {account.board}" if account.board else "choose an unfinished board"
        whose = ", to move. You" if seat == account.seat else ". Your opponent"
        turn = "" if account.over() else f"{whose} must {told}"
        assert found.groups() == (mark, turn, *won)
        assert dict(drawn_boards(drawn)) == account.marks
        *boards, summary, legal = match.observe(seat, "compact").text.splitlines()
        rows = [f"{n} {''.join(account.marks[n].values())}" for n in NUMBERS]
        assert [line.replace("/", "") for line in boards] == rows
        assert summary == f"won x {won[0]} o {won[1]} drawn {won[2]}"
        assert legal == f"legal {', '.join(moves) or 'none'}"


def test_play_agrees_with_the_rules_model() -> None:
    ends: dict[float, int] = {}
    free = drawn = 0
    for seed in range(20):
        rng, match, account = random.Random(seed), load_game("ultimate_tic_tac_toe").new(0), RulesModel()
        while not account.over():
            assert match.to_move() == (account.seat,)
            if rng.random() < 0.3:
                check(match, account)
            move = rng.choice(account.legal())
            free += account.board is None
            match.apply({account.seat: move})
            account.play(move)
        check(match, account)
        drawn += len(account.that("drawn"))
        assert match.to_move() == ()
        result = {"x": 1.0, "o": -1.0, "": 0.0}[account.winner]
        assert match.returns() == (result, -result)
        ends[result] = ends.get(result, 0) + 1
    assert len(ends) == 3, "both have won, and nobody"
    assert free > 40, "some were sent to a finished board"
    assert drawn > 0


@pytest.mark.parametrize("seat", [0, 1])
def test_prompts_tell_each_seat_its_side(seat: int) -> None:
    game = load_game("ultimate_tic_tac_toe")
    assert "x moves first" in game.rules(seat)
    assert game.rules(seat).endswith(f"You play {'xo'[seat]} and move {('first', 'second')[seat]}.\n")
    assert game.rules(seat, "compact").endswith(f"you are {'xo'[seat]}\n")


def test_example_move_in_the_rules_is_legal() -> None:
    game = load_game("ultimate_tic_tac_toe")
    for style in ("full", "compact"):
        assert "5/3 marks" in game.rules(0, "full" if style == "full" else "compact")
    match = game.load([Event(0, "board 5"), Event(0, "5/3")])
    assert "You must play in board 3" in match.observe(1).text
    boards = dict(drawn_boards(match.observe(1).text.partition("The boards:\n")[2]))
    assert boards[5][3] == "x"
    lines = match.observe(1).text.splitlines()
    assert lines[7].split(" | ")[1] == ". . x", "top right of the central board"


def test_finishing_a_board_may_send_to_it() -> None:
    moves = [(0, "board 1"), (0, "1/5"), (1, "5/1"), (0, "1/9"), (1, "9/1"), (0, "1/1")]
    match = load_game("ultimate_tic_tac_toe").load([Event(*move) for move in moves])
    assert "Boards won: 1 by x, none by o; drawn: none." in match.observe(1).text
    assert "You must choose an unfinished board" in match.observe(1).text
    assert "board 1" not in (match.legal_moves(1) or [])
    match.apply({1: "board 8"})
    assert match.to_move() == (1,)
    assert match.legal_moves(1) == [f"8/{square}" for square in NUMBERS]


@pytest.mark.parametrize(
    ("moves", "illegal"),
    [([], ["5/3", "1/1"]), (["board 5"], ["board 5", "4/3"]), (["board 5", "5/3"], ["5/3", "5/1"])],
)
def test_distinguishes_illegal_from_unparsable_replies(moves: list[str], illegal: list[str]) -> None:
    match = load_game("ultimate_tic_tac_toe").new(0)
    for move in moves:
        match.apply({match.to_move()[0]: move})
    [seat] = match.to_move()
    unparsable = ["5", "board5", "Board 5", "board 0", "board 10", "5/0", "10/1", "5-3", "53", "5/3.", "board 5/3"]
    for kind, replies in (("illegal", illegal), ("unparsable", unparsable)):
        for reply in replies:
            assert read_reply(reply, match.legal_moves(seat), READERS["move"], match.game.move_pattern).kind == kind, (
                reply
            )
            with pytest.raises(IllegalMove):
                match.apply({seat: reply})
