"""Errors in a command's arguments found by Typer, as gymposium errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from gymposium.errors import BadOption, UnknownName
from gymposium.plugins.command_line import format_command_line

_CommandLineError: Any = typer.BadParameter.__mro__[2]
"""The base class of Typer's errors, Click's `ClickException`. Typer does not export it."""

_ARGUMENTS = f"{__name__}.arguments"
"""Key of the command's arguments in Typer's contexts."""


@contextmanager
def convert_usage_errors(root: Any = None) -> Iterator[None]:
    """Raise Typer's errors as `BadOption`, on one line that ends with the help command.

    `root` is Typer's context of `gymposium`, if it exists. Typer also raises a command group's help, which is passed
    through."""
    try:
        yield
    except _CommandLineError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        context = getattr(error, "ctx", None)
        verbs = [] if root is None else [root.invoked_subcommand]
        if context is not None:
            verbs = context.command_path.split()[1:]
        raise BadOption(f"{_describe_error(error, context)} Help:  {format_command_line(*verbs, '--help')}") from None


def parse_strictly(command: Any) -> None:
    """Make a command and its subcommands raise `BadOption` for arguments that Typer silently accepts.

    These are repeated single-value options (Typer uses the last value), options with empty text, and paths that
    `_check_path` rejects."""
    make_parser = command.make_parser
    command.make_parser = lambda context: make_strict_parser(make_parser(context), command)
    for below in getattr(command, "commands", {}).values():
        parse_strictly(below)


def make_strict_parser(parser: Any, command: Any) -> Any:
    """Return a command's argument parser with the checks of `parse_strictly`."""
    parse_args = parser.parse_args

    def parse(args: list[str]) -> Any:
        parser.ctx.meta[_ARGUMENTS] = [*args]  # the parser consumes them
        parsed = parse_args(args=args)
        given, _, order = parsed
        for option in (one for one in order if one.param_type_name == "option" and not one.multiple):
            if order.count(option) > 1 and (not option.is_flag or option.secondary_opts):
                raise BadOption(f"{option.opts[-1]} is given more than once. Remove the duplicate.")
        for parameter in command.params:
            values = given.get(parameter.name)
            for value in values if isinstance(values, list | tuple) else [values]:
                if isinstance(value, str) and _takes_paths(command, parameter):
                    _check_path(_get_name(parameter), value)
                elif value == "" and parameter.param_type_name == "option":
                    raise BadOption(f"{_get_name(parameter)} is empty. Give it a value, or leave it out.")
        return parsed

    parser.parse_args = parse
    return parser


def get_spelling(context: Any, parameter: Any) -> str:
    """Return a command parameter as the user typed it: `--no-swap`, `-n`, `FILE`."""
    if parameter.param_type_name != "option":
        return _get_name(parameter)
    names: list[str] = [*parameter.opts, *parameter.secondary_opts]
    typed = [arg.partition("=")[0] for arg in context.meta.get(_ARGUMENTS, ())]
    typed += [arg[:2] for arg in typed if not arg.startswith("--")]  # -n5
    return next((name for name in names if name in typed), names[0])


def _takes_paths(command: Any, parameter: Any) -> bool:
    """Return whether a parameter's values are paths."""
    hint = get_type_hints(command.callback).get(parameter.name)
    return any(part is Path for one in (hint, *get_args(hint)) for part in (one, *get_args(one)))


def _check_path(name: str, path: str) -> None:
    """Raise `BadOption` for an empty path or one with newlines or tabs.

    Python takes an empty path for the working directory. When printed, newlines and tabs would look like several lines
    or columns."""
    if not path:
        raise BadOption(f"{name}: the path is empty. Use a dot for the working directory.")
    if len(path.splitlines()) != 1 or "\t" in path:
        raise BadOption(f"{name} {path!r}: a path must not have newlines or tabs. Rename the file or folder.")


def _get_name(parameter: Any) -> str:
    """Return the parameter's name in the help: `--out`, `DIR`."""
    if parameter.param_type_name == "option":
        return str(parameter.opts[-1])
    return parameter.metavar or str(parameter.name).upper()


def _describe_error(error: Any, context: Any) -> str:
    """Return a sentence that describes the usage error."""
    message = " ".join(error.format_message().split()).rstrip(".")
    if hasattr(error, "possibilities") and context is not None:
        known = [name for parameter in context.command.params for name in (*parameter.opts, *parameter.secondary_opts)]
        return str(UnknownName("option", error.option_name, [name for name in known if name.startswith("--")]))
    if named := re.match(r"No such command '(.*?)'", message):
        return str(UnknownName(f"command of {context.command_path}", named[1], context.command.list_commands(context)))
    parameter = getattr(error, "param", None)
    if parameter is None:
        return f"{message}."
    name = _get_name(parameter)
    if message.startswith("Missing "):
        return f"{name} is missing."
    fault = re.sub(r"^Value error, ", "", " ".join(error.message.split()).rstrip("."))
    return f"{name}: {re.sub('^Input should', 'must', fault)}."
