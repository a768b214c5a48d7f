"""The game for a game of OpenSpiel's engine: gymposium's own words for it, or the engine's plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import pyspiel

from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.registry import load_game, load_named_game
from gymposium.plugins.host import host
from gymposium.plugins.names import format_name, parse_name


def game_of_engine(name: str) -> OpenSpielGame:
    """Return the game that OpenSpiel calls `name`, such as `goofspiel(num_cards=4)` (`str(engine_game)`).

    It is gymposium's own game if that has the engine's rules, parameters and numbers of actions, and `openspiel:NAME`
    otherwise. The name may come from a file: it is checked as one (`gymposium.allowed`). Raises `UnknownName` if
    OpenSpiel has no such game, and `BadParameter` for one that cannot be played here."""
    short, written = parse_name(_EMPTY.sub("", name))
    defaults = _defaults(short)
    given = {key: value for key, value in written.items() if value.lower() != str(defaults.get(key)).lower()}
    game = _own_game(short, given, defaults)
    if game is None:
        game = cast(OpenSpielGame, load_named_game(format_name(f"openspiel:{short}", given)))
    if game.engine.get_type().chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise BadParameter(f"OpenSpiel's {short} draws chance out of sight, so a match cannot be played again.")
    return game


_EMPTY = re.compile(r"(?<=[(,])[A-Za-z_]+=(?:,|(?=\)))")
"""A parameter whose value is empty text, which the engine writes out if it is the default."""


def _own_game(short: str, given: Mapping[str, str], defaults: Mapping[str, Any]) -> OpenSpielGame | None:
    spec = host().games.get(short)
    if spec is None or not given.keys() <= {parameter.name for parameter in spec.parameters}:
        return None
    with suppress(BadParameter):
        game = load_game(short, **given)
        if isinstance(game, OpenSpielGame) and _follows_engine(game) and _is_default_besides(game, defaults, given):
            return game
    return None


def _defaults(short: str) -> Mapping[str, Any]:
    known = {kind.short_name: kind for kind in pyspiel.registered_games()}
    return cast(Mapping[str, Any], known[short].parameter_specification) if short in known else {}


def _follows_engine(game: OpenSpielGame) -> bool:
    """Return whether a game has the engine's own states, legal actions and outcomes of chance."""
    kind = type(game)
    return all(getattr(kind, name) is getattr(OpenSpielGame, name) for name in ("start", "legal", "chances"))


def _is_default_besides(game: OpenSpielGame, defaults: Mapping[str, Any], given: Mapping[str, str]) -> bool:
    """Return whether the engine of a game has the default of every parameter but those in `given`."""
    has = {**defaults, **game.engine.get_parameters()}
    return game.engine.get_type().short_name == game.spec.name and all(
        has[key] == default for key, default in defaults.items() if key not in given
    )
