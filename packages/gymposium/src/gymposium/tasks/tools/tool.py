"""The description of a tool: its name, what it does, and the JSON schema of its arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gymposium.tasks.tools.merging import types_of
from gymposium.tasks.tools.schema import Schema

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Tool:
    """A tool that a player may call.

    Raises `ValueError` for a name that chat templates cannot write, and for parameters that are no JSON schema of an
    object within the limits of `Schema`."""

    name: str
    """Letters, digits, `_` and `-`, 64 characters at most."""
    description: str
    """What the tool does, for its callers."""
    parameters: Mapping[str, Any]
    """The JSON schema of an object with the arguments, of the draft that it names, else 2020-12. Arguments that it does
    not name are allowed unless it says `"additionalProperties": False`."""
    defaults: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Values that a world gets for arguments that a call leaves out. A default in the schema is for callers to read."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"the name of a tool {self.name!r} must be letters, digits, '_' and '-', 64 at most")
        if "object" not in (types_of(self.parameters) or ["object"]):
            raise ValueError(f"the parameters of tool {self.name} must be a JSON schema of type 'object'")
        object.__setattr__(self, "parameters", {"type": "object", **self.parameters})
        _ = self.schema

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
        described = schema.get("properties", {})
        for one in described.values():
            one.pop("title", None)
        defaults = {name: one["default"] for name, one in described.items() if "default" in one}
        return cls(name, description, {"additionalProperties": False, **schema}, defaults)

    @property
    def as_function(self) -> dict[str, Any]:
        """The tool as chat templates and OpenAI's API take it."""
        described = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": described}

    @property
    def as_dict(self) -> dict[str, Any]:
        """The tool as records hold it: what callers read of it."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def completed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with `defaults` for those that were left out."""
        return {**self.defaults, **arguments}

    def objection(self, arguments: Mapping[str, Any]) -> str | None:
        """Return why the tool does not take these arguments, as a short sentence, or None if it takes them."""
        return self.schema.objection(arguments)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the arguments."""
        return Schema(self.parameters)


def tools_of(game: object) -> tuple[Tool, ...]:
    """The tools that a game offers; () for a game without tools."""
    return getattr(game, "tools", ())
