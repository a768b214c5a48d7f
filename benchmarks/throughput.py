"""Decisions per CPU-second of a `Match` with full text, against bare pyspiel doing the same.

Both sides play uniformly random matches from one generator, and at each decision of each seat make the
text of the position and the text of every legal move, then apply one of them. Ours makes the whole prompt
(rules, position, legal moves, how to answer) and records the events; pyspiel makes its observation string
and one action string for each legal action. The ratio of the two is what counts: the machine cancels out.

One process, CPU time. The sides take turns, slice by slice, so that whatever else the machine does falls
on both; each figure is the median over the slices.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pyspiel

from benchmarks.report import RESULTS, about, table, write
from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.prompt import prompt_for
from gymposium.reading import reader
from gymposium.streams import draw

GAMES = ("tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "goofspiel", "othello", "backgammon", "gin_rummy")

Side = Callable[[int], int]
"""Plays one match from a seed; returns its number of decisions."""


def ours(game: OpenSpielGame, rng: random.Random) -> Side:
    prompt = prompt_for(game, "full", reader("move"))

    def play(seed: int) -> int:
        match = game.new(seed)
        decisions = 0
        while seats := match.to_move():
            moves = {}
            for seat in seats:
                observation = match.observe(seat)
                prompt(observation)
                legal = observation.legal_moves
                assert legal is not None
                moves[seat] = legal[int(rng.random() * len(legal))]
            match.apply(moves)
            decisions += len(seats)
        match.returns()
        return decisions

    return play


def bare(engine: pyspiel.Game, rng: random.Random) -> Side:
    players = range(engine.num_players())

    def decide(state: pyspiel.State, seat: int) -> int:
        legal: list[int] = state.legal_actions(seat)
        state.observation_string(seat)
        [state.action_to_string(seat, action) for action in legal]
        return legal[int(rng.random() * len(legal))]

    def play(seed: int) -> int:
        state = engine.new_initial_state()
        decisions = 0
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(draw(state.chance_outcomes(), rng))
            elif state.is_simultaneous_node():
                state.apply_actions([decide(state, seat) for seat in players])
                decisions += len(players)
            else:
                state.apply_action(decide(state, state.current_player()))
                decisions += 1
        state.returns()
        return decisions

    return play


def rate(play: Side, seeds: range) -> float:
    """Decisions per CPU-second over these matches."""
    start = time.process_time()
    decisions = sum(map(play, seeds))
    return decisions / (time.process_time() - start)


def matches_for(play: Side, seconds: float) -> int:
    """How many matches take about this long."""
    count, spent = 64, 0.0
    while spent < 0.05:
        count *= 2
        start = time.process_time()
        for seed in range(count):
            play(seed)
        spent = time.process_time() - start
    return max(1, round(count * seconds / spent))


def measure(name: str, repeats: int, seconds: float) -> dict[str, Any]:
    game = load_game(name)
    assert isinstance(game, OpenSpielGame)
    sides = {"match": ours(game, random.Random(0)), "pyspiel": bare(game.engine, random.Random(0))}
    counts = {side: matches_for(play, seconds) for side, play in sides.items()}
    rates: dict[str, list[float]] = {side: [] for side in sides}
    for repeat in range(repeats):
        for side in sides if repeat % 2 else reversed(sides):
            rates[side].append(rate(sides[side], range(counts[side])))
    ratios = [a / b for a, b in zip(rates["match"], rates["pyspiel"], strict=True)]
    return {
        "game": game.name,
        **{f"{side}_decisions_per_cpu_second": round(median(found)) for side, found in rates.items()},
        "ratio": round(median(ratios), 3),
        "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=GAMES, help=f"game names (default: {' '.join(GAMES)})")
    parser.add_argument("--repeats", type=int, default=9, help="slices for each side and game (default: 9)")
    parser.add_argument("--seconds", type=float, default=0.4, help="CPU-seconds in a slice (default: 0.4)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    found = [measure(name, given.repeats, given.seconds) for name in given.games]
    middle = round(median(row["ratio"] for row in found), 3)
    data = {"about": about("gymposium", "open_spiel"), "median_ratio": middle, "games": found}
    rows = [
        [
            row["game"],
            f"{row['match_decisions_per_cpu_second']:,}",
            f"{row['pyspiel_decisions_per_cpu_second']:,}",
            f"{row['ratio']:.2f}",
            "{:.2f} to {:.2f}".format(*row["ratio_range"]),
        ]
        for row in found
    ]
    head = ["game", "Match, decisions per CPU-second", "bare pyspiel", "ratio", "range"]
    write(given.out, "throughput", data, table(head, rows) + f"\nMedian ratio: {middle:.2f}\n")


if __name__ == "__main__":
    main()
