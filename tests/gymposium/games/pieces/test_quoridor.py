"""Quoridor against an independent model written from the rules text alone: positions, legal moves, results."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import Event
from gymposium.plugins.host import host
from gymposium.replies.reading import READERS, read_reply

MARKS = "xo"
WAYS = ((0, 1), (0, -1), (1, 0), (-1, 0))


def beside(square: str, right: int, up: int) -> str:
    return f"{chr(ord(square[0]) + right)}{int(square[1:]) + up}"


class RulesModel:
    """Model of a match, by the rules in the prompt."""

    def __init__(self, size: int, walls: int) -> None:
        self.size = size
        self.squares = {f"{chr(ord('a') + c)}{r + 1}" for c in range(size) for r in range(size)}
        middle = chr(ord("a") + size // 2)
        self.pawns = [f"{middle}1", f"{middle}{size}"]
        self.left = [walls, walls]
        self.walls: set[str] = set()
        self.moves = 0

    def goal(self, seat: int) -> int:
        return (self.size, 1)[seat]

    def open(self, start: str, way: tuple[int, int], walls: set[str]) -> bool:
        """Return whether a pawn may pass between the two squares."""
        end = beside(start, *way)
        if end not in self.squares:
            return False
        low = end if way[0] + way[1] < 0 else start
        if way[0]:  # sideways: a vertical wall stands to the right of the left square and of the one above it
            return f"{low}v" not in walls and f"{beside(low, 0, -1)}v" not in walls
        return f"{low}h" not in walls and f"{beside(low, -1, 0)}h" not in walls

    def steps(self, seat: int) -> set[str]:
        at, other = self.pawns[seat], self.pawns[1 - seat]
        found = set()
        for way in WAYS:
            if not self.open(at, way, self.walls):
                continue
            if beside(at, *way) != other:
                found.add(beside(at, *way))
            elif self.open(other, way, self.walls):
                found.add(beside(other, *way))
            else:
                sides = [(way[1], way[0]), (-way[1], -way[0])]
                found |= {beside(other, *side) for side in sides if self.open(other, side, self.walls)}
        return found

    def reaches(self, seat: int, walls: set[str]) -> bool:
        chain, seen = [self.pawns[seat]], {self.pawns[seat]}
        while chain:
            square = chain.pop()
            if int(square[1:]) == self.goal(seat):
                return True
            near = {beside(square, *way) for way in WAYS if self.open(square, way, walls)} - seen
            seen |= near
            chain += near
        return False

    def fits(self, wall: str) -> bool:
        square, lies = wall[:-1], wall[-1]
        if lies == "h":
            in_the_way = {wall, f"{square}v", f"{beside(square, 1, 0)}h", f"{beside(square, -1, 0)}h"}
        else:
            in_the_way = {wall, f"{square}h", f"{beside(square, 0, 1)}v", f"{beside(square, 0, -1)}v"}
        return not in_the_way & self.walls and all(self.reaches(seat, self.walls | {wall}) for seat in (0, 1))

    def legal(self) -> list[str]:
        seat = self.moves % 2
        places = [square for square in self.squares if beside(square, 1, 1) in self.squares]
        walls = [square + lies for square in places for lies in "hv"] if self.left[seat] else []
        return sorted([*self.steps(seat), *(wall for wall in walls if self.fits(wall))])

    def play(self, move: str) -> None:
        seat = self.moves % 2
        if move[-1] in "hv":
            self.walls.add(move)
            self.left[seat] -= 1
        else:
            self.pawns[seat] = move
        self.moves += 1

    def drawn(self) -> list[str]:
        """Return the board line by line, without labels."""
        size = self.size
        grid = [[" "] * (4 * size + 1) for _ in range(2 * size - 1)]

        def at(square: str) -> tuple[int, int]:
            return 2 * (size - int(square[1:])), 4 * (ord(square[0]) - ord("a")) + 1

        for square in self.squares:
            y, x = at(square)
            grid[y][x] = MARKS[self.pawns.index(square)] if square in self.pawns else "."
        for wall in self.walls:
            y, x = at(wall[:-1])
            grid[y - 1][x + 2] = "+"
            for dy, dx in (
                ((-1, -1), (-1, 0), (-1, 1), (-1, 3), (-1, 4), (-1, 5)) if wall[-1] == "h" else ((0, 2), (-2, 2))
            ):
                grid[y + dy][x + dx] = "-" if wall[-1] == "h" else "|"
        return ["".join(line).rstrip() for line in grid]


def check_position(match: OpenSpielMatch, account: RulesModel) -> None:
    walls = " ".join(sorted(account.walls)) or "none"
    for seat in (0, 1):
        head, _, rest = match.observe(seat).text.partition("The board:\n")
        turn = ", to move" if match.to_move() == (seat,) else ""
        assert head.startswith(f"You are {MARKS[seat]}{turn}.")
        assert f" Moves so far: {account.moves}. Walls left: x {account.left[0]}, o {account.left[1]}. " in head
        assert f" Walls on the board: {walls}. " in head
        *lines, columns = rest.splitlines()
        assert columns == "   " + "   ".join(chr(ord("a") + i) for i in range(account.size))
        assert [line[2:] for line in lines] == account.drawn()
        labels = [line[:2].strip() for line in lines]
        assert labels == [str(account.size - y // 2) if y % 2 == 0 else "" for y in range(2 * account.size - 1)]
        assert match.observe(seat, "compact").text == (
            f"moves {account.moves}\nx {account.pawns[0]} walls {account.left[0]}\no {account.pawns[1]} walls "
            f"{account.left[1]}\nwalls {walls}\nlegal {' '.join(match.legal_moves(seat)) or 'none'}\n"
        )


def begin(size: int, walls: int) -> tuple[OpenSpielMatch, RulesModel, int]:
    """Return a match, its model, and the number of moves that makes a draw by the prompt."""
    match: OpenSpielMatch = load_game("quoridor", board_size=size, wall_count=walls).new(0)  # type: ignore[assignment]
    told = re.search(r"After (\d+) moves, counting both players', the game is a draw", match.game.rules(0))
    assert told is not None
    return match, RulesModel(size, walls), int(told[1])


def play(size: int, walls: int, rng: random.Random, *, hasty: bool, every: int) -> str:
    """Play a random match beside the model. Returns the winner: x, o or neither."""
    match, account, limit = begin(size, walls)
    assert limit == match.game.max_decisions
    winner = ""
    while not winner and account.moves < limit:
        seat = account.moves % 2
        assert match.to_move() == (seat,)
        legal = match.legal_moves(seat)
        if account.moves % every == 0:
            check_position(match, account)
            assert sorted(legal) == account.legal()
            assert match.legal_moves(1 - seat) == []
        steps = [move for move in legal if move[-1] not in "hv"]
        assert steps, "nobody ever has to pass"
        assert set(steps) == account.steps(seat)
        builds = [move for move in legal if move[-1] in "hv"]
        move = rng.choice(builds if builds and rng.random() < (0.7 if hasty else 0.2) else steps)
        match.apply({seat: move})
        account.play(move)
        if move in steps and int(move[1:]) == account.goal(seat) and account.moves < limit:
            winner = MARKS[seat]
    check_position(match, account)
    assert match.to_move() == ()
    assert match.returns() == {"x": (1.0, -1.0), "o": (-1.0, 1.0), "": (0.0, 0.0)}[winner]
    assert f"The game is over: {f'{winner} wins' if winner else 'a draw'}." in match.observe(1).text
    return winner


@given(st.integers(3, 6), st.integers(0, 20), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=10)
def test_play_agrees_with_the_rules_model(size: int, walls: int, rng: random.Random, hasty: bool) -> None:
    play(size, walls, rng, hasty=hasty, every=5)


def test_random_play_reaches_all_endings() -> None:
    assert {play(5, 4, random.Random(seed), hasty=True, every=50) for seed in range(12)} == {"x", "o", ""}


@pytest.mark.parametrize(("size", "walls"), [(3, 0), (3, 20), (11, 0), (11, 20), (8, 10)])
def test_extreme_boards_are_playable(size: int, walls: int) -> None:
    play(size, walls, random.Random(1), hasty=True, every=45)


def test_parameter_ranges_are_enforced() -> None:
    ranges = {p.name: (p.low, p.high) for p in host().game("quoridor").parameters}
    assert ranges == {"board_size": (3, 11), "wall_count": (0, 20)}
    for params in ({"board_size": 2}, {"board_size": 12}, {"wall_count": -1}, {"wall_count": 21}):
        with pytest.raises(BadParameter, match="must be"):
            load_game("quoridor", **params)


@pytest.mark.parametrize("example", host().game("quoridor").examples, ids=str)
def test_prompts_tell_each_seat_its_side(example: dict[str, int]) -> None:
    game: OpenSpielGame = load_game("quoridor", **example)  # type: ignore[arg-type, assignment]
    size, walls = game.params["board_size"], game.params["wall_count"]
    account = RulesModel(size, walls)
    for seat in (0, 1):
        rules, compact, goal = game.rules(seat), game.rules(seat, "compact"), account.goal(seat)
        order = ("first", "second")[seat]
        assert rules.endswith(f"You play {MARKS[seat]}, move {order} and must reach row {goal}.\n")
        assert compact.endswith(f"you are {MARKS[seat]} and win on row {goal}\n")
        assert f"draw after {game.max_decisions} moves of both players" in compact
        assert f"Each player has {walls} walls." in rules
        assert f"x has a pawn on {account.pawns[0]} and wins by reaching any square of row {size}" in rules
        assert f"o has one on {account.pawns[1]} and wins by reaching row 1" in rules


def load(name: str, moves: str) -> OpenSpielMatch:
    events = [Event(i % 2, move) for i, move in enumerate(moves.split())]
    return load_game(name).load(events)  # type: ignore[return-value]


def steps(match: OpenSpielMatch, seat: int) -> set[str]:
    return {move for move in match.legal_moves(seat) if move[-1] not in "hv"}


def test_jumps_go_straight_or_else_aside() -> None:
    face = "c2 c4 c3"
    assert steps(load("quoridor(board_size=5)", face), 1) == {"c2", "b4", "d4", "c5"}
    assert steps(load("quoridor(board_size=5)", f"{face} a1h c1h"), 1) == {"c2", "b4", "d4", "c5"}
    behind = f"{face} c2h"
    assert steps(load("quoridor(board_size=5)", f"{behind} a1v"), 1) == {"b3", "d3", "b4", "d4", "c5"}
    beside_it = f"{behind} b3v"  # also between c3 and b3
    assert steps(load("quoridor(board_size=5)", beside_it), 1) == {"d3", "d4", "c5"}
    edge = load("quoridor(board_size=3,wall_count=1)", "b2 a3 b1 a2 b2 b2v")
    assert steps(edge, 0) == {"a1", "a3", "b1", "b3"}


def test_move_limit_draws_even_at_the_goal() -> None:
    _, _, limit = begin(3, 0)
    x, o = ["a1", "b1"] * 9, [*["a3", "b3"] * 8, "b2", "a1"]
    moves = [move for pair in zip(x, o, strict=True) for move in pair]
    assert limit == len(moves)
    match = load("quoridor(board_size=3,wall_count=0)", " ".join(moves))
    assert match.to_move() == ()
    assert match.returns() == (0.0, 0.0)
    sooner = load("quoridor(board_size=3,wall_count=0)", " ".join(moves[4:]))
    assert sooner.returns() == (-1.0, 1.0)


def test_tensor_shows_the_side_and_the_moves() -> None:
    match = load("quoridor(board_size=3,wall_count=1)", "a1 a2h")
    for seat in (0, 1):
        tensor = match.tensor(seat)
        assert tensor.shape == match.game.tensor_shape == (7, 5, 5)
        assert (tensor[5] == seat).all()
        assert tensor[6] == pytest.approx(2 / 36)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("e2", "move"),
        ("a1h", "move"),
        ("h8v", "move"),
        ("e3", "illegal"),
        ("i9", "illegal"),
        ("i1h", "unparsable"),
        ("a9v", "unparsable"),
        ("ha1", "unparsable"),
        ("up", "unparsable"),
    ],
)
def test_replies_are_classified(reply: str, kind: str) -> None:
    match = load_game("quoridor").new(0)
    assert read_reply(reply, match.legal_moves(0), READERS["move"], match.game.move_pattern).kind == kind
    if kind != "move":
        with pytest.raises(IllegalMove):
            match.apply({0: reply})
