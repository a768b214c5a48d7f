"""Lookup of games by OpenSpiel name. They have gymposium's own text or the engine's plain text."""

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


def load_by_engine_name(name: str) -> OpenSpielGame:
    """Return the game with an OpenSpiel name such as `goofspiel(num_cards=4)` (`str(engine_game)`).

    Return gymposium's own game if it has the engine's rules, parameters and action counts. Otherwise return
    `openspiel:NAME`. The name may come from a file, so the checks for names in files apply
    (`gymposium.plugins.allowed`). Raises `UnknownName` if OpenSpiel has no such game, and `BadParameter` if the game is
    not supported."""
    short, written = parse_name(_EMPTY_PARAMETER.sub("", name))
    defaults = _get_defaults(short)
    given = {key: value for key, value in written.items() if value.lower() != str(defaults.get(key)).lower()}
    game = _find_own_game(short, given)
    if game is None:
        game = cast(OpenSpielGame, load_named_game(format_name(f"openspiel:{short}", given)))
    if game.engine.get_type().chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise BadParameter(
            f"OpenSpiel's {short} draws chance internally, so its matches cannot be replayed. Choose another game."
        )
    return game


_EMPTY_PARAMETER = re.compile(r"(?<=[(,])[A-Za-z_]+=(?:,|(?=\)))")
"""Pattern for a parameter with an empty value. The engine includes such parameters even if empty is the default."""


def _find_own_game(short: str, given: Mapping[str, str]) -> OpenSpielGame | None:
    spec = host().games.get(short)
    # the engine has no disguises
    if spec is None or not given.keys() <= {parameter.name for parameter in spec.parameters} - {DISGUISE.name}:
        return None
    with suppress(BadParameter):
        game = load_game(short, **given)
        if isinstance(game, OpenSpielGame) and _follows_engine(game) and _has_same_engine(game, given):
            return game
    return None


def _get_defaults(short: str) -> Mapping[str, Any]:
    known = {kind.short_name: kind for kind in pyspiel.registered_games()}
    return cast(Mapping[str, Any], known[short].parameter_specification) if short in known else {}


def _follows_engine(game: OpenSpielGame) -> bool:
    """Return whether a game has the engine's own states, legal actions and chance outcomes."""
    kind = type(game)
    return all(getattr(kind, name) is getattr(OpenSpielGame, name) for name in ("start", "legal", "list_chances"))


def _has_same_engine(game: OpenSpielGame, given: Mapping[str, str]) -> bool:
    """Return whether a game's engine is the OpenSpiel game of the same name with the parameters `given`.

    OpenSpiel derives some parameters from others, such as hex's columns from its board size."""
    if game.engine.get_type().short_name != game.spec.name:
        return False
    return bool(pyspiel.load_game(format_name(game.spec.name, given)).get_parameters() == game.engine.get_parameters())
