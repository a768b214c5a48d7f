"""Go against an independent model written from the rules text alone: positions, legal moves, results."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Event, Match
from gymposium.replies.reading import READERS, read_reply

COLUMNS = "ABCDEFGHJKLMNOPQRST"
Point = tuple[int, int]
"""Column and row, counted from 0 at the bottom left."""
Board = dict[Point, str]


def name_point(point: Point) -> str:
    return f"{COLUMNS[point[0]]}{point[1] + 1}"


def list_neighbors(board: Board, point: Point) -> Iterator[Point]:
    column, row = point
    for at in ((column + 1, row), (column - 1, row), (column, row + 1), (column, row - 1)):
        if at in board:
            yield at


def chain(board: Board, point: Point) -> tuple[set[Point], set[Point]]:
    """Return all points that are joined to this one and hold the same, and the contents of their neighbors."""
    seen, rim, todo = {point}, set[Point](), [point]
    while todo:
        for at in list_neighbors(board, todo.pop()):
            if board[at] != board[point]:
                rim.add(at)
            elif at not in seen:
                seen.add(at)
                todo.append(at)
    return seen, rim


def liberties(board: Board, point: Point) -> set[Point]:
    return {at for at in chain(board, point)[1] if board[at] == "."}


def placed(board: Board, point: Point, mark: str) -> tuple[Board, set[Point]]:
    """Return the board after a stone, and the stones that it captures."""
    after = board | {point: mark}
    taken = {
        stone
        for at in list_neighbors(board, point)
        if after[at] not in (".", mark) and not liberties(after, at)
        for stone in chain(after, at)[0]
    }
    return after | dict.fromkeys(taken, "."), taken


class RulesModel:
    """Model of a match, by the rules in the prompt."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.board: Board = {(column, row): "." for column in range(size) for row in range(size)}
        self.past = [self.board]
        self.moves: list[str] = []
        self.ko: Point | None = None
        self.repeated = False

    def legal(self, mark: str) -> list[Point]:
        free = [point for point in self.board if self.board[point] == "." and point != self.ko]
        return [point for point in free if liberties(placed(self.board, point, mark)[0], point)]

    def find_repetitions(self, mark: str) -> list[str]:
        found = [p for p in self.legal(mark) if placed(self.board, p, mark)[0] in self.past]
        return [name_point(point) for point in sorted(found, key=lambda point: point[::-1])]

    def play(self, point: Point | None, mark: str) -> None:
        self.ko = None
        self.moves.append("pass" if point is None else name_point(point))
        if point is None:
            return
        self.board, taken = placed(self.board, point, mark)
        alone = len(chain(self.board, point)[0]) == 1
        if alone and len(taken) == 1 and liberties(self.board, point) == taken:
            [self.ko] = taken
        self.repeated = self.board in self.past
        self.past.append(self.board)

    def over(self, limit: int) -> bool:
        return self.repeated or self.moves[-2:] == ["pass", "pass"] or len(self.moves) >= limit

    def area(self, mark: str) -> int:
        count = 0
        for point, stone in self.board.items():
            met = {self.board[at] for at in chain(self.board, point)[1]}
            count += stone == mark or (stone == "." and met == {mark})
        return count

    def drawing(self, gap: str) -> str:
        size, width = self.size, len(str(self.size))
        rows = [
            f"{row + 1:{width}}{gap}" + gap.join(self.board[column, row] for column in range(size))
            for row in reversed(range(size))
        ]
        return "\n".join([*rows, " " * width + gap + gap.join(COLUMNS[:size])]) + "\n"


def check(match: Match, account: RulesModel, limit: int) -> None:
    number, over = len(account.moves), account.over(limit)
    last = f"{'XO'[(number - 1) % 2]} {account.moves[-1]}" if number else ""
    again = " ".join(account.find_repetitions("XO"[number % 2])) if not over else ""
    for seat, mark in enumerate("XO"):
        mine = not over and number % 2 == seat
        legal = match.legal_moves(seat) or []
        assert set(legal) == ({*map(name_point, account.legal(mark)), "pass"} if mine else set())
        told = f"You are {mark}{', to move' if mine else ''}. {number} of at most {limit} moves are played"
        told += f", the last {last}." if last else "."
        if over:
            told += " The game is over."
        elif last.endswith("pass"):
            told += f" If {'you pass' if mine else 'XO'[1 - seat] + ' passes'} too, the game ends."
        back = f"Moves that would bring back an earlier position, a draw: {again}.\n" if again else ""
        assert match.observe(seat).text == f"{told} The board:\n{account.drawing(' ')}{back}"
        back = f"repeats a position {again}\n" if again else ""
        told = f"moves {number} of {limit}" + (f", last {last}" if last else "")
        assert match.observe(seat, "compact").text == (
            f"{account.drawing('')}{told}\n{back}legal {' '.join(legal) or 'none'}\n"
        )


