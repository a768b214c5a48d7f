"""Tool descriptions: name, purpose, and the JSON schema of the arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gymposium.tasks.tools.merging import list_types
from gymposium.tasks.tools.schema import Schema

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Tool:
    """A tool that a player may call.

    Raises `ValueError` for a name that chat templates cannot write, and for parameters that are not a JSON schema of an
    object within the limits of `Schema`."""

    name: str
    """Letters, digits, `_` and `-`; at most 64 characters."""
    description: str
    """What the tool does, as shown to callers."""
    parameters: Mapping[str, Any]
    """JSON schema for the object of arguments, in the draft it names or 2020-12.

    Further arguments are allowed unless it has `"additionalProperties": False`."""
    defaults: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Values passed to the world for omitted arguments. Defaults in the schema are for information only."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"invalid tool name {self.name!r}: use letters, digits, '_' and '-', at most 64 characters"
            )
        if "object" not in (list_types(self.parameters) or ["object"]):
            raise ValueError(
                f"the parameters of tool {self.name} must be a JSON schema of type 'object', not "
                f"{self.parameters.get('type')!r}"
            )
        object.__setattr__(self, "parameters", {"type": "object", **self.parameters})
        _ = self.schema

    def __hash__(self) -> int:
        return hash((self.name, self.description))

    @classmethod
    def from_function(cls, function: Callable[..., Any]) -> Tool:
        """Return the tool that a function implements.

        The function's name, docstring and signature become the tool's name, description and parameters.
        `Annotated[str, pydantic.Field(description="...")]` describes a parameter.

        Raises `TypeError` for a function without a docstring, with an untyped argument, or with `*args`."""
        from pydantic import TypeAdapter, create_model

        name, fields = function.__name__, {}
        description = inspect.getdoc(function)
        if not description:
            raise TypeError(f"{name}() has no docstring. Add one that tells players what the tool does")
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise TypeError(f"{name}({parameter}): a tool accepts keyword arguments only. Name each parameter")
            if parameter.annotation is parameter.empty:
                raise TypeError(f"{name}(): the argument {parameter.name!r} has no type annotation. Add one")
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
        """Return the tool in the format of chat templates and OpenAI's API."""
        described = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": described}

    @property
    def as_dict(self) -> dict[str, Any]:
        """Return the part of the tool that callers read, as stored in records."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def fill_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments, completed with `defaults`."""
        return {**self.defaults, **arguments}

    def find_objection(self, arguments: Mapping[str, Any]) -> str | None:
        """Return why the tool rejects these arguments, as a short sentence, or None if it accepts them."""
        return self.schema.find_objection(arguments)

    @cached_property
    def schema(self) -> Schema:
        """Schema of the arguments."""
        return Schema(self.parameters)


def list_tools(game: object) -> tuple[Tool, ...]:
    """Return a game's tools, or ()."""
    return getattr(game, "tools", ())
