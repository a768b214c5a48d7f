"""Puzzles of moves in the right order. `GAMES` lists their specs."""

from __future__ import annotations

from functools import partial

from gymposium import GameSpec, Parameter

_Puzzle = partial(GameSpec, family="puzzles", seats=1, chance=True, utility="score")

GAMES = (
    _Puzzle(
        name="hanoi",
        title="Tower of Hanoi",
        summary="Bring a tower of disks to another peg, never a larger disk onto a smaller one.",
        entry_point="gymposium_puzzles.planning.hanoi:game",
        parameters=(
            Parameter(name="disks", default=3, low=1, high=10, help="Number of disks."),
            Parameter(
                name="turns",
                default=0,
                low=0,
                high=2000,
                help="Maximum number of moves. 0: a third more than the shortest solution, and one.",
            ),
        ),
        presets={"GEM easy": {"disks": 3, "turns": 10}, "GEM hard": {"disks": 5, "turns": 35}},
        examples=({}, {"disks": 2, "turns": 4}),
        best_play="The shortest solution has 2^disks - 1 moves. Every position has a solution.",
    ),
    _Puzzle(
        name="peg_jump",
        title="Peg jump",
        summary="Jump over pegs on a triangle until one is left.",
        entry_point="gymposium_puzzles.planning.peg_jump:game",
        parameters=(
            Parameter(name="side", default=5, low=4, high=6, help="Holes along each side of the triangle."),
            Parameter(name="pegs", default=8, low=2, high=9, help="Number of pegs at the start."),
        ),
        examples=({}, {"side": 4, "pegs": 5}),
        best_play="Instances are made backwards from a single peg, so each has a solution, which the solver finds.",
    ),
    _Puzzle(
        name="frozen_lake",
        title="Frozen lake",
        summary="Cross slippery ice to the goal without falling into a hole.",
        entry_point="gymposium_puzzles.planning.frozen_lake:game",
        parameters=(
            Parameter(name="size", default=4, low=4, high=8, help="Rows and columns of the lake."),
            Parameter(
                name="layout",
                default="random",
                choices=("random", "classic"),
                help="A random lake with 80% of its squares frozen, or Gymnasium's lake of 4 or 8 rows.",
            ),
            Parameter(name="slippery", default=True, help="Whether moves slip."),
            Parameter(name="turns", default=100, low=1, high=200, help="Maximum number of moves."),
        ),
        presets={
            "RAGEN": {"size": 4, "turns": 10},
            "Gymnasium 4x4": {"size": 4, "layout": "classic", "turns": 100},
            "Gymnasium 8x8": {"size": 8, "layout": "classic", "turns": 200},
        },
        examples=({}, {"size": 5, "slippery": False, "turns": 12}),
        best_play=(
            "The solver plays optimally, by value iteration. It crosses Gymnasium's lake of 4 rows in "
            "0.744 of its matches. Every random lake has a path to the goal."
        ),
    ),
    _Puzzle(
        name="bandit",
        title="Bandit",
        summary="Pull arms whose payoffs are unknown, for the highest sum.",
        entry_point="gymposium_puzzles.planning.bandit:game",
        information="imperfect",
        parameters=(
            Parameter(
                name="kind",
                default="drawn",
                choices=("drawn", "sure"),
                help="Arms with drawn probabilities, or one that surely pays 0.1 and one that pays 1 in a quarter.",
            ),
            Parameter(name="arms", default=2, low=2, high=10, help="Number of arms."),
            Parameter(name="pulls", default=20, low=1, high=200, help="Number of pulls."),
        ),
        presets={"RAGEN": {"kind": "sure", "pulls": 1}},
        examples=({}, {"kind": "sure", "pulls": 5}),
        best_play=(
            "With a sure arm, the best sum is 0.175 for the first pull and 0.25 for each later one. With drawn "
            "arms, the solver looks one pull ahead, which is close to the best."
        ),
    ),
    _Puzzle(
        name="fifteen",
        title="Fifteen puzzle",
        summary="Slide numbered tiles into order.",
        entry_point="gymposium_puzzles.planning.fifteen:game",
        parameters=(
            Parameter(name="size", default=3, low=2, high=4, help="Rows and columns."),
            Parameter(name="mixed", default=16, low=1, high=24, help="Number of slides that mix the tiles."),
            Parameter(name="turns", default=0, low=0, high=200, help="Maximum number of moves. 0: twice the slides."),
        ),
        presets={
            "GEM easy": {"size": 2, "mixed": 6, "turns": 10},
            "GEM hard": {"size": 4, "mixed": 24, "turns": 50},
        },
        examples=({}, {"size": 2, "mixed": 5, "turns": 10}),
        best_play="Mixed by slides from the goal, each instance has a solution. The solver's is shortest (IDA*).",
    ),
    _Puzzle(
        name="maze",
        title="Maze",
        summary="Find the shortest way to the goal.",
        entry_point="gymposium_puzzles.planning.maze:game",
        parameters=(
            Parameter(
                name="kind",
                default="random",
                choices=("random", "double_t"),
                help="A random maze without loops, or the double-T maze of LMRL-Gym.",
            ),
            Parameter(name="size", default=5, low=2, high=10, help="Squares along each side of a random maze."),
            Parameter(name="turns", default=100, low=1, high=400, help="Maximum number of moves."),
        ),
        presets={"LMRL-Gym": {"kind": "double_t", "turns": 100}},
        examples=({}, {"kind": "double_t"}),
        best_play=(
            "The solver takes a shortest path. In the double-T maze its mean is -6.84 over all starts. A random maze "
            "is a spanning tree, and its start is at most the maximum number of moves away from the goal."
        ),
    ),
)
