"""The game for a game of OpenSpiel's engine: gymposium's own words for it, or the engine's plain text."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.registry import load_game, load_named_game
from gymposium.plugins.host import host
from gymposium.plugins.names import parse_name


def game_of_engine(name: str) -> OpenSpielGame:
    """Return the game that OpenSpiel calls `name`, such as `goofspiel(num_cards=4)` (`str(engine_game)`).

    It is gymposium's own game if that has the engine's rules, parameters and numbers of actions, and `openspiel:NAME`
    otherwise. The name may come from a file: it is checked as one (`gymposium.allowed`). Raises `BadParameter` and
    `UnknownName` if OpenSpiel has no such game."""
    short, written = parse_name(name)
    return _own_game(short, written) or cast(OpenSpielGame, load_named_game(f"openspiel:{name}"))


def _own_game(short: str, written: Mapping[str, str]) -> OpenSpielGame | None:
    spec = host().games.get(short)
    if spec is None:
        return None
    ours = {parameter.name for parameter in spec.parameters}
    defaults = _defaults(short)
    given = {key: value for key, value in written.items() if key in ours}
    if any(_text(defaults.get(key)) != value.lower() for key, value in written.items() if key not in ours):
        return None
    with suppress(BadParameter):
        game = load_game(short, **given)
        if isinstance(game, OpenSpielGame) and _follows_engine(game) and _is_default_besides(game, defaults, given):
            return game
    return None


def _defaults(short: str) -> Mapping[str, Any]:
    import pyspiel

    known = {kind.short_name: kind for kind in pyspiel.registered_games()}
    return cast(Mapping[str, Any], known[short].parameter_specification) if short in known else {}


def _text(value: Any) -> str:
    """Return a parameter as the engine writes it, in lower case."""
    return str(value).lower()


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
