"""Ours in three ways, bare pyspiel and the other libraries on the games that they share, all in one run."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from benchmarks.report import about, table
from benchmarks.throughput.games import GAMES
from benchmarks.throughput.others import LIBRARIES, Worker, set_up, workers
from benchmarks.throughput.sides import (
    bare_pyspiel,
    find_engine,
    match_with_text,
    through_gymnasium,
    through_pettingzoo,
)
from benchmarks.throughput.slices import Side, compare, here, medians, take_turns
from gymposium import load_game

NAME = "throughput-peers"
TIMES = 2.0
"""As many times as fast as TextArena `gymnasium.make` is to be, where the game is the same."""
OURS = {"match": "`Match`", "gymnasium": "`gymnasium.make`", "aec": "our AEC", "pyspiel": "bare pyspiel"}


def measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Return all figures, and their table."""
    if given.setup:
        for name in given.peers:
            set_up(name, given.home)
    with workers(given.peers, given.home) as others:
        found = [_one(name, others, given) for name in given.games or GAMES]
        versions = {name: worker.versions for name, worker in others.items()}
    data = {
        "about": about("gymposium", "gymposium-2048", "open_spiel", "gymnasium", "pettingzoo"),
        "aimed_at": {"times_textarena": TIMES},
        "peers": versions,
        "games": found,
    }
    head = ["game", *OURS.values(), *[LIBRARIES[name].title for name in versions]]
    if "textarena" in versions:
        head.append("`gymnasium.make` / TextArena")
    text = table(head, [_row(one, list(versions)) for one in found])
    return data, "\n".join([text, *_notes(found, versions)])


def _one(name: str, others: Mapping[str, Worker], given: argparse.Namespace) -> dict[str, Any]:
    game = load_game(name)
    sides: dict[str, Side] = {
        "match": here(match_with_text(game)),
        "gymnasium": here(through_gymnasium(name)),
        "aec": here(through_pettingzoo(name)),
        "pyspiel": here(bare_pyspiel(find_engine(name))),
    }
    theirs = {library: worker for library, worker in others.items() if name in worker.games}
    sides.update({library: worker.side(name) for library, worker in theirs.items()})
    rates = take_turns(sides, given.repeats, given.seconds)
    told = {library: worker.told[name] for library, worker in theirs.items()}
    found = {
        "game": game.name,
        "decisions_per_cpu_second": medians(rates),
        "other_variant": {library: one["note"] for library, one in told.items() if one["note"]},
        "broken_off": {library: one["broken_off"] for library, one in told.items() if one["broken_off"]},
        "gymnasium_against": {library: compare(rates, "gymnasium", library) for library in theirs},
    }
    print(*_row(found, list(others)), sep="  ", flush=True)
    return found


def _row(one: dict[str, Any], libraries: list[str]) -> list[str]:
    rates, other = one["decisions_per_cpu_second"], one["other_variant"]
    cells = [f"{rates[side]:,}" for side in OURS]
    cells += [f"{rates[name]:,}{'*' if name in other else ''}" if name in rates else "" for name in libraries]
    if "textarena" in libraries:
        against = one["gymnasium_against"].get("textarena")
        cells.append("{:.2f} ({:.2f} to {:.2f})".format(against["ratio"], *against["ratio_range"]) if against else "")
    return [one["game"], *cells]


def _notes(found: list[dict[str, Any]], versions: Mapping[str, Mapping[str, str]]) -> list[str]:
    lines = ["Decisions of all seats per CPU-second."]
    for name, there in versions.items():
        made = ", ".join(f"{key} {value}" for key, value in there.items())
        lines.append(f"{LIBRARIES[name].title} gives {LIBRARIES[name].gives}; {made}.")
    stars = [f"{one['game']}: {note}" for one in found for note in one["other_variant"].values()]
    if stars:
        lines.append(f"`*` is another variant, where only the rate compares: {'; '.join(stars)}.")
    broken = [
        f"{one['game']} {share:.0%} ({LIBRARIES[name].title})"
        for one in found
        for name, share in one["broken_off"].items()
    ]
    if broken:
        lines.append(f"Matches that the library truncates before the game is over: {', '.join(broken)}.")
    if "textarena" in versions:
        slow = [one["game"] for one in found if _misses(one)]
        lines.append(
            f"`gymnasium.make` is to be {TIMES:g} times as fast as TextArena where the variant is the same; "
            f"it is not in: {', '.join(slow) or 'none'}."
        )
    return [f"{line}\n" for line in lines]


def _misses(one: dict[str, Any]) -> bool:
    against = one["gymnasium_against"].get("textarena")
    return against is not None and "textarena" not in one["other_variant"] and against["ratio"] < TIMES
