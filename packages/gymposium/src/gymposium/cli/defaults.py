"""Option defaults from the user's configuration file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gymposium.cli.text import print_note
from gymposium.errors import BadOption, UnknownName
from gymposium.plugins.first_party import list_first_party
from gymposium.util.user_file import PLUGINS, UserFile

_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


def read_defaults(verb: str, command: Any, file: UserFile, verbs: Iterable[str]) -> dict[str, Any]:
    """Return the user file's defaults for a command's options, by parameter name, as in Click's `default_map`.

    A note on stderr lists them. `verbs` are all commands. Raises `UnknownName` for an unknown command or option. Raises
    `BadOption` if a value's type differs from that of the option's default. Also raises it for an option without a
    default, because its meaning depends on other settings."""
    known = {name for name in verbs if name != PLUGINS}
    for name in file.defaults:
        if name not in known and name not in list_first_party()["command"]:  # without effect while it is not installed
            raise UnknownName(f"command in {file.path}", name, known)
    found = _read_options(f"{file.path}: [{verb}]", command, file.defaults.get(verb, {}))
    if found:
        print_note(f"Defaults of {file.path}: {', '.join(_format_defaults(file.defaults[verb]))}")
    return found


def _read_options(where: str, command: Any, table: Mapping[str, Any]) -> dict[str, Any]:
    below = getattr(command, "commands", None)
    if below is not None:
        for name, inner in table.items():
            if name not in below:
                raise UnknownName(f"command of {where}", name, below)
            if not isinstance(inner, dict):
                raise BadOption(f"{where}: {name} is a command. Use a table for it.")
        return {name: _read_options(f"{where[:-1]}.{name}]", below[name], inner) for name, inner in table.items()}
    options = {
        option.lstrip("-").replace("-", "_"): parameter
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--")
    }
    found = {}
    for name, value in table.items():
        if name not in options:
            raise UnknownName(f"option of {where}", name, sorted(options))
        parameter = options[name]
        default = parameter.default
        if type(default) not in _KINDS or (isinstance(default, bool) and not parameter.secondary_opts):
            raise BadOption(f"{where} {name} cannot have a default here. Only options with a default in --help can.")
        if type(value) is not type(default) and not (isinstance(default, float) and type(value) is int):
            raise BadOption(f"{where} {name} is {value!r}. Use {_KINDS[type(default)]}.")
        found[parameter.name] = value
    return found


def _format_defaults(table: Mapping[str, Any], before: str = "") -> Iterable[str]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _format_defaults(value, f"{before}{name}.")
        else:
            yield f"{before}{name} = {value}"
