"""Faster search in OpenSpiel games.

With perfect information, alternating moves and rewards at the end, this uses the engine's C++ tree search. In all other
games, it uses worlds with the engine's move numbers instead of texts.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import Match
from gymposium.util.streams import draw_outcome

T = TypeVar("T")

UCT_C = 2.0
"""Weight of exploration in play."""
TEACHING_UCT_C = 1.0
"""Weight of exploration in teaching. With 2.0, the visits of a few hundred simulations are nearly equal."""
ROLLOUTS = 1
MAX_MEMORY_MB = 1000
OFTEN = 0.1
"""Minimum number of visits for a move's mean return to count, as a share of the most visited move's."""


def is_searched(match: Match) -> bool:
    """Return whether OpenSpiel's search can play this match."""
    if not isinstance(match, OpenSpielMatch) or not isinstance(match.state, pyspiel.State):
        return False  # a Python state around the engine's may follow other rules
    kind = match.game.engine.get_type()
    return bool(
        kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        and kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        and kind.chance_mode != pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
        and kind.reward_model == pyspiel.GameType.RewardModel.TERMINAL
    )


def estimate_value(match: Match, seat: int, simulations: int, rng: random.Random) -> float:
    """Return the searched value of a position for `seat` under best play.

    It is exact if the search solves the position. Otherwise it is the mean return after the best sufficiently explored
    move."""
    assert isinstance(match, OpenSpielMatch)
    state, seed = match.state, rng.getrandbits(31)
    if state.is_terminal():
        return float(state.returns()[seat])
    evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, seed)
    bot = pyspiel.MCTSBot(match.game.engine, evaluator, UCT_C, simulations, MAX_MEMORY_MB, True, seed, False)
    root = bot.mcts_search(state)
    if root.outcome:
        return float(root.outcome[seat])
    mover = state.current_player()
    often = OFTEN * max(child.explore_count for child in root.children)
    best = max(
        child.outcome[mover] if child.outcome else child.total_reward / child.explore_count
        for child in root.children
        if child.explore_count >= often
    )
    least, most = match.game.engine.min_utility(), match.game.engine.max_utility()
    return float(best if mover == seat else least + most - best)


class EngineSearch:
    """The search of one position. All random numbers are drawn when it is created, before it runs."""

    def __init__(self, match: Match, seat: int, simulations: int, rng: random.Random) -> None:
        assert isinstance(match, OpenSpielMatch)
        self._match, self._seat = match, seat
        self._simulations, self._seed = simulations, rng.getrandbits(31)

    def move(self) -> str:
        """Return the best move."""
        action = int(self._make_bot(UCT_C).step(self._match.state))  # releases the GIL
        return self._match.legal_moves(self._seat)[self._match.legal_actions(self._seat).index(action)]

    def count_visits(self) -> list[int]:
        """Return how often the search tried each legal move, in order."""
        root = self._make_bot(TEACHING_UCT_C).mcts_search(self._match.state)
        visits = {child.action: child.explore_count for child in root.children}
        return [visits.get(action, 0) for action in self._match.legal_actions(self._seat)]

    def _make_bot(self, exploration: float) -> pyspiel.MCTSBot:
        engine, seed = self._match.game.engine, self._seed
        evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, seed)
        # solve=False: a solver accepts a proven draw and wins less against weak play
        return pyspiel.MCTSBot(engine, evaluator, exploration, self._simulations, MAX_MEMORY_MB, False, seed, False)


def run_searches(searches: Sequence[EngineSearch], run: Callable[[EngineSearch], T]) -> list[T]:
    """Return what `run`, a method of `EngineSearch`, finds in each search.

    Searches run in one thread per core. Each has a separate bot and random numbers, so the results do not depend on the
    number of threads."""
    threads = min(len(searches), os.cpu_count() or 1)
    if threads < 2:
        return [run(search) for search in searches]
    with ThreadPoolExecutor(threads) as pool:  # not kept: a process with idle threads cannot fork safely
        return list(pool.map(run, searches))


class EngineWorld:
    """A faster OpenSpiel match for search. It has the same draws and views, but numbered moves and no record."""

    __slots__ = ("_game", "_rng", "_state")

    def __init__(self, game: OpenSpielGame, state: pyspiel.State, rng: random.Random) -> None:
        self._game, self._state, self._rng = game, state, rng

    def to_move(self) -> tuple[int, ...]:
        player = self._state.current_player()
        if player >= 0:
            return (player,)
        if self._state.is_simultaneous_node():
            return tuple([seat for seat in range(self._game.seats) if self._state.legal_actions(seat)])
        return ()

    def legal_moves(self, seat: int) -> list[int]:
        return self._game.legal(self._state, seat)

    def view(self, seat: int) -> str:
        return self._game.render_view(self._state, seat)

    def apply(self, moves: Mapping[int, int]) -> None:
        state = self._state
        player = state.current_player()
        if player >= 0:
            state.apply_action(moves[player])
        else:
            state.apply_actions([moves.get(seat, pyspiel.INVALID_ACTION) for seat in range(self._game.seats)])
        while state.is_chance_node():
            state.apply_action(draw_outcome(state.chance_outcomes(), self._rng))

    def returns(self) -> tuple[float, ...]:
        return tuple(self._state.returns())

    def fork(self, rng: random.Random) -> EngineWorld:
        return EngineWorld(self._game, self._state.clone(), rng)


def convert_to_engine_worlds(worlds: Sequence[Match]) -> list[EngineWorld]:
    """Return the same worlds with numbered moves, or [] if they are not OpenSpiel matches."""
    return [EngineWorld(w.game, w.state, random.Random(0)) for w in worlds if type(w) is OpenSpielMatch]
