"""From a name to a game."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from gymposium.errors import BadParameter
from gymposium.games.names import format_name, parse_name
from gymposium.games.protocol import Game
from gymposium.plugins.host import host


def load_game(name: str, **params: Any) -> Game:
    """The game called `name`, e.g. `load_game("goofspiel(num_cards=8)")` or
    `load_game("goofspiel", num_cards=8)`. `openspiel:NAME` gives any other OpenSpiel game with the
    engine's plain text. Games are immutable and cached.

    Raises `UnknownName` with the nearest names, `BadParameter` for a wrong parameter.
    """
    base, written = parse_name(name)
    for key in params:
        if key in written:
            raise BadParameter(f"{key!r} is given twice: in {name!r} and as a keyword.")
    given = {**written, **params}
    if base.startswith("openspiel:"):
        return _load_plain(format_name(base.removeprefix("openspiel:"), given))
    spec = host().game(base)
    return _load(base, tuple(sorted(spec.check_params(given).items())))


@lru_cache(maxsize=256)
def _load(name: str, params: tuple[tuple[str, Any], ...]) -> Game:
    return cast(Game, host().game(name).make(dict(params)))


@lru_cache(maxsize=64)
def _load_plain(engine: str) -> Game:
    from gymposium.games.openspiel.plain import plain_game

    return plain_game(engine)
