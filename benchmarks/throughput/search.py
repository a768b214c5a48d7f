"""A vector environment against the single one with searching opponents, by the clock: cores have to be free.

The vector environment asks the search for all matches in one call, which then uses a thread for each core; OpenSpiel's
own search runs without Python's lock.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from benchmarks.report import about, table
from benchmarks.throughput.slices import compare, medians, take_turns
from benchmarks.throughput.vector import head, many, row, single

NAME = "throughput-search"
ENVS = 16
OPPONENT = "mcts-100"
TIMES = 1.6
"""As many times as fast the vector environment is to be on two cores."""
GAMES = ("tic_tac_toe", "connect_four", "othello", "hex", "breakthrough", "clobber")
"""Games that use OpenSpiel's own search."""


def measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Return all figures, and their table."""
    envs = given.envs or ENVS
    found = [_one(name, envs, given) for name in given.games or GAMES]
    data = {
        "about": about("gymposium", "open_spiel", "gymnasium"),
        "envs": envs,
        "opponent": OPPONENT,
        "cores": os.cpu_count(),
        "aimed_at": {"times_single_on_two_cores": TIMES},
        "games": found,
    }
    below = [one["game"] for one in found if one["ratio"] < TIMES]
    end = (
        f"Opponents: {OPPONENT}. On {os.cpu_count()} cores; {TIMES} is aimed at on two that are free. "
        f"Below it: {', '.join(below) or 'none'}.\n"
    )
    return data, table(head(envs, "second by the clock"), [row(one) for one in found]) + "\n" + end


def _one(name: str, envs: int, given: argparse.Namespace) -> dict[str, Any]:
    clock = time.perf_counter
    sides = {"vector": many(name, OPPONENT, envs, clock), "single": single(name, OPPONENT, clock)}
    rates = take_turns(sides, given.repeats, given.seconds)
    return {"game": name, "decisions_per_second": medians(rates), **compare(rates, "vector", "single")}
