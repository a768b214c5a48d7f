"""What is quicker in OpenSpiel's games: the engine's own tree search, in C++, for games in turn with nothing hidden
and rewards at the end; and for all others worlds whose moves are the engine's numbers, without words."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import Match
from gymposium.streams import draw

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

    def __init__(self, match: Match, seat: int, simulations: int, rng: random.Random) -> None:
        assert isinstance(match, OpenSpielMatch)
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


class EngineWorld:
    """A match of an OpenSpiel game as search goes through it: the same draws and views, moves by number, no record."""

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
        actions: list[int] = self._state.legal_actions(seat)
        return actions

    def view(self, seat: int) -> str:
        return self._game.view_of(self._state, seat)

    def apply(self, moves: Mapping[int, int]) -> None:
        state = self._state
        player = state.current_player()
        if player >= 0:
            state.apply_action(moves[player])
        else:
            state.apply_actions([moves.get(seat, pyspiel.INVALID_ACTION) for seat in range(self._game.seats)])
        while state.is_chance_node():
            state.apply_action(draw(state.chance_outcomes(), self._rng))

    def returns(self) -> tuple[float, ...]:
        return tuple(self._state.returns())

    def fork(self, rng: random.Random) -> EngineWorld:
        return EngineWorld(self._game, self._state.clone(), rng)


def bare_worlds(worlds: Sequence[Match]) -> list[EngineWorld]:
    """The same worlds without words; [] where they are not OpenSpiel's."""
    return [EngineWorld(w.game, w.state, random.Random(0)) for w in worlds if type(w) is OpenSpielMatch]
