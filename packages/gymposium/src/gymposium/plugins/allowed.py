"""User permissions for names in files that open something.

A record, a suite, an entry, a config or a run may come from anyone, and a link can fill in a viewer form. Without
the user's permission, a name in one of these must not import a module, read a path, query a server, start a program or
wait at the terminal. The user allows names with `gymposium --allow NAME` or the environment variable `GYMPOSIUM_ALLOW`
(one name per line), which child processes inherit. A name that ends in `*` allows all names with that prefix. Names on
the command line, or passed from Python to `load_game` and `make_player`, need no permission.

Specs declare what their names open (`gymposium.plugins.specs`): `Parameter.opens`, `FormSpec.opens` and
`ConfiguredSpec.opens`. The checks are `gymposium.games.registry.check_named_game`,
`gymposium.players.grammar.check_named_player`, `gymposium.rewards.grammar.check_named_reward` and, for the configs of
runs, `gymposium_train.config.permitted.check_permitted`.

A file may also name an environment variable whose value is sent as a token. The user must allow each such variable with
`gymposium --allow-env NAME` or `GYMPOSIUM_ALLOW_ENV`. A name that is allowed in full, without `*`, also allows its
variables.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable

from gymposium.errors import PermissionRequired

VARIABLE = "GYMPOSIUM_ALLOW"
VARIABLES = "GYMPOSIUM_ALLOW_ENV"


def allow_names(*names: str) -> None:
    """Allow these names in this process and its future child processes."""
    _add_names(VARIABLE, names)


def allow_variables(*names: str) -> None:
    """Let files name these environment variables as tokens, in this process and its future child processes."""
    _add_names(VARIABLES, names)


def is_allowed(name: str) -> bool:
    """Return whether the user has allowed this name."""
    allowed = _read_names(VARIABLE)
    return name in allowed or any(one.endswith("*") and name.startswith(one[:-1]) for one in allowed)


def check_allowed(name: str, why: str, variables: Iterable[str] = ()) -> None:
    """Raise `PermissionRequired` unless the user has allowed this name.

    `why` is a clause that says what the name would do. `variables` are the environment variables that it sends."""
    if name in _read_names(VARIABLE):
        return
    if not is_allowed(name):
        raise PermissionRequired(name, why, f"--allow {shlex.quote(name)}")
    for variable in variables:
        check_variable(variable, name)


def check_variable(variable: str, where: str) -> None:
    """Raise `PermissionRequired` unless the user lets files name this environment variable.

    `where` says where it is named."""
    if variable not in _read_names(VARIABLES):
        why = f"{where} sends the value of this environment variable"
        raise PermissionRequired(variable, why, f"--allow-env {shlex.quote(variable)}")


def list_allowed_names() -> list[str]:
    """Return the names that the user has allowed."""
    return _read_names(VARIABLE)


def list_allowed_variables() -> list[str]:
    """Return the environment variables that the user has allowed."""
    return _read_names(VARIABLES)


def _add_names(variable: str, names: Iterable[str]) -> None:
    os.environ[variable] = "\n".join(dict.fromkeys([*_read_names(variable), *names]))


def _read_names(variable: str) -> list[str]:
    return os.environ.get(variable, "").splitlines()
