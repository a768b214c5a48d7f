"""Compute exact yardsticks of games and players by traversal (`gymposium.analysis.exact`), and store a slow player's
figures in `exact.json` beside its entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from gymposium.analysis.exact import (
    TooLarge,
    check_small,
    compute_optima_against_random,
    find_best_response,
    measure_player,
    tabulate_policy,
)
from gymposium.errors import BadOption, BadRecord
from gymposium.games.protocol import Game
from gymposium.players.grammar import check_named_player, make_core_player, make_player
from gymposium.players.protocol import DistributionPlayer, Player
from gymposium.players.random import RandomPlayer
from gymposium.util.durable import replace_text
from gymposium.util.json_file import FileModel, read_model
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry
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


def try_measure_player(game: Game, player: Player) -> Measured | None:
    """Return a player's figures in a game by traversal; None if the game is too large or the player gives no move
    probabilities."""
    if not isinstance(player, DistributionPlayer):
        return None
    try:
        check_small(game)
        figures = measure_player(game, player)
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
    return None if player is None else try_measure_player(game, player)


@lru_cache(maxsize=256)
def _find_optima(game: Game) -> tuple[float | None, float | None]:
    """Return the highest possible win rate and mean return against random play; None where unknown.

    With chance or hidden information, only the return is known."""
    if game.seats != 2 or game.spec.free_text:
        return None, None
    try:
        if game.spec.information == "perfect" and not game.spec.chance:
            optima = compute_optima_against_random(game)
            return round_figure(optima["most wins"].win, _DIGITS), round_figure(
                optima["best return"].mean_return, _DIGITS
            )
        check_small(game)
        return None, round_figure(
            find_best_response(tabulate_policy(game, RandomPlayer())).value.mean.mean_return, _DIGITS
        )
    except TooLarge:
        return None, None


_FIX = "Measure again, or remove it."


class ExactFile(FileModel):
    """The content of `exact.json`."""

    format: Literal["gymposium-exact-1"] = "gymposium-exact-1"
    player: str
    games: dict[str, Measured]
    """The figures by full name of a small game."""


def exact_path(board: Board, entry: Entry) -> Path:
    """Return the path of an entry's `exact.json`."""
    return board.entry_file(entry.slug).with_name("exact.json")


def read_exact(board: Board, entry: Entry) -> Mapping[str, Measured]:
    """Read a player's figures by game; empty without a file. Raises `BadRecord` if the file is invalid."""
    path = exact_path(board, entry)
    if not path.exists():
        return {}
    content = read_model(path, ExactFile, "exact figures", _FIX)
    if content.player != entry.player:
        raise BadRecord(f"{path} belongs to {content.player}, not to {entry.player}. {_FIX}")
    return content.games


def write_exact(board: Board, entry: Entry) -> Path:
    """Measure a player in all of its small games, write `exact.json`, and return its path.

    Raises `BadOption` if there is nothing to measure."""
    check_named_player(entry.player)
    player = make_player(entry.player)
    if not isinstance(player, DistributionPlayer):
        raise BadOption(
            f"{entry.player} has no exact figures, because it does not give the probabilities of its moves. Omit "
            f"--exact {entry.player}."
        )
    measured = {
        game.name: try_measure_player(game.load(), player) for game in board.suite.games if game.name in entry.games
    }
    figures = {name: figure for name, figure in measured.items() if figure is not None}
    if not figures:
        raise BadOption(
            f"{entry.player} has no exact figures: none of its games has two seats and is small enough to traverse. "
            f"Omit --exact {entry.player}."
        )
    path = exact_path(board, entry)
    replace_text(path, ExactFile(player=entry.player, games=figures).model_dump_json(indent=1) + "\n")
    return path
