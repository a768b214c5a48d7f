"""Compute exact yardsticks of games and players by traversal (`gymposium.analysis.exact`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from gymposium.analysis.exact import TooLarge, best_response, check_small, measure, optima_against_random, tabulate
from gymposium.games.protocol import Game
from gymposium.players.grammar import make_core_player
from gymposium.players.protocol import DistributionPlayer, Player
from gymposium.players.random import RandomPlayer
from gymposium_arena.results.model import Measured, Yardsticks, round_figure, round_known

_DIGITS = 6


def compute_yardsticks(
    game: Game, players: Sequence[str], measured: Mapping[str, Mapping[str, Measured]]
) -> Yardsticks:
    """Return a game's yardsticks. `measured` holds stored figures by player and game.

    Built-in players without stored figures are measured, which takes seconds."""
    wins, gains = _find_optima(game)
    figures = (measured.get(name, {}).get(game.name) or _measure_core_player(game, name) for name in players)
    return Yardsticks(
        most_wins_against_random=wins,
        best_return_against_random=gains,
        best_play=game.spec.best_play,
        players=[figure for figure in figures if figure is not None],
    )


def measure_player(game: Game, player: Player) -> Measured | None:
    """Return a player's figures in a game by traversal; None if the game is too large or the player gives no move
    probabilities."""
    if not isinstance(player, DistributionPlayer):
        return None
    try:
        check_small(game)
        figures = measure(game, player)
    except TooLarge:
        return None
    policy, played, restricted = figures.as_played.policy, figures.as_played, figures.restricted
    return Measured(
        player=player.name,
        exact=policy.exact,
        estimated=policy.estimated,
        legal_mass=round_figure(policy.legal_mass, _DIGITS),
        win_rate_against_random=round_figure(played.against_random.mean.win, _DIGITS),
        return_against_random=round_figure(played.against_random.mean.mean_return, _DIGITS),
        exploitability=round_known(played.exploitability, _DIGITS),
        restricted_exploitability=None if restricted is None else round_known(restricted.exploitability, _DIGITS),
    )


@lru_cache(maxsize=256)
def _measure_core_player(game: Game, name: str) -> Measured | None:
    player = make_core_player(name)
    return None if player is None else measure_player(game, player)


@lru_cache(maxsize=256)
def _find_optima(game: Game) -> tuple[float | None, float | None]:
    """Return the highest possible win rate and mean return against random play; None where unknown.

    With chance or hidden information, only the return is known."""
    if game.seats != 2 or game.spec.free_text:
        return None, None
    try:
        if game.spec.information == "perfect" and not game.spec.chance:
            optima = optima_against_random(game)
            return round_figure(optima["most wins"].win, _DIGITS), round_figure(
                optima["best return"].mean_return, _DIGITS
            )
        check_small(game)
        return None, round_figure(best_response(tabulate(game, RandomPlayer())).value.mean.mean_return, _DIGITS)
    except TooLarge:
        return None, None
