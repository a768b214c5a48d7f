"""Random play of plain and disguised games in step, and their optima."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import KeptRows, Row, table
from gymposium import load_game
from gymposium.analysis.exact import compute_optima_against_random
from gymposium.analysis.exact.equilibrium import compute_average_policy
from gymposium.games.protocol import Game
from gymposium_disguises import DISGUISES
from gymposium_testing.in_step import GameComparison

SEEDS = range(1, 11)
"""The disguises of each game."""
ITERATIONS = 20
"""Iterations of CFR+ for the policies of games that hide something."""
VERSIONS = ("gymposium", "open_spiel")

SOLVED: Mapping[str, Mapping[str, Any]] = {
    "clobber": {"rows": 3, "columns": 4},
    "dark_hex": {"num_rows": 2, "num_cols": 3},
    "dots_and_boxes": {"num_rows": 2, "num_cols": 2},
    "goofspiel": {"num_cards": 4},
    "hex": {"board_size": 3},
    "kuhn_poker": {},
    "leduc_poker": {},
    "liars_dice": {},
    "tic_tac_toe": {},
    "y": {"board_size": 3},
}
"""Parameters of games that are small enough to be solved."""


def optimum(game: Game) -> Any:
    """Return the best results against random play, or a policy near an equilibrium if the game hides something."""
    if game.spec.information == "imperfect":
        return compute_average_policy(game, ITERATIONS)
    return compute_optima_against_random(game)


def walked(name: str, positions: int) -> Row:
    """Compare one game with its disguises. Raises `CheckFailed` at the first difference."""
    each = [GameComparison(load_game(name), load_game(name, disguise=seed), seed) for seed in SEEDS]
    for number, walks in enumerate(each):
        walks.play(positions // len(each) + (number < positions % len(each)))
    solved = None
    if name in SOLVED:
        plain, *others = [optimum(load_game(name, **SOLVED[name], disguise=seed)) for seed in (0, 1, 2)]
        solved = all(other == plain for other in others)
    return {
        "game": name,
        "positions": sum(walks.positions for walks in each),
        "matches": sum(walks.matches for walks in each),
        "moves": sum(len(walks.moves.forward) for walks in each),
        "views": sum(len(walks.views.forward) for walks in each),
        "optimum": solved,
    }


def text(rows: Sequence[Row]) -> str:
    """Return the table and its verdict, as Markdown."""
    optima = {None: "–", True: "equal", False: "DIFFERENT"}
    lines = [
        [row["game"], *(f"{row[key]:,}" for key in ("positions", "matches", "moves", "views")), optima[row["optimum"]]]
        for row in rows
    ]
    solved = [row["optimum"] for row in rows if row["optimum"] is not None]
    return (
        table(["game", "positions", "matches", "moves", "views", "optimum"], lines)
        + f"\n{len(rows)} of {len(DISGUISES)} games; no difference at any position. Each game was compared with "
        f"{len(SEEDS)} disguises, in its default size. The optimum of {sum(solved)} of {len(solved)} solved games is "
        f"equal.\n\nmoves, views: different ones met, summed over the disguises.\n"
    )


def run_walks(out: Path, positions: int) -> None:
    """Compare the games without results, and write the results after each."""
    kept = KeptRows(out, "disguises-walks", VERSIONS, text)
    for name in DISGUISES:
        if any(row["game"] == name and row["positions"] >= positions for row in kept.rows):
            continue
        kept.remove({"game": name})
        kept.add(walked(name, positions), key=lambda row: str(row["game"]))
    kept.show()
