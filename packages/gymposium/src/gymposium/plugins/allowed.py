"""The gate for names in files: what they open needs the user's permission.

A record, a suite, an entry, a config or a run may come from anyone, and a link can fill in a form of the viewer. A name
in one of them must not import a module, read a path, ask a server, start a program or wait at the terminal unless the
user has allowed that name: with `gymposium --allow NAME`, or in the environment variable `GYMPOSIUM_ALLOW` (one name a
line), which child processes inherit. A name that ends in `*` allows all names that begin so. Names that the user types
on the command line, or passes from Python to `load_game` and `make_player`, need no permission.

Specs declare what their names open (`gymposium.plugins.specs`): `Parameter.opens`, `FormSpec.opens` and
`ConfiguredSpec.opens`. The checks are `gymposium.games.registry.check_named_game`,
`gymposium.players.grammar.check_named_player`, `gymposium.rewards.grammar.check_named_reward` and, for the configs of
runs, `gymposium_train.config.permitted.check_permitted`.

A file may also name an environment variable whose value is sent as a token. Such a variable must be on the user's own
list: `gymposium --allow-env NAME`, or `GYMPOSIUM_ALLOW_ENV`. A name that is allowed in full, without `*`, allows the
variables in it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable

from gymposium.errors import NotAllowed

VARIABLE = "GYMPOSIUM_ALLOW"
VARIABLES = "GYMPOSIUM_ALLOW_ENV"


def allow(*names: str) -> None:
    """Allow these names in this process and in those that it starts from now on."""
    _add(VARIABLE, names)


def allow_variables(*names: str) -> None:
    """Allow files to name these environment variables as tokens, in this process and in those that it starts from now
    on."""
    _add(VARIABLES, names)


def is_allowed(name: str) -> bool:
    """Return whether the user has allowed this name."""
    allowed = _listed(VARIABLE)
    return name in allowed or any(one.endswith("*") and name.startswith(one[:-1]) for one in allowed)


def check_allowed(name: str, why: str, variables: Iterable[str] = ()) -> None:
    """Raise `NotAllowed` unless the user has allowed this name. `why` says as a clause what it would do. `variables`
    are the environment variables that the name sends."""
    if name in _listed(VARIABLE):
        return
    if not is_allowed(name):
        raise NotAllowed(name, why, f"--allow {shlex.quote(name)}")
    for variable in variables:
        check_variable(variable, name)


def check_variable(variable: str, where: str) -> None:
    """Raise `NotAllowed` unless the user has allowed files to name this environment variable. `where` names it."""
    if variable not in _listed(VARIABLES):
        why = f"{where} sends the value of this environment variable"
        raise NotAllowed(variable, why, f"--allow-env {shlex.quote(variable)}")


def allowed_names() -> list[str]:
    """Return the names that the user has allowed."""
    return _listed(VARIABLE)


def allowed_variables() -> list[str]:
    """Return the environment variables that the user has allowed."""
    return _listed(VARIABLES)


def _add(variable: str, names: Iterable[str]) -> None:
    os.environ[variable] = "\n".join(dict.fromkeys([*_listed(variable), *names]))


def _listed(variable: str) -> list[str]:
    return os.environ.get(variable, "").splitlines()
