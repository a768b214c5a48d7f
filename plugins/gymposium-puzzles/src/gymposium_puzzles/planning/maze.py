"""Maze: find the shortest way to the goal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from gymposium.games.pictures import Picture, draw_disc, draw_grid, draw_note, draw_tile
from gymposium.games.rules import Event, Style, make_game_factory
from gymposium.util.streams import Draw
from gymposium_puzzles.puzzle import Attempt, Puzzle

_STEPS = {"move up": (-1, 0), "move down": (1, 0), "move left": (0, -1), "move right": (0, 1)}
MOVES = tuple(_STEPS)
WALL, FREE, GOAL = "#.G"
DOUBLE_T = (
    "#############",
    "#.....#.....#",
    "###.#####.###",
    "###.#####.###",
    "###.#####.###",
    "###.......###",
    "######.######",
    "######.######",
    "######G######",
    "#############",
)
"""The double-T maze of LMRL-Gym."""


class Place(NamedTuple):
    """A position."""

    maze: tuple[str, ...]
    """The squares, row by row."""
    row: int
    column: int


def step(place: Place, move: str) -> Place:
    """Return the position after a move. Walls stop it."""
    down, right = _STEPS[move]
    after = Place(place.maze, place.row + down, place.column + right)
    return place if after.maze[after.row][after.column] == WALL else after


@lru_cache(maxsize=256)
def compute_distances(maze: tuple[str, ...]) -> dict[Place, int]:
    """Return the number of moves to the goal from each free square."""
    goals = [Place(maze, row, line.index(GOAL)) for row, line in enumerate(maze) if GOAL in line]
    distances = dict.fromkeys(goals, 0)
    queue = list(distances)  # grows while it is read, nearest squares first
    for place in queue:
        for move in MOVES:
            after = step(place, move)
            if after not in distances:
                distances[after] = distances[place] + 1
                queue.append(after)
    return distances


def make_maze(size: int, draw: Draw) -> tuple[str, ...]:
    """Return a perfect maze: a random spanning tree of `size` times `size` squares, two apart, and a random goal."""
    squares = [[WALL] * (2 * size + 1) for _ in range(2 * size + 1)]
    path = [(1 + 2 * draw.below(size), 1 + 2 * draw.below(size))]
    squares[path[0][0]][path[0][1]] = GOAL
    while path:
        row, column = path[-1]
        steps = [
            (down, right)
            for down, right in _STEPS.values()
            if 0 < row + 2 * down < 2 * size
            and 0 < column + 2 * right < 2 * size
            and squares[row + 2 * down][column + 2 * right] == WALL
        ]
        if not steps:
            path.pop()
            continue
        down, right = draw.pick(steps)
        squares[row + down][column + right] = squares[row + 2 * down][column + 2 * right] = FREE
        path.append((row + 2 * down, column + 2 * right))
    return tuple(map("".join, squares))


class Maze(Puzzle[Place]):
    """Rules of mazes. The solver takes a shortest path."""

    name = "maze"
    moves = MOVES

    def __init__(self, kind: Literal["random", "double_t"], size: int, turns: int) -> None:
        super().__init__(turns)
        self.kind, self.size = kind, size
        self.utility_range = (-float(turns), 0.0)

    def generate(self, draw: Draw) -> Place:
        maze = DOUBLE_T if self.kind == "double_t" else make_maze(self.size, draw)
        return draw.pick([place for place, distance in compute_distances(maze).items() if 0 < distance <= self.turns])

    def list_moves(self, position: Place) -> Sequence[str]:
        return MOVES

    def step(self, position: Place, move: str) -> Place:
        return step(position, move)

    def is_solved(self, position: Place) -> bool:
        return position.maze[position.row][position.column] == GOAL

    def score(self, attempt: Attempt[Place]) -> float:
        """Return -1 for each move that does not reach the goal."""
        return super().score(attempt) - attempt.made

    def choose(self, position: Place) -> str:
        distances = compute_distances(position.maze)
        return min(MOVES, key=lambda move: distances[step(position, move)])

    def explain(self) -> str:
        return (
            f"A maze. P is you, G the goal, {WALL} a wall and {FREE} free. A move into a wall leaves you where you "
            "are. Each move that does not reach the goal scores -1. The game ends at the goal."
        )

    def describe(self, position: Place, style: Style) -> str:
        return "".join(f"{' '.join(row)}\n" for row in _list_rows(position))

    def draw_picture(self, attempt: Attempt[Place], seat: int, events: Sequence[Event]) -> Picture:
        if attempt.position is None:
            return Picture.from_parts(draw_note("Maze"), told="Maze")
        rows = _list_rows(attempt.position)
        looks = {WALL: draw_tile("", "black", "ink"), GOAL: draw_tile("G", "mark", "ink"), "P": draw_disc("two")}
        board = draw_grid(rows, looks)
        note = draw_note(f"Moves left: {self.turns - attempt.made}")
        return Picture.from_parts(board, note, told=f"The maze, row by row: {'; '.join(map(' '.join, rows))}")


def _list_rows(place: Place) -> list[list[str]]:
    rows = [[*row] for row in place.maze]
    rows[place.row][place.column] = "P"
    return rows


game = make_game_factory(Maze)
