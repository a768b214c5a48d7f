"""The game `tables`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymposium import GameSpec
from gymposium.tasks import ToolGame, tool_game
from gymposium_worlds.tables.tasks import TablesTasks


def game(spec: GameSpec, params: Mapping[str, Any]) -> ToolGame:
    """Return the game. Raises `BadParameter` for kinds of questions that do not exist."""
    return tool_game(spec, params, TablesTasks(**params))