def play_by_rules(match: Match, rng: random.Random, passing: float) -> RulesModel:
    """Play at random beside the model, up to the end by the model."""
    limit = match.game.params["max_game_length"] or 2 * match.game.params["board_size"] ** 2
    account, texts = RulesModel(match.game.params["board_size"]), dict[str, str]()
    while not account.over(limit):
        seat = len(account.moves) % 2
        assert match.to_move() == (seat,)
        check(match, account, limit)
        assert texts.setdefault(match.observe(0).text, match.view(0)) == match.view(0)
        stones = account.legal("XO"[seat])
        point = rng.choice(stones) if stones and rng.random() >= passing else None
        match.apply({seat: name_point(point) if point else "pass"})
        account.play(point, "XO"[seat])
    check(match, account, limit)
    assert match.to_move() == ()
    assert len(account.moves) <= match.game.max_decisions == limit
    ahead = account.area("X") - account.area("O") - match.game.params["komi"]
    result = 0 if account.repeated else (ahead > 0) - (ahead < 0)
    assert match.returns() == (result, -result)
    return account


@given(
    st.integers(2, 9),
    st.integers(-12, 15).map(lambda halves: halves / 2),
    st.just(0) | st.integers(2, 60),
    st.randoms(use_true_random=False),
)
@settings(max_examples=12)
def test_play_agrees_with_the_rules_model(size: int, komi: float, limit: int, rng: random.Random) -> None:
    game = load_game("go", board_size=size, komi=komi, max_game_length=limit)
    for seat, color in enumerate(("black", "white")):
        rules = game.rules(seat)
        assert f"a board of {size} by {size} points" in rules
        assert f"after {limit or 2 * size * size} moves in all" in rules
        assert f"A1 is bottom left, {COLUMNS[size - 1]}{size} top right" in rules
        gains = f"{abs(komi):g} points are added to {'O' if komi > 0 else 'X'}'s count" if komi else "No points are add"
        assert gains in rules
        assert rules.endswith(f"You play {'XO'[seat]} ({color}) and move {('first', 'second')[seat]}.\n")
        compact = game.rules(seat, "compact")
        assert f"komi {komi:g} for O" in compact
        assert f"you are {'XO'[seat]}" in compact
    play_by_rules(game.new(0), rng, passing=0.02)


def test_repetitions_are_announced_and_draw_the_game() -> None:
    """On small boards they are frequent: with and without a capture, after a pass, and on the last move."""
    ends = set()
    for seed in range(60):
        game = load_game("go", board_size=2 + seed % 2, max_game_length=(0, 6, 7, 8, 9)[seed % 5])
        account = play_by_rules(game.new(0), random.Random(seed), passing=0.1)
        ends.add((account.repeated, len(account.moves) == game.max_decisions))
    assert {(True, False), (True, True), (False, True), (False, False)} <= ends


def load(moves: str, size: int) -> Match:
    events = [Event(number % 2, move) for number, move in enumerate(moves.split())]
    return load_game("go", board_size=size).load(events)


def test_ko_recapture_needs_another_move_first() -> None:
    match = load("B1 C1 A2 D2 B3 C3 pass B2 C2", 5)  # X has just captured on B2
    assert "the last X C2" in match.observe(1).text
    assert "B2" not in (match.legal_moves(1) or [])
    match.apply({1: "E5"})
    match.apply({0: "E1"})
    assert "B2" in (match.legal_moves(1) or [])


def test_prompt_warns_that_a_second_pass_ends_the_game() -> None:
    match = load("C3 pass", 5)
    assert "2 of at most 50 moves are played, the last O pass. If you pass too, the game ends." in match.observe(0).text
    assert "If X passes too, the game ends." in match.observe(1).text
    match.apply({0: "pass"})
    assert match.returns() == (1.0, -1.0)  # all 25 points are X's


def test_tensor_shows_the_board_and_the_side_to_move() -> None:
    match = load("A1 C2 B1", 3)
    tensor = match.tensor(1)
    assert tensor.shape == match.game.tensor_shape == (4, 3, 3)
    assert tensor[0].tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 0]]  # black; row 1 first
    assert tensor[1].tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]  # white
    assert tensor[3].all()


@pytest.mark.parametrize("size", [2, 9, 19])
def test_point_names_match_the_engine(size: int) -> None:
    game = load_game("go", board_size=size)
    assert isinstance(game, OpenSpielGame)
    state = game.start()
    engines = [state.action_to_string(0, action).split()[1] for action in state.legal_actions()]
    assert [name.lower() for name in game.new(0).legal_moves(0) or []] == [name.lower() for name in engines]


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load("D4 E5", 9)
    legal = match.legal_moves(0)
    for kind, replies in {
        "illegal": ["D4", "E5"],
        "unparsable": ["d3", "I5", "K1", "A10", "A0", "PASS", "B D3", "D3.", "resign"],
        "move": ["J9", "D3", "pass"],
    }.items():
        for reply in replies:
            assert read_reply(reply, legal, READERS["move"], match.game.move_pattern).kind == kind, reply
            if kind != "move":
                with pytest.raises(IllegalMove):
                    match.apply({0: reply})


@pytest.mark.parametrize(
    "wrong",
    [{"board_size": 1}, {"board_size": 20}, {"komi": 101}, {"max_game_length": 1}, {"max_game_length": -1}],
)
def test_unsupported_parameters_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(BadParameter):
        load_game("go", **wrong)
