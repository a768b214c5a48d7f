"""Amazons against an independent model written from the rules text alone: positions, legal moves, results."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Match
from gymposium.replies.reading import READERS, read_reply

Board = dict[str, str]
"""What stands on each square, by name."""
WAYS = [way for way in itertools.product((-1, 0, 1), repeat=2) if way != (0, 0)]
SIZES = (6, 8, 10)


def reach(board: Board, start: str) -> set[str]:
    """Return the squares that a queen can reach."""
    found = set()
    for right, up in WAYS:
        at = start
        while board.get(at := f"{chr(ord(at[0]) + right)}{int(at[1:]) + up}") == ".":
            found.add(at)
    return found


def parse_start(match: Match, size: int) -> Board:
    """Return the first board, by the rules."""
    rules = match.game.rules(0)
    assert f"a board of {size} by {size} squares" in rules
    found = re.search(r"X has amazons on ([^.]*), and O on ([^.]*)\.", rules)
    assert found is not None
    board = {f"{chr(ord('a') + column)}{row + 1}": "." for column in range(size) for row in range(size)}
    for mark, squares in zip("XO", found.groups(), strict=True):
        assert len(squares.split(", ")) == 4
        board |= dict.fromkeys(squares.split(", "), mark)
    return board


def drawing(board: Board, size: int, gap: str) -> str:
    width, columns = len(str(size)), [chr(ord("a") + column) for column in range(size)]
    rows = [f"{row:{width}}{gap}" + gap.join(board[f"{c}{row}"] for c in columns) for row in range(size, 0, -1)]
    return "\n".join([*rows, " " * width + gap + gap.join(columns)]) + "\n"


def check(match: Match, board: Board, mover: int | None, chosen: list[str], expected: set[str]) -> None:
    size, mark = match.game.params["board_size"], "" if mover is None else "XO"[mover]
    told = (
        f"Step 1 of 3: {mark} chooses an amazon.",
        f"Step 2 of 3: {mark} moves the amazon on {chosen[0] if chosen else ''}.",
        f"Step 3 of 3: {mark}'s amazon, moved from {' to '.join(chosen)}, shoots.",
    )[len(chosen)]
    told = told if mark else "The game is over."
    for seat in (0, 1):
        turn = ", to move" if seat == mover else ""
        legal = match.legal_moves(seat) or []
        assert set(legal) == (expected if seat == mover else set())
        assert match.observe(seat).text == (
            f"You are {'XO'[seat]}{turn}. {told} The board:\n{drawing(board, size, ' ')}"
        )
        step = " ".join([mark, "step", str(len(chosen) + 1), *chosen]) if mark else "over"
        assert match.observe(seat, "compact").text == (
            f"{drawing(board, size, '')}{step}\nlegal {' '.join(legal) or 'none'}\n"
        )


def play_by_rules(match: Match, rng: random.Random) -> int:
    """Play at random beside the model, and return the loser."""
    board, seat = parse_start(match, match.game.params["board_size"]), 0
    while free := {square for square in board if board[square] == "XO"[seat] and reach(board, square)}:
        assert match.to_move() == (seat,)
        check(match, board, seat, [], free)
        amazon = rng.choice(sorted(free))
        match.apply({seat: amazon})
        goals = reach(board, amazon)
        check(match, board, seat, [amazon], goals)
        goal = rng.choice(sorted(goals))
        match.apply({seat: goal})
        board |= {amazon: ".", goal: "XO"[seat]}
        targets = reach(board, goal)
        assert amazon in targets
        check(match, board, seat, [amazon, goal], targets)
        target = rng.choice(sorted(targets))
        match.apply({seat: target})
        board[target] = "#"
        seat = 1 - seat
    check(match, board, None, [], set())
    return seat


@pytest.mark.parametrize("size", SIZES)
def test_play_agrees_with_the_rules_model(size: int) -> None:
    game = load_game("amazons", board_size=size)
    for seat in (0, 1):
        assert game.rules(seat).endswith(f"You play {'XO'[seat]} and move {('first', 'second')[seat]}.\n")
        assert f"a1 is bottom left, {chr(ord('a') + size - 1)}{size} top right" in game.rules(seat)
        assert f"you are {'XO'[seat]}" in game.rules(seat, "compact")
    losers = set()
    for seed in range(72 // size - 6):
        match = game.new(0)
        loser = play_by_rules(match, random.Random(seed))
        assert match.to_move() == ()
        assert (match.returns()[loser], match.returns()[1 - loser]) == (-1, 1)
        assert len(match.events) <= game.max_decisions
        losers.add(loser)
    if size == 6:
        assert losers == {0, 1}


@pytest.mark.parametrize("size", SIZES)
def test_square_names_match_the_engine(size: int) -> None:
    """The engine counts rows from the top."""
    game = load_game("amazons", board_size=size)
    assert isinstance(game, OpenSpielGame)
    state, rng = game.start(), random.Random(size)
    for _ in range(30):
        for action in state.legal_actions():
            row, column = map(int, re.findall(r"\d+", state.action_to_string(state.current_player(), action)))
            assert (game.names or [])[action] == f"{chr(ord('a') + column - 1)}{size + 1 - row}"
        state.apply_action(rng.choice(state.legal_actions()))


def test_view_includes_the_choices_of_the_current_turn() -> None:
    game = load_game("amazons")
    one, other = game.new(0), game.new(0)
    for match, moves in ((one, "d1 d5"), (other, "g1 g4")):
        for move in moves.split():
            match.apply({0: move})
    views = {match.view(seat) for match in (game.new(0), one, other) for seat in (0, 1)}
    assert len(views) == 3


def test_tensor_shows_the_choices_and_the_own_side() -> None:
    match = load_game("amazons(board_size=6)").new(0)

    def planes(seat: int) -> list[list[str]]:
        """Return the squares that are 1 in each plane."""
        tensor = match.tensor(seat)
        assert tensor.shape == match.game.tensor_shape == (6, 6, 6)
        return [[f"{'abcdef'[c]}{6 - r}" for r, c in zip(*plane.nonzero(), strict=True)] for plane in tensor]

    xs, os = {"a2", "b1", "e1", "f2"}, {"a5", "b6", "e6", "f5"}
    _, noughts, crosses, arrows, chosen, side = planes(0)
    assert (set(noughts), set(crosses), arrows, chosen, side) == (os, xs, [], [], [])
    match.apply({0: "b1"})
    assert planes(1)[4] == ["b1"]
    assert len(planes(1)[5]) == 36
    match.apply({0: "b3"})
    assert planes(0)[4] == ["b3"]
    assert set(planes(0)[2]) == xs - {"b1"} | {"b3"}
    match.apply({0: "b1"})
    assert planes(0)[3:5] == [["b1"], []]


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("amazons").new(0)
    match.apply({0: "d1"})
    legal = match.legal_moves(0)
    for kind, replies in {
        "illegal": ["d1", "g1", "d10", "a2", "e3"],
        "unparsable": ["d11", "k1", "D2", "d1-d7", "d1d7", "to d7", "a0"],
        "move": ["d9", "h5"],
    }.items():
        for reply in replies:
            assert read_reply(reply, legal, READERS["move"], match.game.move_pattern).kind == kind, reply
            if kind != "move":
                with pytest.raises(IllegalMove):
                    match.apply({0: reply})


@pytest.mark.parametrize("size", [5, 7, 12])
def test_unsupported_board_sizes_are_refused(size: int) -> None:
    with pytest.raises(BadParameter):
        load_game("amazons", board_size=size)
