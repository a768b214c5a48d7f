"""How well search judges moves, and how long reviews take.

Matches of random play, of `mcts-50` and of `mcts-1000`, each against itself, are reviewed by search and by the exact
judge: in games that hide nothing and are solved, by minimax; in small games that hide something, by the table of
`cfr-1000`. The figure is the mean absolute difference of what a move gave away, as a share of the range of returns.
Search also solves the end of a match, as it does in large games, so games of several sizes are here.

Each row is saved when it is done, so the same command resumes after Ctrl-C. (Half an hour of one core.)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.report import RESULTS, KeptRows, Row, table
from gymposium import load_game, make_player
from gymposium.analysis.review import choose_judge, review_match
from gymposium.games.protocol import Game
from gymposium.match import play
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import plan_jobs
from gymposium.records import Record

OPEN = (
    *("tic_tac_toe", "hex(board_size=3)", "y(board_size=4)", "breakthrough(rows=4,columns=4)"),
    *("clobber(rows=3,columns=5)", "go(board_size=3)", "dots_and_boxes(num_rows=2,num_cols=3)"),
    "connect_four(rows=4,columns=4)",
)
"""Games that hide nothing, from 1,000 to 350,000 positions."""
HIDDEN = ("kuhn_poker", "leduc_poker", "liars_dice(dice_sides=4)", "goofspiel(num_cards=4)")
PLAYERS = ("random", "mcts-50", "mcts-1000")
SEARCHES = ("search-1000", "search-10000")
MATCHES = {"open": 16, "hidden": 40}
MOST = 0.02
"""Largest mean absolute error in games that hide nothing."""
SEED = 1
VERSIONS = ("gymposium", "open_spiel")


def measured(kind: str, name: str, player: str) -> Row:
    """Review matches of a player against itself.

    Returns the share of moves that gave something away, and each search's error and CPU seconds per match.
    """
    game = load_game(name)
    exact = choose_judge(game, "exact" if kind == "open" else "cfr-1000")
    records = list(_played(game, player, MATCHES[kind]))
    truth = [one.loss for record in records for one in review_match(record, exact).decisions]
    scale = game.utility_range[1] - game.utility_range[0]
    row: Row = {
        "kind": kind,
        "game": name,
        "player": player,
        "matches": len(records),
        "moves": len(truth),
        "lossy": sum(given > 1e-9 for given in truth) / len(truth),
        "mean": fmean(truth) / scale,
        "searches": {},
    }
    for search in SEARCHES:
        judge, begun = choose_judge(game, search), time.process_time()
        reviews = [review_match(record, judge) for record in records]
        spent = time.process_time() - begun
        found = [one.loss for review in reviews for one in review.decisions]
        assert len(found) == len(truth), "every decision is judged by both"
        errors = [abs(one - other) / scale for one, other in zip(found, truth, strict=True)]
        row["searches"][search] = {
            "error": fmean(errors),
            "bias": (fmean(found) - fmean(truth)) / scale,
            "cpu_seconds": spent / len(records),
        }
    return row


def _played(game: Game, name: str, matches: int) -> Iterator[Record]:
    players, policy = [make_player(name)] * 2, FailurePolicy("forfeit")
    seated = plan_jobs(game, players, matches, seed=SEED, swap=False, tag="review", on_illegal=policy)
    yield from map(Record.from_match, play(job for job, _ in seated))


def text(rows: Sequence[Row]) -> str:
    """Return the table and its verdict, as Markdown."""
    head = ["game", "player", "moves", "share that gave something away", "given away per move"]
    for search in SEARCHES:
        head += [f"error of {search}", "CPU s a match"]
    lines = []
    for row in rows:
        cells = [row["game"], row["player"], f"{row['moves']:,}", f"{row['lossy']:.2f}", f"{row['mean']:.3f}"]
        for search in SEARCHES:
            one = row["searches"][search]
            cells += [f"{one['error']:.4f}", f"{one['cpu_seconds']:.2f}"]
        lines.append(cells)
    return table(head, lines) + "\n" + "\n".join(_verdict(rows, search) for search in SEARCHES) + "\n"


def _verdict(rows: Sequence[Row], search: str) -> str:
    parts = []
    for kind in ("open", "hidden"):
        errors = [row["searches"][search]["error"] for row in rows if row["kind"] == kind]
        if errors:
            parts.append(f"{fmean(errors):.4f} on average and {max(errors):.4f} at most in {kind} games")
    return f"{search}: mean absolute error {'; '.join(parts)} (open: {MOST} asked).\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.review", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    kept = KeptRows(given.out, "review", VERSIONS, text)
    for kind, names in (("open", OPEN), ("hidden", HIDDEN)):
        for name in names:
            for player in PLAYERS:
                if {"game": name, "player": player} not in kept:
                    kept.add(measured(kind, name, player))
    kept.show()


if __name__ == "__main__":
    main()
