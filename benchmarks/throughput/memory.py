"""The peak of a process's memory after some decisions of random play, and after ten times as many.

A peak that stays where it was means that nothing grows. Each line is a separate process, begun without any of this
one's memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from typing import Any

from benchmarks.report import about, table
from benchmarks.throughput.sides import match_with_text, through_gymnasium
from benchmarks.throughput.timing import Play
from gymposium import load_game

NAME = "throughput-memory"
GAMES = ("tic_tac_toe", "leduc_poker", "goofspiel", "2048", "backgammon")
TENFOLD = 10
MOST = 1.0
"""MiB that the peak may rise between the two: tables of names and texts that are still being filled."""


def peaks(side: str, game: str, decisions: int) -> list[float]:
    """Return the peak in MiB after a tenth of the decisions, and after all."""
    play: Play = through_gymnasium(game) if side == "gymnasium" else match_with_text(load_game(game))
    found, done, seeds = [], 0, count()
    for stop in (decisions // TENFOLD, decisions):
        while done < stop:
            done += play(next(seeds))
        found.append(_peak())
    return found


def _peak() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10  # bytes there, KiB on Linux


def measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Return all figures, and their table."""
    decisions = [given.decisions // TENFOLD, given.decisions]
    found: list[dict[str, Any]] = []
    spawn = multiprocessing.get_context("spawn")
    for name in given.games or GAMES:
        for side in ("match", "gymnasium"):
            with ProcessPoolExecutor(1, mp_context=spawn) as process:
                first, last = process.submit(peaks, side, name, given.decisions).result()
            found.append({"game": name, "side": side, "mib": [round(first, 2), round(last, 2)]})
            print(*_row(found[-1]), sep="  ", flush=True)
    data = {
        "about": about("gymposium", "gymposium-2048", "open_spiel", "gymnasium"),
        "decisions": decisions,
        "must_rise_at_most_mib": MOST,
        "games": found,
    }
    risen = [f"{one['game']} ({one['side']})" for one in found if one["mib"][1] - one["mib"][0] > MOST]
    head = ["game", "side", *[f"peak after {number:,} decisions, MiB" for number in decisions], "rise"]
    return data, table(head, [_row(one) for one in found]) + f"\nRisen by more than {MOST} MiB: {_or_none(risen)}.\n"


def _row(one: dict[str, Any]) -> list[str]:
    first, last = one["mib"]
    return [one["game"], one["side"], f"{first:.1f}", f"{last:.1f}", f"{last - first:+.1f}"]


def _or_none(names: list[str]) -> str:
    return ", ".join(names) or "none"
