"""PettingZoo's classic environments, as its `env()` makes them. They give planes and masks, no text."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from benchmarks.throughput.workers.aec import aec_table
from benchmarks.throughput.workers.serving import Table, serve


def table(module: str, chance: bool) -> Table:
    env = import_module(f"pettingzoo.classic.{module}").env()
    return aec_table(env, lambda observation, info: observation["action_mask"], chance)


if __name__ == "__main__":
    serve(
        {
            "tic_tac_toe": partial(table, "tictactoe_v3", chance=False),
            "connect_four": partial(table, "connect_four_v3", chance=False),
            "leduc_poker": partial(table, "leduc_holdem_v4", chance=True),
        },
        ["pettingzoo", "rlcard", "gymnasium", "numpy"],
    )
