"""A `Match` with full text against bare pyspiel making text for the same decisions."""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

from benchmarks.report import about, table
from benchmarks.throughput.games import GAMES
from benchmarks.throughput.sides import bare_pyspiel, find_engine, match_with_text
from benchmarks.throughput.slices import compare, here, medians, take_turns
from gymposium import load_game

NAME = "throughput"
EACH, MIDDLE = 0.4, 0.6
"""The least ratio that is aimed at, and the least median."""


def measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Return all figures, and their table."""
    found = [_one(name, given) for name in given.games or GAMES]
    middle = round(median(one["ratio"] for one in found), 3)
    data = {
        "about": about("gymposium", "gymposium-2048", "open_spiel"),
        "aimed_at": {"each": EACH, "median": MIDDLE},
        "median_ratio": middle,
        "games": found,
    }
    return data, table(HEAD, [_row(one) for one in found]) + "\n" + _verdict(found, middle)


def _one(name: str, given: argparse.Namespace) -> dict[str, Any]:
    game = load_game(name)
    sides = {"match": here(match_with_text(game)), "pyspiel": here(bare_pyspiel(find_engine(name)))}
    rates = take_turns(sides, given.repeats, given.seconds)
    return {
        "game": game.name,
        "decisions_per_cpu_second": medians(rates),
        **compare(rates, "match", "pyspiel"),
    }


HEAD = ("game", "`Match` with text, decisions per CPU-second", "bare pyspiel with text", "ratio", "range")


def _row(one: dict[str, Any]) -> list[str]:
    rates = one["decisions_per_cpu_second"]
    return [
        one["game"],
        f"{rates['match']:,}",
        f"{rates['pyspiel']:,}",
        f"{one['ratio']:.2f}",
        "{:.2f} to {:.2f}".format(*one["ratio_range"]),
    ]


def _verdict(found: list[dict[str, Any]], middle: float) -> str:
    below = [one["game"] for one in found if one["ratio"] < EACH]
    return (
        f"Median ratio: {middle:.2f}; {'' if middle >= MIDDLE else 'BELOW '}{MIDDLE} is aimed at. "
        f"Below {EACH}, which is aimed at for every game: {', '.join(below) or 'none'}.\n"
    )
