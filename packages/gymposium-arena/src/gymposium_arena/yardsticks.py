"""Absolute yardsticks: figures of a game, or of a player in it, computed by traversal instead of play
(`gymposium.analysis.exact`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from gymposium.analysis.exact import TooLarge, best_response, check_small, measure, optima_against_random, tabulate
from gymposium.games.protocol import Game
from gymposium.players.grammar import make_core_player
from gymposium.players.protocol import DistributionPlayer, Player
from gymposium.players.random import RandomPlayer
from gymposium_arena.results.model import Measured, Yardsticks, rounded

_DIGITS = 6


def compute_yardsticks(
    game: Game, players: Sequence[str], measured: Mapping[str, Mapping[str, Measured]]
) -> Yardsticks:
    """Return a game's yardsticks. `measured` holds the figures stored on the board, by player and game. The built-in
    players are measured now, which takes seconds, since nothing has to be loaded for them."""
    wins, gains = _optima(game)
    figures = (measured.get(name, {}).get(game.name) or _measure_core_player(game, name) for name in players)
    return Yardsticks(
        most_wins_against_random=wins,
        best_return_against_random=gains,
        best_play=game.spec.best_play,
        players=[figure for figure in figures if figure is not None],
    )


def measured_in(game: Game, player: Player) -> Measured | None:
    """Return a player's figures in a game by traversal. None if the game is too large to traverse for a board, or if
    the player does not give its move probabilities."""
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
        legal_mass=rounded(policy.legal_mass, _DIGITS),
        win_rate_against_random=rounded(played.against_random.mean.win, _DIGITS),
        return_against_random=rounded(played.against_random.mean.mean_return, _DIGITS),
        exploitability=_figure(played.exploitability),
        restricted_exploitability=None if restricted is None else _figure(restricted.exploitability),
    )


@lru_cache(maxsize=256)
def _measure_core_player(game: Game, name: str) -> Measured | None:
    player = make_core_player(name)
    return None if player is None else measured_in(game, player)


@lru_cache(maxsize=256)
def _optima(game: Game) -> tuple[float | None, float | None]:
    """Return the highest win rate and mean return that any player can reach against random play. With hidden
    information the return is that of the best response, and the win rate is unknown."""
    if game.seats != 2 or game.spec.free_text:
        return None, None
    try:
        if game.spec.information == "perfect" and not game.spec.chance:
            optima = optima_against_random(game)
            return rounded(optima["most wins"].win, _DIGITS), rounded(optima["best return"].mean_return, _DIGITS)
        check_small(game)
        return None, rounded(best_response(tabulate(game, RandomPlayer())).value.mean.mean_return, _DIGITS)
    except TooLarge:
        return None, None


def _figure(value: float | None) -> float | None:
    return None if value is None else rounded(value, _DIGITS)
