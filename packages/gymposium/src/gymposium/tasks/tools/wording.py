"""Tools as prompt text, for chat formats without tool support."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gymposium.tasks.tools.tool import Tool

_UNTOLD = {"$schema", "$id", "id", "type", "title", "description", "properties", "required"}
"""Top-level schema keywords to omit, because they add nothing or appear on separate lines."""


def describe_tools(tools: Iterable[Tool], style: str) -> str:
    """Return prompt lines that list the tools and the form of a call.

    The style `full` shows whole schemas: the arguments, which of them are required, and further constraints, such as
    referenced definitions. The style `compact` shows names, with `?` after optional ones. Both styles mark required or
    optional arguments only for a tool that has both kinds."""
    if style == "compact":
        return "".join(f"{tool.name}({', '.join(_list_names(tool.parameters))})\n" for tool in tools)
    described = "".join(
        f"- {tool.name}: {' '.join(tool.description.split())}\n" + "".join(_format_lines(tool.parameters))
        for tool in tools
    )
    return f'Tools:\n{described}A call is one line of JSON: {{"name": "...", "arguments": {{...}}}}\n'


def _list_names(schema: Mapping[str, Any]) -> Iterable[str]:
    named, required = _get_properties(schema), _get_required(schema)
    yield from (name if name in required or not required else f"{name}?" for name in named)
    yield from (name for name in required if name not in named)


def _format_lines(schema: Mapping[str, Any]) -> Iterable[str]:
    yield f"  Arguments: {json.dumps(_get_properties(schema), ensure_ascii=False)}\n"
    required = _get_required(schema)
    if required and not {*_get_properties(schema)} <= {*required}:
        yield f"  Required: {', '.join(required)}\n"
    if rest := list_further_keywords(schema):
        yield f"  Also holds: {json.dumps(rest, ensure_ascii=False)}\n"


def list_further_keywords(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object schema's keywords other than its properties and required names."""
    return {
        key: value
        for key, value in schema.items()
        if key not in _UNTOLD and not (key == "additionalProperties" and isinstance(value, bool))
    }


def _get_properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    given = schema.get("properties")
    return given if isinstance(given, Mapping) else {}


def _get_required(schema: Mapping[str, Any]) -> list[str]:
    given = schema.get("required")
    return [str(name) for name in given] if isinstance(given, list | tuple) else []
