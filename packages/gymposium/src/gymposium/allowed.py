"""Permission for the names that a file may not use on its own.

A record, a suite or an entry may come from anyone, and a link can fill in a form of the viewer. A game or player that
one of them names must not import a module, read a path, ask a server or wait at the terminal unless the user has
allowed that name: with `gymposium --allow NAME`, or in the environment variable `GYMPOSIUM_ALLOW` (one name a line),
which worker processes inherit. A name that ends in `*` allows all names that begin so. Names that the user types on the
command line, or passes from Python to `load_game` and `make_player`, need no permission.

The checks are `gymposium.games.registry.check_named_game` and `gymposium.players.grammar.check_named_player`.
"""

from __future__ import annotations

import os
import shlex

from gymposium.errors import NotAllowed

VARIABLE = "GYMPOSIUM_ALLOW"


def allow(*names: str) -> None:
    """Allow these names in this process and in those that it starts from now on."""
    os.environ[VARIABLE] = "\n".join(dict.fromkeys([*_allowed(), *names]))


def is_allowed(name: str) -> bool:
    """Whether the user has allowed this name."""
    return any(name == allowed or (allowed.endswith("*") and name.startswith(allowed[:-1])) for allowed in _allowed())


def check_allowed(name: str, why: str) -> None:
    """Raise `NotAllowed` unless the user has allowed this name; `why` says as a clause what it would do."""
    if not is_allowed(name):
        raise NotAllowed(name, why, f"--allow {shlex.quote(name)}")


def _allowed() -> list[str]:
    return os.environ.get(VARIABLE, "").splitlines()
