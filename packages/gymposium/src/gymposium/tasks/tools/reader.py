"""The reader of replies in which a language model calls tools in the way of its chat template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.errors import BadOption
from gymposium.tasks.tools.calls import Call, calls_of, move_of
from gymposium.tasks.tools.dialects import DIALECTS, Dialect
from gymposium.tasks.tools.tool import Tool


@dataclass(frozen=True)
class ToolsReader:
    """A reader of replies in one dialect: thoughts, which may be left out, and calls of tools.

    The prompt says nothing about the form, because the chat template lists the tools and says how to call them."""

    dialect: Dialect
    tools: tuple[Tool, ...] = ()
    """The tools of the game. Some dialects write a text argument like any other, so that only its schema tells."""

    @property
    def name(self) -> str:
        """`tools-` and the name of the dialect."""
        return f"tools-{self.dialect.name}"

    def bound(self, tools: tuple[Tool, ...]) -> ToolsReader:
        """This reader for a game with these tools."""
        return ToolsReader(self.dialect, tools)

    def instructions(self, style: str, *, wanted: str = "one call") -> str:
        return ""

    def submission(self, reply: str) -> str | None:
        read = self.parts(reply)
        return None if read is None else move_of(read[1])

    def parts(self, reply: str) -> tuple[str, tuple[Call, ...]] | None:
        """The thoughts of a reply, with their tags, and its calls; None if it does not have the required form."""
        thoughts, rest = "", reply.strip()
        if rest.startswith("<think>"):
            thoughts, closed, rest = rest.partition("</think>")
            thoughts += closed
        try:
            return thoughts, self.dialect.read(rest, {tool.name: tool for tool in self.tools})
        except ValueError:
            return None

    def answer(self, move: str) -> str:
        """The canonical reply with this move. Raises `BadOption` for a move that would be read back differently."""
        calls = calls_of(move)
        try:
            written = self.dialect.write(calls)
        except ValueError as error:
            raise BadOption(f"reply={self.name}: {error}. Write reply=tags. The move: {move}") from None
        if self.tools and self.submission(written) != move_of(calls):
            raise BadOption(
                f"reply={self.name}: the schema of the tool would give an argument another type when it is read back. "
                f"Write reply=tags. The move: {move}"
            )
        return written


def tools_readers() -> Sequence[ToolsReader]:
    """A reader for each dialect."""
    return [ToolsReader(dialect) for dialect in DIALECTS.values()]
