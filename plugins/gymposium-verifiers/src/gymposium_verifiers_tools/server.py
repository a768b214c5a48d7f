"""The tool server of one rollout, which verifiers starts as `python -m gymposium_verifiers_tools.server`."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import verifiers.v1 as vf
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, TextContent, Tool

from gymposium.envs.tool_table import ToolTable
from gymposium.tasks.tools import Call
from gymposium_verifiers_tools.matches import ToolMatchData, ToolMatchState


class MatchToolset(vf.Toolset[vf.ToolsetConfig, ToolMatchState]):
    """The tools of one match. It notes each call in the state, from which the task scores the match."""

    TOOL_PREFIX = None

    def __init__(self, config: vf.ToolsetConfig) -> None:
        super().__init__(config)
        self._table: ToolTable | None = None
        self._calls: list[dict[str, Any]] = []
        self._lock = asyncio.Lock()

    async def setup_task(self, task: ToolMatchData) -> None:
        """Begin the task's match."""
        self._table = await asyncio.to_thread(task.open_table, "agent")

    def register(self, mcp: MCPServer) -> None:
        """Offer the tools with their own schemas, which functions could not express."""
        server, play = cast(Any, mcp), self._with_state(self._play)

        async def call_tool(name: str, arguments: dict[str, Any], context: object = None) -> CallToolResult:
            async with self._lock:  # moves have an order
                result: CallToolResult = await play(name, arguments)
                return result

        server.list_tools, server.call_tool = self._list_tools, call_tool

    async def _list_tools(self) -> list[Tool]:
        table = self._require_table()
        return [Tool(name=t.name, description=t.description, input_schema=dict(t.parameters)) for t in table.tools]

    async def _play(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        table = self._require_table()
        if name not in {tool.name for tool in table.tools}:
            return _make_result(f"There is no tool {name!r}.", is_error=True)
        if not table.over:
            self._calls.append({"name": name, "arguments": arguments})
        self.state.calls = [*self._calls]
        return _make_result(await asyncio.to_thread(table.call, Call(name, arguments)))

    def _require_table(self) -> ToolTable:
        assert self._table is not None, "verifiers sets up the task before it registers the tools"
        return self._table


def _make_result(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)


if __name__ == "__main__":
    MatchToolset.run()
