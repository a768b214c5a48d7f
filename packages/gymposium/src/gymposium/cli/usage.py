"""Errors in the arguments of a command, found by Typer, in the words of gymposium's own errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from gymposium.errors import BadOption, UnknownName

_CommandLineError: Any = typer.BadParameter.__mro__[2]
"""The base class of Typer's errors, which has no public name of its own: Click's `ClickException`."""


@contextmanager
def usage_errors(root: Any = None) -> Iterator[None]:
    """Context that raises Typer's errors as `BadOption`, with one line that ends with the command that shows help.
    `root` is Typer's context of `gymposium` once it is made. The help of a group of commands, which Typer raises too,
    is passed on."""
    try:
        yield
    except _CommandLineError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        context = getattr(error, "ctx", None)
        verb = "" if root is None else f" {root.invoked_subcommand}"
        where = f"gymposium{verb}" if context is None else context.command_path
        raise BadOption(f"{_what(error, context)} Help:  {where} --help") from None


def refuse_duplicates(command: Any) -> None:
    """Let a command and those below it raise `BadOption` for an option that is given several times and takes one value;
    the last value would win without a word."""
    make_parser = command.make_parser

    def make_strict_parser(context: Any) -> Any:
        parser = make_parser(context)
        parse_args = parser.parse_args

        def parse_strictly(args: list[str]) -> Any:
            parsed = parse_args(args=args)
            _, _, order = parsed
            for option in (one for one in order if one.param_type_name == "option" and not one.multiple):
                if order.count(option) > 1 and (not option.is_flag or option.secondary_opts):
                    raise BadOption(f"{option.opts[-1]} is given more than once. Give it once.")
            return parsed

        parser.parse_args = parse_strictly
        return parser

    command.make_parser = make_strict_parser
    for below in getattr(command, "commands", {}).values():
        refuse_duplicates(below)


def _what(error: Any, context: Any) -> str:
    """What is wrong, as a sentence."""
    message = " ".join(error.format_message().split()).rstrip(".")
    if hasattr(error, "possibilities") and context is not None:
        known = [name for parameter in context.command.params for name in (*parameter.opts, *parameter.secondary_opts)]
        return str(UnknownName("option", error.option_name, [name for name in known if name.startswith("--")]))
    if named := re.match(r"No such command '(.*?)'", message):
        return str(UnknownName(f"command of {context.command_path}", named[1], context.command.commands))
    parameter = getattr(error, "param", None)
    if parameter is None:
        return f"{message}."
    name = parameter.opts[-1] if parameter.param_type_name == "option" else parameter.metavar or parameter.name.upper()
    if message.startswith("Missing "):
        return f"{name} is missing."
    fault = re.sub(r"^Value error, ", "", " ".join(error.message.split()).rstrip("."))
    return f"{name}: {re.sub('^Input should', 'must', fault)}."
