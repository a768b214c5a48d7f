"""The reader for replies that call tools in the form of a model's chat template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.errors import BadOption
from gymposium.tasks.tools.calls import Call, format_calls, parse_calls
from gymposium.tasks.tools.dialects import DIALECTS, Dialect
from gymposium.tasks.tools.tool import Tool


@dataclass(frozen=True)
class ToolsReader:
    """A reader for replies in one dialect: optional thoughts, then tool calls.

    The prompt does not describe the form, because the chat template lists the tools and explains calls."""

    dialect: Dialect
    tools: tuple[Tool, ...] = ()
    """The game's tools.

    Some dialects write text arguments like other values, so only the schema can distinguish them."""

    @property
    def name(self) -> str:
        """`tools-` followed by the dialect's name."""
        return f"tools-{self.dialect.name}"

    def bind(self, tools: tuple[Tool, ...]) -> ToolsReader:
        """Return this reader for a game with these tools."""
        return ToolsReader(self.dialect, tools)

    def instructions(self, style: str, *, wanted: str = "one call") -> str:
        return ""

    def extract_move(self, reply: str) -> str | None:
        read = self.parts(reply)
        return None if read is None else format_calls(read[1])

    def parts(self, reply: str) -> tuple[str, tuple[Call, ...]] | None:
        """Split a reply into its thoughts, with their tags, and its calls.

        Returns None if it lacks the required form."""
        thoughts, rest = "", reply.strip()
        if rest.startswith("<think>"):
            thoughts, closed, rest = rest.partition("</think>")
            thoughts += closed
        try:
            return thoughts, self.dialect.read(rest, {tool.name: tool for tool in self.tools})
        except ValueError:
            return None

    def answer(self, move: str) -> str:
        """Return the canonical reply with this move.

        Raises `BadOption` for a move that would be read back as a different one."""
        calls = parse_calls(move)
        try:
            written = self.dialect.write(calls)
        except ValueError as error:
            raise BadOption(f"reply={self.name}: {error}. Use reply=tags. The move: {move}") from None
        if self.tools and self.extract_move(written) != format_calls(calls):
            raise BadOption(
                f"reply={self.name}: the tool's schema would change an argument's type on reading. "
                f"Use reply=tags. The move: {move}"
            )
        return written


def list_tools_readers() -> Sequence[ToolsReader]:
    """Return a reader for each dialect."""
    return [ToolsReader(dialect) for dialect in DIALECTS.values()]
