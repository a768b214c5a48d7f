"""Disguised games: whether they are the plain games in other words, and who plays both equally well.

`walks` plays random matches of a game and of its disguises in step, and compares every position: legal moves, what the
views tell apart, returns, chance and texts. Where a small size of the game is solved, the optimum is compared, too.

`play` lets players meet a random opponent in plain and in disguised games: search, which reads no words, a small model
trained on the plain game, and a pretrained model without further training.

Each row is saved when it is done, so the same command resumes after Ctrl-C.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.disguises.play import run_play
from benchmarks.disguises.walks import run_walks
from benchmarks.report import RESULTS


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.disguises",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    commands = parser.add_subparsers(required=True)
    walks = commands.add_parser("walks", help="plain and disguised games in step")
    walks.add_argument("--positions", type=int, default=100_000, help="positions of each game (default: 100000)")
    walks.set_defaults(run=lambda given: run_walks(given.out, given.positions))
    play = commands.add_parser("play", help="players in plain and disguised games")
    play.add_argument("--model", type=Path, help="directory of a pretrained model")
    play.add_argument("--matches", type=int, default=400, help="matches of search and trained models (default: 400)")
    play.add_argument("--model-matches", type=int, default=100, help="matches of the pretrained model (default: 100)")
    play.add_argument("--budget", type=int, default=310, help="CPU seconds of each training (default: 310; 0: none)")
    play.add_argument("--runs", type=Path, default=Path("runs/disguises"), help="folder of the trained models")
    play.set_defaults(
        run=lambda given: run_play(given.out, given.model, given.matches, given.model_matches, given.budget, given.runs)
    )
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
