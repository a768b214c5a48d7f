"""How such a process answers: a line of JSON for each that it reads. Nothing but the standard library."""

from __future__ import annotations

import json
import os
import platform
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count
from typing import Any

from benchmarks.throughput.timing import rate

KEPT = 50
"""Matches that are worked out beforehand, and then played again and again."""


@dataclass(frozen=True)
class MatchToReplay:
    """A match to be played again: its seed and every action."""

    seed: int
    actions: Sequence[Any]
    finished: bool = True
    """False where the library broke it off before the game was over."""


@dataclass(frozen=True)
class Table:
    """One of the library's games. Random play is worked out beforehand by `keep`, so that only the library is timed."""

    keep: Callable[[int, random.Random], MatchToReplay | None]
    """A random match from a seed; None where it cannot be played to any end."""
    play: Callable[[MatchToReplay], None]
    """Plays a kept match again, and takes every text or tensor that a seat is given."""
    note: str = ""
    """In what it is another game than ours; empty where it is the same."""


def serve(tables: Mapping[str, Callable[[], Table]], distributions: Sequence[str]) -> None:
    """Print the games, then answer requests until the input ends.

    The answer to `{"game": …, "seconds": …}` has the rate over that many CPU seconds, and the share of matches broken
    off.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer

    def say(answer: Mapping[str, Any]) -> None:
        print(json.dumps(answer), file=out, flush=True)

    made: dict[str, tuple[Table, list[MatchToReplay]]] = {}
    versions = {"Python": platform.python_version(), **{name: version(name) for name in distributions}}
    say({"games": list(tables), "versions": versions})
    for line in sys.stdin:
        request = json.loads(line)
        game = request["game"]
        if game not in made:
            table, rng = tables[game](), random.Random(0)
            made[game] = table, [kept for seed in range(KEPT) if (kept := table.keep(seed, rng)) is not None]
        table, matches = made[game]

        def play(number: int, table: Table = table, matches: list[MatchToReplay] = matches) -> int:
            kept = matches[number % len(matches)]
            table.play(kept)
            return len(kept.actions)

        broken_off = sum(not kept.finished for kept in matches) / len(matches)
        found = rate(play, count(), request["seconds"])
        say({"rate": found, "broken_off": broken_off, "note": table.note})
