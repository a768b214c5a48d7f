"""Tools for players: their schemas, calls, and the wording of calls in replies."""

from gymposium.tasks.tools.calls import NO_CALL, Call, calls_of, move_of
from gymposium.tasks.tools.tool import Tool, tools_of

__all__ = ["NO_CALL", "Call", "Tool", "calls_of", "move_of", "tools_of"]
