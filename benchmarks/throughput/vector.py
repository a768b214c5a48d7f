"""A vector environment against the single one, against random play, in decisions of the learner per CPU-second."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

import gymnasium

from benchmarks.report import about, table
from benchmarks.throughput.games import GAMES
from benchmarks.throughput.sides import environment
from benchmarks.throughput.slices import Side, compare, medians, take_turns
from gymposium import load_game

NAME = "throughput-vector"
ENVS = 256
SHARE = 0.8
"""What the vector environment is to have of the single one's rate, at least."""
Clock = Callable[[], float]


def single(name: str, opponent: str, clock: Clock) -> Side:
    """Return one environment; whole matches."""
    env, rng = environment(name, opponent=opponent), random.Random(0)
    env.reset(seed=0)

    def work(seconds: float) -> float:
        decisions, start = 0, clock()
        while (spent := clock() - start) < seconds:
            info, terminated = env.reset()[1], False
            while not terminated:
                legal = info["legal_moves"]
                _, _, terminated, _, info = env.step(legal[int(rng.random() * len(legal))])
                decisions += 1
        return decisions / spent

    return work


def many(name: str, opponent: str, envs: int, clock: Clock) -> Side:
    """Play this many environments at once, until as many matches have ended.

    A decision's cost depends on the progress of its match, and matches that begin together stay together for long.
    """
    env = gymnasium.make_vec(load_game(name).spec.env_id, num_envs=envs, opponent=opponent)
    rng = random.Random(0)
    legal: list[list[str]] = list(env.reset(seed=0)[1]["legal_moves"])

    def work(seconds: float) -> float:
        nonlocal legal
        decisions, ended, start = 0, 0, clock()
        while (spent := clock() - start) < seconds or ended < envs:
            # a match that is over begins anew in the next step, whose action for it is not read
            *_, infos = env.step([moves[int(rng.random() * len(moves))] if moves else "" for moves in legal])
            decisions += sum(map(bool, legal))
            legal = list(infos["legal_moves"])
            ended += sum(not moves for moves in legal)
        return decisions / spent

    return work


def measure(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Return all figures, and their table."""
    envs = given.envs or ENVS
    found = [_one(name, envs, given) for name in given.games or GAMES]
    data = {
        "about": about("gymposium", "gymposium-2048", "open_spiel", "gymnasium"),
        "envs": envs,
        "aimed_at": {"of_single": SHARE},
        "games": found,
    }
    below = [one["game"] for one in found if one["ratio"] < SHARE]
    end = f"{SHARE} of the single environment is aimed at; below it: {', '.join(below) or 'none'}.\n"
    return data, table(head(envs, "CPU-second"), [row(one) for one in found]) + "\n" + end


def _one(name: str, envs: int, given: argparse.Namespace) -> dict[str, Any]:
    clock = time.process_time
    sides = {"vector": many(name, "random", envs, clock), "single": single(name, "random", clock)}
    rates = take_turns(sides, given.repeats, given.seconds)
    return {"game": name, "decisions_per_second": medians(rates), **compare(rates, "vector", "single")}


def head(envs: int, second: str) -> list[str]:
    """Return the columns' names."""
    return ["game", f"{envs} at once, decisions per {second}", "one", "ratio", "range"]


def row(one: dict[str, Any]) -> list[str]:
    """Return one game in the table."""
    rates = one["decisions_per_second"]
    return [
        one["game"],
        f"{rates['vector']:,}",
        f"{rates['single']:,}",
        f"{one['ratio']:.2f}",
        "{:.2f} to {:.2f}".format(*one["ratio_range"]),
    ]
