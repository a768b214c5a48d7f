"""The tools of a server that are offered: chosen, checked, and with a digest that tells when one has changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from gymposium.errors import BadOption, UnknownName
from gymposium.tools import Tool
from gymposium_mcp.settings import WorldSettings

ANSWER = Tool(
    "answer",
    "Give your final answer to the question. This ends the task.",
    {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The answer alone, without explanations."}},
        "required": ["text"],
    },
)
"""The tool of every such world that ends its tasks."""


def offered(settings: WorldSettings, listed: Sequence[Mapping[str, Any]]) -> tuple[Tool, ...]:
    """The offered tools of a server, from its list as on the wire, in the order of `allow` or by name.

    Raises `UnknownName` for an allowed tool that the server does not have, and `BadOption` for a tool that cannot be
    offered, and for tools whose digest is not that of the settings."""
    by_name = {str(tool["name"]): tool for tool in listed}
    allow = settings.tools.allow
    for name in allow if allow != "all" else ():
        if name not in by_name:
            raise UnknownName(f"tool of the server of {settings.path}", name, by_name)
    tools = tuple(_tool(settings, by_name[name]) for name in (sorted(by_name) if allow == "all" else allow))
    if settings.tools.digest and settings.tools.digest != digest_of(tools):
        raise BadOption(
            f"{settings.path}, [tools]: digest is {settings.tools.digest!r}, but the server's tools now have "
            f"{digest_of(tools)!r}. Read their descriptions, and write this digest if they are to be offered."
        )
    return tools


def digest_of(tools: Sequence[Tool]) -> str:
    """The digest of names, descriptions and schemas, in their order: 32 hexadecimal digits."""
    text = json.dumps([asdict(tool) for tool in tools], sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def changes(before: Sequence[Tool], after: Sequence[Tool]) -> str:
    """What has changed in the tools, as a clause: `search has another description; read is gone`."""
    old, new = {tool.name: tool for tool in before}, {tool.name: tool for tool in after}
    return "; ".join(
        [
            *(f"{name} is gone" for name in old if name not in new),
            *(f"{name} is new" for name in new if name not in old),
            *(
                f"{name} has another description"
                for name in old
                if name in new and old[name].description != new[name].description
            ),
            *(
                f"{name} has other arguments"
                for name in old
                if name in new and old[name].parameters != new[name].parameters
            ),
        ]
    )


def _tool(settings: WorldSettings, listed: Mapping[str, Any]) -> Tool:
    name, schema = str(listed["name"]), listed["inputSchema"]
    where = f"{settings.path}: the server's tool {name!r} cannot be offered"
    if name == ANSWER.name:
        raise BadOption(f"{where}, because the tool that ends a task has this name. Leave it out of allow.")
    try:
        Draft202012Validator.check_schema(schema)
        return Tool(name, str(listed.get("description") or ""), schema)
    except (SchemaError, ValueError) as error:
        reason = error.message if isinstance(error, SchemaError) else error
        raise BadOption(f"{where}: {reason}. Leave it out of allow.") from error
