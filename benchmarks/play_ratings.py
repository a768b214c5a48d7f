"""How often the interval of the play rating holds the truth, where replies fail.

Four made-up players of tic-tac-toe, between random and perfect play, meet on boards of 40 deals a pairing, each deal
from both seats. Two of them fail to reply: always alike, more often late in the match, more often the longer the view
is, or more often in lost positions; and in one world more often where the move would have been a mistake, which breaks
the assumption of the rating. The truth is the rating of the policies without failures, from exact results. Beside it
stand the plain rating, which counts forfeits as losses, and the rating from completed matches without weights.

Each row is saved when it is done, so the same command resumes after Ctrl-C. (Ten minutes of one core.)
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.report import RESULTS, KeptRows, Row, table
from gymposium import load_game
from gymposium.analysis.exact import Policy, compute_value
from gymposium.analysis.exact.graph import OVER, Graph, build_graph
from gymposium.players.distribution import MoveDistribution
from gymposium.util.streams import stream
from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.bootstrap import compute_interval, draw_deal_weights, make_generator
from gymposium_arena.ratings.comparisons import compare_players
from gymposium_arena.ratings.completed import Decisions, compute_effective_number, weight_completed_matches
from gymposium_arena.ratings.evidence import sum_game
from gymposium_arena.ratings.fit import POINTS, fit_ratings
from gymposium_arena.ratings.newton import fit_many

SKILLS = (0.0, 0.3, 0.6, 0.9)
"""Shares of perfect play; the rest is random. The first player is rated 0."""
NAMES = ("random", "a", "b", "c")
FAIL = (1, 3)
"""The players whose replies fail."""
DEALS, REPEATS, SAMPLES = 40, 200, 200
LEAST = 0.92
VERSIONS = ("gymposium", "numpy", "open_spiel")


@dataclass(frozen=True, slots=True)
class Seen:
    """A decision, as input of a failure rule."""

    turn: int
    length: float
    worth: float
    """The minimax value for the seat to move."""
    mistake: bool
    """Whether the move would give something away."""


WORLDS: dict[str, Callable[[Seen], float]] = {
    "never": lambda seen: 0.0,
    "always alike, 0.15": lambda seen: 0.15,
    "always alike, 0.3": lambda seen: 0.3,
    "by turn, 0.02 to 0.3": lambda seen: min(0.3, 0.02 + 0.07 * seen.turn),
    "by length, 0 to 0.3": lambda seen: min(0.3, max(0.0, (seen.length - 100) / 400)),
    "in lost positions 0.3, else 0.03": lambda seen: 0.3 if seen.worth < 0 else 0.03,
    "where the move is a mistake 0.3, else 0.03": lambda seen: 0.3 if seen.mistake else 0.03,
}
BREAKS = "where the move is a mistake 0.3, else 0.03"


@cache
def solved() -> tuple[Graph, list[float]]:
    """Return all positions of tic-tac-toe, with their minimax values for the first seat."""
    graph = build_graph(load_game("tic_tac_toe"))
    values = [0.0] * len(graph.positions)
    for i in reversed(range(len(graph.positions))):
        position = graph.positions[i]
        if position.seat == OVER:
            values[i] = position.returns[0]
        else:
            values[i] = (max if position.seat == 0 else min)(values[child] for child in position.children)
    return graph, values


@cache
def make_policy(skill: float) -> Policy:
    """Return the policy that plays perfectly with this probability, and at random otherwise."""
    graph, values = solved()
    found = {}
    for i, position in enumerate(graph.positions):
        if position.seat >= 0:
            best = [values[child] == values[i] for child in position.children]
            odds = [(1 - skill) / len(best) + skill * one / sum(best) for one in best]
            found[position.seat, position.view] = MoveDistribution(position.moves, tuple(odds), 1.0, None)
    return Policy(graph.game, f"skill {skill}", found)


@cache
def truth() -> list[float]:
    """Return the ratings of the policies from infinitely many matches without failures."""
    points = np.zeros((len(SKILLS), len(SKILLS)))
    for one, other in combinations(range(len(SKILLS)), 2):
        mean = compute_value(make_policy(SKILLS[one]), make_policy(SKILLS[other])).mean
        points[one, other] = 1e6 * (mean.win + mean.draw / 2)
        points[other, one] = 1e6 - points[one, other]
    strengths = fit_many(points[None])[0]
    return [float(POINTS * (one - strengths[0])) for one in strengths]


@dataclass(slots=True)
class Board:
    """The matches and decisions of a simulated board."""

    outcomes: list[MatchOutcome]
    rows: list[tuple[int, int, int, tuple[float, ...], bool]]
    """Match, deal, player, features and failure of each decision."""


def simulated(fails: Callable[[Seen], float], rng: random.Random) -> Board:
    """Return one board in a world."""
    graph, values = solved()
    board = Board([], [])
    for deal in range(DEALS):
        for pair in combinations(range(len(SKILLS)), 2):
            for seats in (pair, pair[::-1]):
                here, ply, match = 0, 0, len(board.outcomes)
                forfeit: int | None = None
                while (position := graph.positions[here]).seat != OVER:
                    seat, player = position.seat, seats[position.seat]
                    odds = make_policy(SKILLS[player]).table[seat, position.view].probabilities
                    (move,) = rng.choices(range(len(odds)), odds)
                    sign = 1 if seat == 0 else -1
                    worth = sign * values[here]
                    length = 80 + 20 * ply + 30 * rng.random()
                    mistake = sign * values[position.children[move]] < worth
                    failed = player in FAIL and rng.random() < fails(Seen(ply // 2, length, worth, mistake))
                    features = (float(ply // 2), np.log1p(length), float(len(odds)), float(seat), worth)
                    board.rows.append((match, deal, player, features, failed))
                    if failed:
                        forfeit = seat
                        break
                    here, ply = position.children[move], ply + 1
                returns = graph.positions[here].returns
                if forfeit is not None:
                    returns = tuple(-1.0 if seat == forfeit else 1.0 for seat in (0, 1))
                names = tuple(NAMES[player] for player in seats)
                board.outcomes.append(MatchOutcome("", str(deal), names, returns, forfeit, str(match)))
    return board


def measured(world: str, repeats: int) -> Row:
    """Return one world: for each rating method the share of intervals that contain the truth, and the median width."""
    ways = ("plain", "unweighted", "play")
    held, widths, errors = ({way: list[float]() for way in ways} for _ in range(3))
    sizes = []
    for repeat in range(repeats):
        board = simulated(WORLDS[world], stream(repeat, world))
        match, deal, player, features, failed = zip(*board.rows, strict=True)
        found = weight_completed_matches(
            Decisions(np.array(match), np.array(deal), np.array(player), np.array(features), np.array(failed)),
            len(board.outcomes),
            len(NAMES),
        )
        sizes.append(compute_effective_number(found.weights) / len(board.outcomes))
        for way in ways:
            weights = {
                "plain": np.ones(len(board.outcomes)),
                "unweighted": (found.weights > 0).astype(float),
                "play": found.weights,
            }[way]
            counted = compare_players(board.outcomes, NAMES, weights)
            alike = compute_effective_number(
                np.bincount([int(one.group) for one in board.outcomes], weights, minlength=DEALS).astype(float)
            )
            ratings = fit_ratings(
                sum_game(counted, draw_deal_weights(make_generator(repeat, "play"), SAMPLES, DEALS, alike)),
                make_generator(repeat, "prior"),
            )
            low, high = compute_interval(ratings.samples)
            for number in FAIL:
                held[way].append(float(low[number] <= truth()[number] <= high[number]))
                widths[way].append(float(high[number] - low[number]))
                errors[way].append(float(ratings.values[number] - truth()[number]))
    return {
        "world": world,
        "held": {way: sum(held[way]) / len(held[way]) for way in ways},
        "width": {way: median(widths[way]) for way in ways},
        "error": {way: sum(errors[way]) / len(errors[way]) for way in ways},
        "effective": median(sizes),
    }


def text(rows: Sequence[Row]) -> str:
    """Return the table and its verdict, as Markdown."""
    head = [
        "replies fail",
        "play: held",
        "error",
        "width",
        "effective",
        "unweighted: held",
        "error",
        "plain: held",
        "error",
    ]
    lines = [
        [
            row["world"],
            f"{row['held']['play']:.3f}",
            f"{row['error']['play']:+.0f}",
            f"{row['width']['play']:.0f}",
            f"{row['effective']:.2f}",
            f"{row['held']['unweighted']:.3f}",
            f"{row['error']['unweighted']:+.0f}",
            f"{row['held']['plain']:.3f}",
            f"{row['error']['plain']:+.0f}",
        ]
        for row in rows
    ]
    kept = [row["held"]["play"] for row in rows if row["world"] != BREAKS]
    verdict = f"Intervals of the play rating that hold the truth: {min(kept, default=1.0):.3f} at least ({LEAST} asked)"
    return (
        table(head, lines)
        + f"\n{verdict}, where the assumption holds. In the last world it is broken.\n\nerror: mean, in Elo points. "
        "width: median. effective: effective number of matches, as a share of all.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.play_ratings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="boards of each world")
    given = parser.parse_args()
    kept = KeptRows(given.out, "play_ratings", VERSIONS, text)
    for world in WORLDS:
        if {"world": world} not in kept:
            kept.add(measured(world, given.repeats))
    kept.show()


if __name__ == "__main__":
    main()
