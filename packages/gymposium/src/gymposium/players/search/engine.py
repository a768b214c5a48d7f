"""OpenSpiel's own tree search, in C++: for its games in turn, with nothing hidden and rewards at the end."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Match

UCT_C = 2.0
ROLLOUTS = 1
MAX_MEMORY_MB = 1000


def is_searched(match: Match) -> bool:
    """Whether OpenSpiel's search plays this match as it is."""
    if not isinstance(match, OpenSpielMatch) or not isinstance(match.state, pyspiel.State):
        return False  # a state in Python around the engine's knows better than the engine
    kind = match.game.engine.get_type()
    return bool(
        kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        and kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        and kind.chance_mode != pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
        and kind.reward_model == pyspiel.GameType.RewardModel.TERMINAL
    )


class EngineSearch:
    """The search of one position; made, with all that it draws, before it runs."""

    def __init__(self, match: OpenSpielMatch, seat: int, simulations: int, rng: random.Random) -> None:
        self._match, self._seat = match, seat
        self._seed = rng.getrandbits(31)
        self._simulations = simulations

    def move(self) -> str:
        engine, seed = self._match.game.engine, self._seed
        evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, seed)
        # solve=False: a solver settles for a proven draw and wins less against weak play
        bot = pyspiel.MCTSBot(engine, evaluator, UCT_C, self._simulations, MAX_MEMORY_MB, False, seed, False)
        action = int(bot.step(self._match.state))  # without the interpreter's lock
        return self._match.legal_moves(self._seat)[self._match.legal_actions(self._seat).index(action)]


def moves(searches: Sequence[EngineSearch]) -> list[str]:
    """The move of each, by as many threads as there are cores. Each has its own bot and numbers, so the moves are
    those that one thread would find."""
    threads = min(len(searches), os.cpu_count() or 1)
    if threads < 2:
        return [one.move() for one in searches]
    with ThreadPoolExecutor(threads) as pool:  # not kept: a process with idle threads does not fork safely
        return list(pool.map(EngineSearch.move, searches))
