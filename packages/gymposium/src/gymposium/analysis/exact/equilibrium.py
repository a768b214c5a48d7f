"""A policy close to equilibrium in a small game that hides something, by counterfactual regret minimisation.

The solver is OpenSpiel's CFR+ (Tammelin, 2014, Solving Large Imperfect Information Games Using CFR+). Its average
policy approaches an equilibrium.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import pyspiel

from gymposium.analysis.exact.graph import check_engine
from gymposium.analysis.exact.minimax import check_solvable
from gymposium.analysis.exact.policy import State
from gymposium.analysis.exact.size import DEEPEST, MOST_POSITIONS, TooLarge
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Game


def average_policy(game: Game, iterations: int) -> Mapping[State, Mapping[int, float]]:
    """Return the probability of each action in each information state, after this number of iterations.

    OpenSpiel's states of dark hex tell how often the opponent has tried a cell, which our views hide. Of several states
    with one view the policy of one is returned, whose exploitability on 2 by 3 cells is below 1e-4.

    Raises `TooLarge` with the reason if the game is too large, or of a kind that is not solved."""
    solvable = solvable_game(game)
    engine = in_turn(solvable)
    states = dict(information_states(solvable, engine))
    solver = pyspiel.CFRPlusSolver(engine)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    table = solver.tabular_average_policy().policy_table()
    return {state: dict(table[key]) for key, state in states.items()}


def solvable_game(game: Game) -> OpenSpielGame:
    """Return the game if it is of a kind that is solved. Raises `TooLarge` if it is not; its size is not looked at."""
    if not isinstance(game, OpenSpielGame):
        raise TooLarge(f"{game.name}: equilibria are computed for games of OpenSpiel.")
    if not game.hides and game.engine.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise TooLarge(
            f"{game.name}: equilibria are computed for games that hide something, and it hides nothing. "
            f"{_player_without_hiding(game)}"
        )
    if game.seats != 2 or game.spec.utility != "zero_sum":
        raise TooLarge(f"{game.name}: equilibria are computed for two seats in a zero-sum game.")
    check_engine(game)
    return game


def _player_without_hiding(game: Game) -> str:
    """Return what to write instead of cfr-N for a game that hides nothing: `exact` only if it may play the game."""
    with suppress(TooLarge):
        check_solvable(game)
        if game.max_decisions <= DEEPEST and game.spec.utility == "zero_sum":
            return f"Write exact, which plays it if it has at most {MOST_POSITIONS:,} positions, or mcts-N."
    return "Write mcts-N."


def in_turn(game: OpenSpielGame) -> pyspiel.Game:
    """Return the game's engine. If moves are simultaneous, it takes them one after the other, and the second seat is
    not told what the first chose."""
    sequential = game.engine.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    return game.engine if sequential else pyspiel.convert_to_turn_based(game.engine)


def information_states(game: OpenSpielGame, engine: pyspiel.Game) -> Iterator[tuple[str, State]]:
    """Yield the name of every information state in `engine` (`in_turn`), and ours. Some occur more than once."""
    histories = 0
    ahead: list[tuple[pyspiel.State, pyspiel.State, int]] = [(engine.new_initial_state(), game.start(), -1)]
    while ahead:
        state, ours, first = ahead.pop()
        histories += 1
        if histories > MOST_POSITIONS:
            raise TooLarge(f"{game.name} has more than {MOST_POSITIONS:,} histories.")
        if state.is_terminal():
            continue
        seat = state.current_player()
        if not state.is_chance_node():
            yield state.information_state_string(seat), (seat, game.view_of(ours, seat))
        for action in state.legal_actions():
            if not ours.is_simultaneous_node():
                ahead.append((state.child(action), ours.child(action), -1))
            elif seat == 0:
                ahead.append((state.child(action), ours, action))
            else:
                after_both = ours.clone()
                after_both.apply_actions([first, action])
                ahead.append((state.child(action), after_both, -1))
