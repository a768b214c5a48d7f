"""Worlds: tasks that a player solves by calling tools, such as questions about a mailbox.

Each task is a match of one seat, so players, records, evaluation, boards and training need nothing of their own for
them. An author writes a `Tasks` and a `World`, and `tool_game` makes the game.
"""

from gymposium.tasks.game import ToolGame, recorded_tool_game, tool_game
from gymposium.tasks.match import ToolMatch
from gymposium.tasks.protocol import Result, Tasks, World
from gymposium.tasks.tools import Call, Tool

__all__ = ["Call", "Result", "Tasks", "Tool", "ToolGame", "ToolMatch", "World", "recorded_tool_game", "tool_game"]
