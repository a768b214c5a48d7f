"""Absolute yardsticks: what is known of a game, and of a player in it, by traversal and not by play
(`gymposium.exact`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from gymposium.arena.results.model import Measured, Yardsticks
from gymposium.exact import TooLarge, best_response, measure, optima_against_random, tabulate
from gymposium.games.protocol import Game
from gymposium.players.grammar import check_player, make_player
from gymposium.players.protocol import Distributes, Player
from gymposium.players.random import RandomPlayer


def yardsticks_of(game: Game, players: Sequence[str], measured: Mapping[str, Mapping[str, Measured]]) -> Yardsticks:
    """Everything that is known beside what was played. `measured` holds by player and game what stands on the board
    already; the core's own players are measured here and now, in seconds, since nothing has to be loaded for them."""
    wins, gains = _optima(game)
    found = []
    for name in players:
        figures = measured.get(name, {}).get(game.name) or _of_the_core(game, name)
        if figures is not None:
            found.append(figures)
    return Yardsticks(
        most_wins_against_random=wins, best_return_against_random=gains, best_play=game.spec.best_play, players=found
    )


def measured_in(game: Game, player: Player) -> Measured | None:
    """What traversal says of a player in a game; None where the game is too large or the player does not say how likely
    it plays each move."""
    if game.seats != 2 or not isinstance(player, Distributes):
        return None
    try:
        figures = measure(game, player)
    except TooLarge:
        return None
    policy, played, alone = figures.as_played.policy, figures.as_played, figures.restricted
    return Measured(
        player=player.name,
        exact=policy.exact,
        estimated=policy.estimated,
        legal_mass=_rounded(policy.legal_mass),
        win_rate_against_random=_rounded(played.against_random.mean.win),
        return_against_random=_rounded(played.against_random.mean.mean_return),
        exploitability=_figure(played.exploitability),
        restricted_exploitability=None if alone is None else _figure(alone.exploitability),
    )


@lru_cache(maxsize=256)
def _of_the_core(game: Game, name: str) -> Measured | None:
    if not check_player(name)[0].entry_point.startswith("gymposium."):
        return None
    return measured_in(game, make_player(name))


@lru_cache(maxsize=256)
def _optima(game: Game) -> tuple[float | None, float | None]:
    """The most wins and the best return of anybody against random play. Where something is hidden the best return is
    that of the best response."""
    if game.seats != 2 or game.spec.free_text:
        return None, None
    try:
        if game.spec.information == "perfect" and not game.spec.chance:
            optima = optima_against_random(game)
            return _rounded(optima["most wins"].win), _rounded(optima["best return"].mean_return)
        return None, _rounded(best_response(tabulate(game, RandomPlayer())).value.mean.mean_return)
    except TooLarge:
        return None, None


def _figure(value: float | None) -> float | None:
    return None if value is None else _rounded(value)


def _rounded(value: float) -> float:
    return round(value, 6) + 0.0
