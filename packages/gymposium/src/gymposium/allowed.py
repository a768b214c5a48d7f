"""What a file may name, and what only the user may.

A record, a suite or an entry is a file, perhaps somebody else's, and a link can fill in the viewer's form. A game or
player that one of them names must not import a module, read a path, ask a server or wait at the terminal unless the
user has allowed that name: with `gymposium --allow NAME`, or in the environment variable `GYMPOSIUM_ALLOW` (one name a
line), which worker processes inherit. A name that ends in `*` allows all names that begin so. Names that the user types
on the command line, or passes from Python to `load_game` and `make_player`, need no permission.
"""

from __future__ import annotations

import os
import re
import shlex
from urllib.parse import unquote_plus

from gymposium.errors import BadParameter, NotAllowed, UnknownName
from gymposium.games.names import parse_name
from gymposium.players.grammar import check_player
from gymposium.plugins.host import host

VARIABLE = "GYMPOSIUM_ALLOW"


def allow(*names: str) -> None:
    """Allow these names in this process and in those that it starts from now on."""
    os.environ[VARIABLE] = "\n".join(dict.fromkeys([*_allowed(), *names]))


def is_allowed(name: str) -> bool:
    """Whether the user has allowed this name."""
    return any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in _allowed())


def check_named_game(name: str) -> None:
    """Raises `NotAllowed` where a file must not name this game, and `BadParameter` where it is no name at all."""
    if not is_allowed(name) and (what := _game_opens(name)):
        raise NotAllowed(name, what, _flag(name))


def check_named_player(text: str) -> None:
    """Raises `NotAllowed` where a file must not name this player, and as `check_player` where there is no such kind."""
    spec, _ = check_player(text)
    opens = spec.opens and (not spec.opens_where or re.search(spec.opens_where, unquote_plus(text)))
    if opens and not is_allowed(text):
        raise NotAllowed(text, f"it opens {spec.opens}", _flag(text))


def _allowed() -> list[str]:
    return os.environ.get(VARIABLE, "").splitlines()


def _flag(name: str) -> str:
    return f"--allow {shlex.quote(name)}"


def _game_opens(name: str) -> str:
    """Why a file must not name this game, as a clause; "" where it may."""
    base, params = parse_name(name)
    if base.startswith("gym:"):
        from gymposium.games.gym_env import OWN

        if ":" in base.removeprefix("gym:"):
            return "it imports a module"
        if strange := [key for key in params if key not in OWN]:
            return f"it passes {strange[0]} to the environment's code"
        return ""
    if base.startswith("openspiel:"):
        from gymposium.games.openspiel.parameters import harmful

        return harmful(base.removeprefix("openspiel:"), params)
    try:
        spec = host().game(base)
    except UnknownName:
        return ""  # whoever loads it says so
    for parameter in spec.parameters:
        if not parameter.opens or parameter.name not in params:
            continue
        try:
            if parameter.check(params[parameter.name]) == parameter.default:
                continue
        except BadParameter:
            continue  # whoever loads it says so
        return f"its parameter {parameter.name} opens {parameter.opens}"
    return ""
