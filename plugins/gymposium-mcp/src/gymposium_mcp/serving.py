"""Games and tasks as an MCP server: `gymposium serve-mcp`.

MCP's newest version has no sessions over HTTP, so each call names its match, whose id `new_match` returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from threading import Lock
from typing import Any

from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool as McpTool,
)
from starlette.types import ASGIApp

from gymposium.errors import BadOption, GymposiumError
from gymposium.games.protocol import Game
from gymposium.http.environments import EnvOffer
from gymposium.http.environments.server import IDLE, SESSIONS
from gymposium.http.environments.session import EnvSession
from gymposium.http.environments.tools import describe_outcome, list_seat_tools
from gymposium.http.guard import ApiGuard
from gymposium.match import MatchResult
from gymposium.tasks.tools import Tool, list_tools
from gymposium.util.visible import quantity

NEW_MATCH = "new_match"
_MATCH = {"type": "string", "description": "The id of the match, from new_match."}
_INSTRUCTIONS = (
    "Begin a match with new_match. It returns the rules, the position and the id of the match. Answer each position by "
    "calling a tool, until done is true. Text replies are not read."
)


class MatchServer:
    """The matches of all clients of an MCP server."""

    def __init__(
        self,
        offer: EnvOffer,
        tools: Iterable[Tool],
        write: Callable[[MatchResult], object],
        *,
        sessions: int = SESSIONS,
        idle: float = IDLE,
    ) -> None:
        """`tools` are the offer's `list_served_tools`. `write` records a finished match, from one thread at a time. At
        most `sessions` matches run at once, and one may end after `idle` idle seconds."""
        self._offer, self._write, self._sessions, self._idle = offer, write, sessions, idle
        self._tools = {tool.name: tool for tool in tools}
        self._running: dict[str, EnvSession] = {}
        self._used: dict[str, float] = {}
        self._writing, self._changing = Lock(), Lock()

    def build(self) -> Server[Any]:
        """Return the MCP server."""
        return Server(
            "gymposium",
            version=version("gymposium"),
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    def build_app(self, *, names: Iterable[str] = (), token: str | None = None) -> ASGIApp:
        """Return the application that serves streamable HTTP at `/mcp`. `names` and `token` configure its guard."""
        checked_by_the_guard = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        app = self.build().streamable_http_app(transport_security=checked_by_the_guard)
        return ApiGuard(app, names=names, token=token)

    def close(self) -> None:
        """Abandon all unfinished matches."""
        for match in [*self._running]:
            self._drop(match)

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool, and return its structured result. Raises `GymposiumError` for an invalid call."""
        if name not in self._tools:
            raise GymposiumError(f"Unknown tool {name[:80]!r}. Tools: {', '.join(self._tools)}.")
        if name == NEW_MATCH:
            return self._begin(arguments)
        match = str(arguments.get("match"))
        session = self._running.get(match)
        if session is None:
            raise GymposiumError(f"Unknown or finished match {match[:80]!r}. Begin one with {NEW_MATCH}.")
        self._used[match] = time.monotonic()
        try:
            shown = session.call_tool(name, {key: value for key, value in arguments.items() if key != "match"})
        except GymposiumError:
            if not session.is_playing:
                self._drop(match)
            raise
        if shown["done"]:
            self._drop(match)
        return {"match": match, **describe_outcome(shown), "text": session.describe_turn(rules=False)}

    def _begin(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if objection := self._tools[NEW_MATCH].find_objection(arguments):
            raise GymposiumError(f"{NEW_MATCH}: {objection}.")
        self._drop_idle()
        if len(self._running) >= self._sessions:
            raise GymposiumError(
                f"This server is at its limit of {quantity(self._sessions, 'match', 'matches')}. Finish one first."
            )
        game = arguments.get("game", self._offer.first)
        session = EnvSession(self._offer, game, self._record, begin=f"Call {NEW_MATCH}")
        reply = "tools-hermes" if list_tools(self._offer.game(game)) else "move"  # the client lists the tools
        shown = session.reset({**arguments, "reply": reply})
        match = shown["metadata"]["match"]
        if not shown["done"]:
            with self._changing:
                self._running[match], self._used[match] = session, time.monotonic()
        outcome = {**describe_outcome(shown), "text": session.describe_turn(rules=True)}
        return {"match": match, "seat": shown["metadata"]["seat"], **outcome}

    def _drop(self, match: str) -> None:
        with self._changing:
            session = self._running.pop(match, None)
            self._used.pop(match, None)
        if session is not None:
            session.close()

    def _drop_idle(self) -> None:
        earliest = time.monotonic() - self._idle
        for match in [match for match, used in self._used.copy().items() if used < earliest]:
            self._drop(match)

    def _record(self, played: MatchResult) -> None:
        with self._writing:
            self._write(played)

    async def _list_tools(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                McpTool(name=tool.name, description=tool.description, input_schema={**tool.parameters})
                for tool in self._tools.values()
            ]
        )

    async def _call_tool(self, ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        try:
            told = await to_thread.run_sync(self.call, params.name, params.arguments or {})
        except GymposiumError as error:
            return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
        text = f"Match {told['match']}.\n{told['text']}" if params.name == NEW_MATCH else told["text"]
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=told)


async def serve_stdio(matches: MatchServer) -> None:
    """Serve one client over standard input and output, until it closes them."""
    server = matches.build()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def list_served_tools(offer: EnvOffer) -> tuple[Tool, ...]:
    """Return `new_match`, and the tools that play the offer's games, each with the argument `match`.

    Raises `BadOption` for games that cannot share a server."""
    games = {game.name: game for game in offer.games.values()}
    own = [name for name, game in games.items() if list_tools(game)]
    if own and len(games) > 1:
        raise BadOption(f"{own[0]} has its own tools, so it needs a server of its own. Serve it alone.")
    playing = {tool.name: tool for game in games.values() for tool in list_seat_tools(game, offer.on_illegal)}
    for tool in playing.values():
        if tool.name == NEW_MATCH or "match" in tool.parameters.get("properties", {}):
            raise BadOption(f"{own[0]} cannot be served: its tool {tool.name} clashes with {NEW_MATCH} or its id.")
    return (_make_new_match(games, [*offer.opponents]), *map(_add_match, playing.values()))


def _make_new_match(games: Mapping[str, Game], opponents: Sequence[str]) -> Tool:
    """Return the tool that begins a match. Clients do not choose its seed, so no deal can be played twice."""
    names, seats = [*games], max(game.seats for game in games.values())
    choices: dict[str, Any] = {}
    if len(names) > 1:
        choices["game"] = {"type": "string", "enum": names, "description": f"The game; {names[0]} by default."}
    if seats > 1:
        choices["seat"] = {"type": "integer", "minimum": 0, "maximum": seats - 1, "description": "0 by default."}
        if len(opponents) > 1:
            what = f"The player of the other seats; {opponents[0]} by default."
            choices["opponent"] = {"type": "string", "enum": opponents, "description": what}
    return Tool(
        NEW_MATCH,
        f"Begin a match of {' or '.join(names)}. Returns its id, the rules and the first position.",
        {"properties": choices, "additionalProperties": False},
    )


def _add_match(tool: Tool) -> Tool:
    """Return a tool with the further argument `match`."""
    properties = {"match": _MATCH, **tool.parameters.get("properties", {})}
    required = ["match", *tool.parameters.get("required", ())]
    return Tool(tool.name, tool.description, {**tool.parameters, "properties": properties, "required": required})
