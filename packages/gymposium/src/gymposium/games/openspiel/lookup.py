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
from gymposium.plugins.specs import DISGUISE


def game_of_engine(name: str) -> OpenSpielGame:
    """Return the game that OpenSpiel calls `name`, such as `goofspiel(num_cards=4)` (`str(engine_game)`).

    It is gymposium's own game if that has the engine's rules, parameters and numbers of actions, and `openspiel:NAME`
    otherwise. The name may come from a file: it is checked as one (`gymposium.plugins.allowed`). Raises `UnknownName`
    if OpenSpiel has no such game, and `BadParameter` for one that cannot be played here."""
    short, written = parse_name(_EMPTY.sub("", name))
    defaults = _defaults(short)
    given = {key: value for key, value in written.items() if value.lower() != str(defaults.get(key)).lower()}
    game = _own_game(short, given)
    if game is None:
        game = cast(OpenSpielGame, load_named_game(format_name(f"openspiel:{short}", given)))
    if game.engine.get_type().chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise BadParameter(f"OpenSpiel's {short} draws chance out of sight, so a match cannot be played again.")
    return game


_EMPTY = re.compile(r"(?<=[(,])[A-Za-z_]+=(?:,|(?=\)))")
"""A parameter whose value is empty text, which the engine writes out if it is the default."""


def _own_game(short: str, given: Mapping[str, str]) -> OpenSpielGame | None:
    spec = host().games.get(short)
    # the engine has no disguises
    if spec is None or not given.keys() <= {parameter.name for parameter in spec.parameters} - {DISGUISE.name}:
        return None
    with suppress(BadParameter):
        game = load_game(short, **given)
        if isinstance(game, OpenSpielGame) and _follows_engine(game) and _is_engine(game, given):
            return game
    return None


def _defaults(short: str) -> Mapping[str, Any]:
    known = {kind.short_name: kind for kind in pyspiel.registered_games()}
    return cast(Mapping[str, Any], known[short].parameter_specification) if short in known else {}


def _follows_engine(game: OpenSpielGame) -> bool:
    """Return whether a game has the engine's own states, legal actions and outcomes of chance."""
    kind = type(game)
    return all(getattr(kind, name) is getattr(OpenSpielGame, name) for name in ("start", "legal", "chances"))


def _is_engine(game: OpenSpielGame, given: Mapping[str, str]) -> bool:
    """Return whether the engine of a game is OpenSpiel's game of the same name with the parameters `given`. OpenSpiel
    derives some parameters from others: the columns of hex from the size of its board."""
    if game.engine.get_type().short_name != game.spec.name:
        return False
    return bool(pyspiel.load_game(format_name(game.spec.name, given)).get_parameters() == game.engine.get_parameters())
