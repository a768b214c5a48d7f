"""Worlds: tasks that a player solves by calling tools, such as questions about a mailbox.

Each task is a single-seat match. Players, records, evaluation, boards and training treat it like any other match. An
author writes a `Tasks` and a `World` class, and `make_tool_game` creates the game from them.
"""

from gymposium.tasks.game import ToolGame, ToolMatch, make_recorded_tool_game, make_tool_game
from gymposium.tasks.protocol import Result, Tasks, World
from gymposium.tasks.tools import Call, Tool

__all__ = [
    "Call",
    "Result",
    "Tasks",
    "Tool",
    "ToolGame",
    "ToolMatch",
    "World",
    "make_recorded_tool_game",
    "make_tool_game",
]
