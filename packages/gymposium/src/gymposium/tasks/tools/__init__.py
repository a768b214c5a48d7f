"""Tools for players: schemas, calls, and the forms of calls in replies."""

from gymposium.tasks.tools.calls import NO_CALL, Call, format_calls, parse_calls
from gymposium.tasks.tools.tool import Tool, list_tools

__all__ = ["NO_CALL", "Call", "Tool", "format_calls", "list_tools", "parse_calls"]
