"""OpenSpiel's games through Shimmy's `OpenSpielCompatibilityV0`. It gives tensors and masks, no text."""

from __future__ import annotations

from functools import partial

import pyspiel
from shimmy import OpenSpielCompatibilityV0

from benchmarks.throughput.workers.aec import aec_table
from benchmarks.throughput.workers.serving import Table, serve

GAMES = {
    "tic_tac_toe": {},
    "connect_four": {},
    "kuhn_poker": {},
    "leduc_poker": {},
    "liars_dice": {},
    "othello": {},
    "hex": {},
    "goofspiel": {"imp_info": True, "players": 2},
    "2048": {},
    "backgammon": {},
    "gin_rummy": {},
    "breakthrough": {},
    "clobber": {},
    "blackjack": {},
}
"""With the parameters with which ours are the same."""


def table(name: str) -> Table:
    chance = pyspiel.load_game(name, GAMES[name]).get_type().chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC
    env = OpenSpielCompatibilityV0(game_name=name, config=GAMES[name] or None)
    return aec_table(env, lambda observation, info: info["action_mask"], chance)


if __name__ == "__main__":
    serve({name: partial(table, name) for name in GAMES}, ["shimmy", "open_spiel", "pettingzoo", "numpy"])
