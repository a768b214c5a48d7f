"""The description of a tool: its name, what it does, and the JSON schema of its arguments."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gymposium.errors import MissingExtra

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_LONGEST_REASON = 200


@dataclass(frozen=True)
class Tool:
    """A tool that a player may call.

    `parameters` is the JSON schema (draft 2020-12) of an object with the arguments. Arguments that it does not name are
    refused. Raises `ValueError` for a name that chat templates cannot write, for a schema of something else, and for
    one that refers to another document, which would be fetched when arguments are checked."""

    name: str
    """Letters, digits, `_` and `-`, 64 characters at most."""
    description: str
    """What the tool does, for its callers."""
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"the name of a tool {self.name!r} must be letters, digits, '_' and '-', 64 at most")
        if self.parameters.get("type") != "object":
            raise ValueError(f"the parameters of tool {self.name} must be a JSON schema of type 'object'")
        for reference in _references(self.parameters):
            if not reference.startswith("#"):
                raise ValueError(f"the parameters of tool {self.name} refer to {reference!r}, which is not in them")
        object.__setattr__(self, "parameters", {"additionalProperties": False, **self.parameters})

    def __hash__(self) -> int:
        return hash((self.name, self.description))

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Tool:
        """The tool that a function implements. Its name, its docstring and its signature become the tool's name,
        description and parameters; `Annotated[str, pydantic.Field(description="...")]` describes a parameter.

        Raises `TypeError` for a function without a docstring, with an argument without a type, or with `*args`."""
        from pydantic import TypeAdapter, create_model

        name, fields = function.__name__, {}
        description = inspect.getdoc(function)
        if not description:
            raise TypeError(f"{name}() has no docstring, which would tell players what the tool does")
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise TypeError(f"{name}({parameter}): a tool is called with named arguments")
            if parameter.annotation is parameter.empty:
                raise TypeError(f"{name}(): its argument {parameter.name} has no type")
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (parameter.annotation, default)
        schema = TypeAdapter(create_model(name, **fields)).json_schema()  # type: ignore[call-overload]
        schema.pop("title")
        for one in schema.get("properties", {}).values():
            one.pop("title", None)
        return cls(name, description, schema)

    @property
    def as_function(self) -> dict[str, Any]:
        """The tool as chat templates and OpenAI's API take it."""
        described = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": described}

    def completed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with the defaults of those that were left out, where the schema names any."""
        described: Mapping[str, Any] = self.parameters.get("properties", {})
        defaults = {name: one["default"] for name, one in described.items() if "default" in one}
        return {**defaults, **arguments}

    def objection(self, arguments: Mapping[str, Any]) -> str | None:
        """Why the tool does not take these arguments, as a short sentence; None if it takes them."""
        error = next(iter(self._validator.iter_errors(arguments)), None)
        if error is None:
            return None
        place = "".join(f"[{step!r}]" if isinstance(step, int) else f".{step}" for step in error.path)
        reason = f"{place.lstrip('.')}: {error.message}" if place else str(error.message)
        return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"

    @cached_property
    def _validator(self) -> Any:
        try:
            from jsonschema import Draft202012Validator
        except ImportError as error:
            raise MissingExtra("gymposium's support for worlds", "'gymposium[worlds]'") from error
        Draft202012Validator.check_schema(self.parameters)
        return Draft202012Validator(self.parameters)


def _references(schema: Any) -> Iterator[str]:
    """The addresses to which a schema refers."""
    match schema:
        case Mapping():
            for key, value in schema.items():
                if key in ("$ref", "$dynamicRef") and isinstance(value, str):
                    yield value
                yield from _references(value)
        case list() | tuple():
            for value in schema:
                yield from _references(value)


def tools_of(game: object) -> tuple[Tool, ...]:
    """The tools that a game offers; () for a game without tools."""
    return getattr(game, "tools", ())


def tools_in_words(tools: Iterable[Tool], style: str) -> str:
    """The tools as lines of a prompt, for players whose chat format has no place for tools, and the form of a call."""
    if style == "compact":
        return "".join(f"{tool.name}({', '.join(tool.parameters.get('properties', ()))})\n" for tool in tools)
    described = "".join(
        f"- {tool.name}: {' '.join(tool.description.split())}\n"
        f"  Arguments: {json.dumps(tool.parameters.get('properties', {}), ensure_ascii=False)}\n"
        for tool in tools
    )
    return f'Tools:\n{described}A call is one line of JSON: {{"name": "...", "arguments": {{...}}}}\n'
