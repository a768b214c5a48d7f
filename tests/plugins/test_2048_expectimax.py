"""`expectimax-D` for 2048: tables and search match simple implementations, and playing strength."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest

from gymposium import load_game, make_player
from gymposium.errors import GymposiumError, UnknownName
from gymposium.games.protocol import Game, Match
from gymposium.match import MatchJob, MatchResult, play
from gymposium.players.protocol import Ask, MatchContext
from gymposium_2048.expectimax import ExpectimaxPlayer, make_board
from gymposium_2048.rows import EMPTY, ORDER, PAIR, TILES, LineTables, compute_tables
from gymposium_2048.search import END, compute_values

Line = tuple[int, ...]
Board = tuple[Line, ...]
"""Rows of ranks."""
MOVES = ["up", "right", "down", "left"]


@pytest.fixture(scope="module")
def tables() -> LineTables:
    return compute_tables()


# -- a plain account


@cache
def slide(line: Line) -> Line:
    """Slide a line towards its first square. Two tiles of rank 15 merge into one of rank 15."""
    tiles, merged = [rank for rank in line if rank], []
    while tiles:
        rank = tiles.pop(0)
        if tiles and tiles[0] == rank:
            rank = min(tiles.pop(0) + 1, 15)
        merged.append(rank)
    return (*merged, *[0] * (4 - len(merged)))


@cache
def compute_line_worth(line: Line) -> int:
    tiles = [rank for rank in line if rank]
    pairs = sum(a == b for a, b in pairwise(tiles))
    steps = [b**4 - a**4 for a, b in pairwise(line)]
    against = min(sum(step for step in steps if step > 0), -sum(step for step in steps if step < 0))
    return EMPTY * line.count(0) + PAIR * pairs - ORDER * against - TILES * sum(rank**3 for rank in line)


def transpose(board: Board) -> Board:
    return tuple(zip(*board))


def move_board(board: Board, move: str) -> Board:
    lines = transpose(board) if move in ("up", "down") else board
    lines = tuple(slide(line) if move in ("up", "left") else slide(line[::-1])[::-1] for line in lines)
    return transpose(lines) if move in ("up", "down") else lines


def brute_force(board: Board, moves: int, last: int) -> list[float]:
    """Return the value of each move, with all new tiles, however unlikely."""
    return [
        compute_after_worth(after, moves - 1, last) if (after := move_board(board, move)) != board else -np.inf
        for move in MOVES
    ]


def compute_after_worth(after: Board, moves: int, last: int) -> float:
    if any(last in row for row in after):
        return END + moves
    if moves == 0:
        return sum(map(compute_line_worth, (*after, *transpose(after))))
    empty = [(i, j) for i in range(4) for j in range(4) if after[i][j] == 0]
    total = 0.0
    for i, j in empty:
        for rank, chance in ((1, 0.9), (2, 0.1)):
            born = tuple(tuple(rank if (i, j) == (k, m) else after[k][m] for m in range(4)) for k in range(4))
            total += chance * max(-END, *brute_force(born, moves, last))
    return total / len(empty)


def draw_board(rng: random.Random, empty: int, most: int) -> Board:
    cells = [0] * empty + [rng.randint(1, most) for _ in range(16 - empty)]
    rng.shuffle(cells)
    return tuple(tuple(cells[i : i + 4]) for i in range(0, 16, 4))


def pack(board: Board) -> np.uint64:
    return np.uint64(sum(rank << 4 * square for square, rank in enumerate(sum(board, ()))))


# -- tables and search


def test_tables_match_a_simple_implementation(tables: LineTables) -> None:
    for number, (first, end, worth) in enumerate(zip(*(table.tolist() for table in tables))):
        line = tuple(number >> shift & 15 for shift in (0, 4, 8, 12))
        assert tuple(first >> shift & 15 for shift in (0, 4, 8, 12)) == slide(line)
        assert tuple(end >> shift & 15 for shift in (12, 8, 4, 0)) == slide(line[::-1])
        assert worth == compute_line_worth(line)


def test_board_values_stay_between_loss_and_goal(tables: LineTables) -> None:
    assert -END < 8 * tables.worth.min() < 8 * tables.worth.max() < END


@pytest.mark.slow
@pytest.mark.parametrize("moves", [1, 2])
def test_search_matches_brute_force_expectimax(tables: LineTables, moves: int) -> None:
    rng = random.Random(moves)
    for empty in [0, 0, 1, 2, 3, 5, 8, 12, 14]:
        board = draw_board(rng, empty, rng.choice([3, 6, 9, 15]))
        expected = brute_force(board, moves, 11)
        assert compute_values(pack(board), moves, 11, tables).tolist() == pytest.approx(expected)


def test_three_move_search_is_exact_without_pruning(tables: LineTables) -> None:
    rng = random.Random(3)
    for empty in (0, 1, 1, 2):
        board = draw_board(rng, empty, 5)
        assert compute_values(pack(board), 3, 6, tables).tolist() == pytest.approx(brute_force(board, 3, 6))


def test_final_tile_is_made_at_once(tables: LineTables) -> None:
    rng = random.Random(4)
    for last in range(3, 16):
        board = [list(row) for row in draw_board(rng, 6, last - 2)]
        board[1][1] = board[1][2] = last - 1
        found = compute_values(pack(tuple(map(tuple, board))), 2, last, tables)
        assert [found[MOVES.index(move)] for move in ("left", "right")] == [END + 1] * 2


# -- the player


class Position:
    """Match of 2048 at a given board. Some of these boards take too long to reach by playing."""

    def __init__(self, tiles: list[list[int]], max_tile: int = 2048) -> None:
        self.game: Game = load_game("2048", max_tile=max_tile)
        self._tiles = tiles

    def tensor(self, seat: int) -> np.ndarray:
        return np.array(self._tiles, dtype=np.float32)

    def legal_actions(self, seat: int) -> list[int]:
        board = tuple(tuple(tile.bit_length() - 1 if tile else 0 for tile in row) for row in self._tiles)
        return [action for action, move in enumerate(MOVES) if move_board(board, move) != board]

    def legal_moves(self, seat: int) -> list[str]:
        return [MOVES[action] for action in self.legal_actions(seat)]


def ask(position: Position) -> Ask:
    return Ask(MatchContext(cast(Match, position), "m", 0), 0, 0)


def test_moves_are_legal_up_to_the_largest_tiles() -> None:
    """65536 beside 32768 looks like a pair to the search, but is none."""
    rng, player = random.Random(5), ExpectimaxPlayer(2)
    asks = [
        ask(Position([[2**rank if rank else 0 for rank in row] for row in board], 131072))
        for board in (draw_board(rng, empty, 16) for empty in (0, 0, 0, 0, 1, 2, 4) for _ in range(20))
    ]
    asks = [one for one in asks if one.legal_actions]
    asks.append(ask(Position([[65536, 32768, 2, 4], [8, 16, 32, 64], [128, 256, 512, 1024], [2, 4, 8, 8]], 131072)))
    replies = player.act(asks)
    assert len(asks) > 100
    assert all(reply.text in (one.legal_moves or ()) for one, reply in zip(asks, replies, strict=True))
    assert replies[-1].text in ("left", "right")


def test_boards_are_packed_by_square() -> None:
    tiles = [[0, 2, 4, 8], [16, 32, 64, 128], [256, 512, 1024, 2048], [4096, 8192, 16384, 65536]]
    assert int(make_board(np.array(tiles, dtype=np.float32))) == 0xFEDCBA9876543210


def test_ties_are_broken_in_engine_order() -> None:
    corner = Position([[2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2]])
    [reply] = ExpectimaxPlayer(1).act([ask(corner)])
    assert reply.text == "up"


def matches(game: str, player: Any, count: int) -> Iterator[MatchResult]:
    loaded = load_game(game)
    return play(MatchJob(str(seed), loaded, [player] * loaded.seats, seed) for seed in range(count))


def test_distributions_put_all_probability_on_the_move() -> None:
    player, match = ExpectimaxPlayer(1), load_game("2048").new(0)
    ask = MatchContext(match, "match", 0).ask(0)
    [found], [reply] = player.distributions([ask]), player.act([ask])
    assert dict(zip(found.moves, found.probabilities, strict=True))[reply.text] == 1.0
    assert sum(found.probabilities) == 1.0


def test_matches_do_not_depend_on_the_batch() -> None:
    together = [played.events for played in matches("2048(max_tile=128)", make_player("expectimax-2"), 4)]
    job = MatchJob("3", load_game("2048(max_tile=128)"), [make_player("expectimax-2")], 3)
    assert next(iter(play([job]))).events in together


def find_largest_tile(played: MatchResult) -> int:
    assert played.ending.seat is None
    return int(played.job.game.load(played.events).tensor(0).max())


def test_two_moves_of_lookahead_make_large_tiles() -> None:
    assert min(find_largest_tile(played) for played in matches("2048", make_player("expectimax-2"), 3)) >= 512


@pytest.mark.parametrize("power", range(3, 18))
def test_plays_up_to_every_max_tile(power: int) -> None:
    [played] = matches(f"2048(max_tile={2**power})", make_player("expectimax-1"), 1)
    assert find_largest_tile(played) >= min(2**power, 128)


@pytest.mark.parametrize("game", ["tic_tac_toe", "openspiel:2048"])
def test_refuses_other_games(game: str) -> None:
    with pytest.raises(GymposiumError, match="expectimax-2 plays only 2048"):
        next(matches(game, make_player("expectimax-2"), 1))


@pytest.mark.parametrize("wrong", ["expectimax", "expectimax-0", "expectimax-7", "expectimax-12"])
def test_unsupported_lookahead_is_refused(wrong: str) -> None:
    with pytest.raises(UnknownName, match="expectimax-D"):
        make_player(wrong)


def test_numba_is_imported_lazily() -> None:
    program = "import sys, gymposium; gymposium.make_player('expectimax-2'); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
