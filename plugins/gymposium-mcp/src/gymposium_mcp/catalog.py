"""The tools that a server offers to players: selection, checks, and a digest that detects changes."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from gymposium.errors import BadOption, UnknownName
from gymposium.tasks.tools import Tool
from gymposium_mcp.settings import WorldSettings

ANSWER = Tool(
    "answer",
    "Give your final answer to the question. This ends the task.",
    {
        "additionalProperties": False,
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The answer alone, without explanations."}},
        "required": ["text"],
    },
)
"""The tool that ends tasks in every such world."""
MOST_TOOLS = 512
"""Maximum number of a server's tools."""
_LONGEST_NAME = 64
_LONGEST_SERVER_NAME = 256
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """The server's tools that players may call."""

    tools: tuple[Tool, ...] = ()
    server_names: tuple[str, ...] = ()
    """The server's name for each tool. Players see another name if chat templates cannot write it."""

    def server_name(self, name: str) -> str:
        """Return the server's name for a tool that a player calls."""
        return next(theirs for tool, theirs in zip(self.tools, self.server_names, strict=True) if tool.name == name)


def select_tools(settings: WorldSettings, listed: Sequence[Mapping[str, Any]]) -> ToolOffer:
    """Return the offered tools of a server, given its raw list, in the order of `allow` or by name.

    Raises `UnknownName` for an allowed tool that the server lacks, and `BadOption` for a tool that cannot be
    offered, or tools whose digest differs from the settings."""
    if len(listed) > MOST_TOOLS:
        raise BadOption(
            f"{settings.path}: the server has {len(listed):,} tools, more than {MOST_TOOLS}. Use one with fewer."
        )
    by_name = {str(tool["name"]): tool for tool in listed}
    if long := next((name for name in by_name if len(name) > _LONGEST_SERVER_NAME), None):
        raise BadOption(
            f"{settings.path}: the server's tool {long[:40]!r}… has a name of {len(long):,} characters, more than "
            f"{_LONGEST_SERVER_NAME}. Use a server with shorter names."
        )
    allow = settings.tools.allow
    for name in allow if allow != "all" else ():
        if name not in by_name:
            raise UnknownName(f"server tool in {settings.path}", name, by_name)
    names = tuple(sorted(by_name) if allow == "all" else allow)
    tools = tuple(_make_tool(settings, by_name[name], ours) for name, ours in _make_writable(names).items())
    if settings.tools.digest and settings.tools.digest != compute_digest(tools):
        raise BadOption(
            f"{settings.path}, [tools]: digest is {settings.tools.digest!r}, but the server's tools now have "
            f"{compute_digest(tools)!r}. Read their descriptions, and update the digest to offer them."
        )
    return ToolOffer(tools, names)


def _make_writable(names: Sequence[str]) -> dict[str, str]:
    """Return the name that players see for each server tool. It is unchanged if chat templates can write it."""
    taken = {ANSWER.name, *(name for name in names if _NAME.fullmatch(name))}
    written = {}
    for name in names:
        if not _NAME.fullmatch(name):
            written[name] = _find_free_name(re.sub(r"[^A-Za-z0-9_-]", "_", name), taken)
            taken.add(written[name])
        else:
            written[name] = name
    return written


def _find_free_name(name: str, taken: Collection[str]) -> str:
    """Return a similar name that no other tool has."""
    name = name if re.match(r"[A-Za-z_]", name) else f"_{name}"
    numbered = (f"{name[: _LONGEST_NAME - len(end)]}{end}" for end in ("", *(f"_{n}" for n in range(2, 10_000))))
    return next(one for one in numbered if one not in taken)


def compute_digest(tools: Sequence[Tool]) -> str:
    """Return the digest of names, descriptions and schemas, in order: 32 hexadecimal digits."""
    text = json.dumps([tool.as_dict for tool in tools], sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def describe_changes(before: Sequence[Tool], after: Sequence[Tool]) -> str:
    """Describe the changes in the tools, as a clause: `search has another description; read is gone`."""
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


def _make_tool(settings: WorldSettings, listed: Mapping[str, Any], ours: str) -> Tool:
    name = str(listed["name"])
    where = f"{settings.path}: the server's tool {name!r} cannot be offered"
    if name == ANSWER.name:
        raise BadOption(f"{where}, because the tool that ends a task has this name. Remove it from allow.")
    try:
        tool = Tool(ours, str(listed.get("description") or ""), listed["inputSchema"])
        tool.schema.check()
    except ValueError as error:
        raise BadOption(f"{where}: {error}. Remove it from allow.") from error
    return tool
