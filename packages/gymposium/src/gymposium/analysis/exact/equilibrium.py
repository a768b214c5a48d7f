"""Near-equilibrium policies in small hidden-information games, by counterfactual regret minimization.

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
from gymposium.errors import NoSampler
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Game
from gymposium.players.search.refusal import check_searchable


def compute_average_policy(game: Game, iterations: int) -> Mapping[State, Mapping[int, float]]:
    """Return the action probabilities per information state, after this number of iterations.

    In dark hex, OpenSpiel's states reveal how often the opponent has tried a cell, and our views hide it. If several
    states share a view, the policy in one of them is returned. On 2 by 3 cells, the exploitability of the result is
    below 1e-4.

    Raises `TooLarge` with the reason if the game is too large or of an unsupported kind."""
    solvable = require_solvable(game)
    engine = make_sequential(solvable)
    states = dict(list_information_states(solvable, engine))
    solver = pyspiel.CFRPlusSolver(engine)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    table = solver.tabular_average_policy().policy_table()
    return {state: dict(table[key]) for key, state in states.items()}


def require_solvable(game: Game) -> OpenSpielGame:
    """Return the game if its kind is supported. Its size is not checked. Raises `TooLarge` for other kinds."""
    if not isinstance(game, OpenSpielGame):
        raise TooLarge(f"{game.name}: equilibria are computed only for OpenSpiel games. {_suggest_player(game)}")
    if not game.hides and game.engine.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise TooLarge(
            f"{game.name} has perfect information, and equilibria are computed only for games with hidden information. "
            f"{_suggest_player(game)}"
        )
    if game.seats != 2 or game.spec.utility != "zero_sum":
        raise TooLarge(
            f"{game.name}: equilibria are computed only for zero-sum games with two seats. {_suggest_player(game)}"
        )
    check_engine(game)
    return game


def _suggest_player(game: Game) -> str:
    """Return the player to suggest instead of cfr-N: `exact` only if it supports the game, a search only if it plays
    the game well."""
    with suppress(TooLarge):
        check_solvable(game)
        if game.max_decisions <= DEEPEST and game.spec.utility == "zero_sum":
            return f"Write exact, which plays it if it has at most {MOST_POSITIONS:,} positions, or mcts-N."
    with suppress(NoSampler):
        check_searchable(game, "mcts-N")
        return "Write mcts-N."
    return "Choose another player."


def make_sequential(game: OpenSpielGame) -> pyspiel.Game:
    """Return the game's engine, with simultaneous moves made one after the other.

    The second seat is not told the first seat's choice."""
    sequential = game.engine.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    return game.engine if sequential else pyspiel.convert_to_turn_based(game.engine)


def check_histories(game: OpenSpielGame) -> None:
    """Raise `TooLarge` if the game has too many histories."""
    for _ in list_information_states(game, make_sequential(game)):
        pass


def list_information_states(game: OpenSpielGame, engine: pyspiel.Game) -> Iterator[tuple[str, State]]:
    """Yield OpenSpiel's string and gymposium's view for each information state of an engine from `make_sequential`.

    Some states occur more than once."""
    histories = 0
    ahead: list[tuple[pyspiel.State, pyspiel.State, int]] = [(engine.new_initial_state(), game.start(), -1)]
    while ahead:
        state, ours, first = ahead.pop()
        histories += 1
        if histories > MOST_POSITIONS:
            raise TooLarge(
                f"{game.name} has more than {MOST_POSITIONS:,} histories, the limit for equilibria. "
                f"{_suggest_player(game)}"
            )
        if state.is_terminal():
            continue
        seat = state.current_player()
        if not state.is_chance_node():
            yield state.information_state_string(seat), (seat, game.render_view(ours, seat))
        for action in state.legal_actions():
            if not ours.is_simultaneous_node():
                ahead.append((state.child(action), ours.child(action), -1))
            elif seat == 0:
                ahead.append((state.child(action), ours, action))
            else:
                after_both = ours.clone()
                after_both.apply_actions([first, action])
                ahead.append((state.child(action), after_both, -1))
