"""A policy close to equilibrium in a small game that hides something, by counterfactual regret minimisation.

The solver is OpenSpiel's CFR+ (Tammelin, 2014, Solving Large Imperfect Information Games Using CFR+), and the policy
its average one, which is what comes close to an equilibrium.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyspiel

from gymposium.exact.minimax import check_solvable
from gymposium.exact.policy import State
from gymposium.exact.size import DEEPEST, MOST_POSITIONS, TooLarge
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Game

MOST_HISTORIES = 400_000
"""More would take seconds an iteration. Liar's dice with one die each has 294,912."""


def average_policy(game: Game, iterations: int) -> Mapping[State, Mapping[int, float]]:
    """How likely each action is played in each information state, after so many iterations.

    Raises `TooLarge` with the reason where the game is too large, or of a kind that is not solved."""
    solvable = _solvable(game)
    engine = solvable.engine
    if engine.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        engine = pyspiel.convert_to_turn_based(engine)  # who comes second is not told what the first chose
    states = dict(_states(solvable, engine))
    solver = pyspiel.CFRPlusSolver(engine)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    found = solver.tabular_average_policy().policy_table()
    return {state: dict(found[key]) for key, state in states.items()}


def _solvable(game: Game) -> OpenSpielGame:
    if not isinstance(game, OpenSpielGame):
        raise TooLarge(f"{game.name}: equilibria are computed for games of OpenSpiel.")
    kind = game.engine.get_type()
    if not game.hides and kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise TooLarge(
            f"{game.name}: equilibria are computed for games that hide something, and it hides nothing. "
            f"{_player_without_hiding(game)}"
        )
    if game.seats != 2 or game.spec.utility != "zero_sum":
        raise TooLarge(f"{game.name}: equilibria are computed for two seats in a zero-sum game.")
    if not kind.provides_information_state_string:
        raise TooLarge(f"{game.name}: its engine cannot say what a seat knows of the whole match.")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise TooLarge(f"{game.name}: its engine draws chance itself and cannot list the outcomes.")
    return game


def _player_without_hiding(game: Game) -> str:
    """What to write instead of cfr-N for a game that hides nothing: `exact` only where it may be able to play it."""
    try:
        check_solvable(game)
    except TooLarge:
        return "Write mcts-N."
    if game.max_decisions > DEEPEST or game.spec.utility != "zero_sum":
        return "Write mcts-N."
    return f"Write exact, which plays it if it has at most {MOST_POSITIONS} positions, or mcts-N."


def _states(game: OpenSpielGame, engine: pyspiel.Game) -> Iterator[tuple[str, State]]:
    """The solver's name of every information state, and ours. Where moves are simultaneous, `engine` asks for them one
    after the other, and ours goes on when it has both."""
    histories = 0
    ahead: list[tuple[pyspiel.State, pyspiel.State, int]] = [(engine.new_initial_state(), game.start(), -1)]
    while ahead:
        state, ours, first = ahead.pop()
        histories += 1
        if histories > MOST_HISTORIES:
            raise TooLarge(f"{game.name} has more than {MOST_HISTORIES} histories.")
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
                then = ours.clone()
                then.apply_actions([first, action])
                ahead.append((state.child(action), then, -1))
