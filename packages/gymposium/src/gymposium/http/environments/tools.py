"""The tools that play a seat: those of the game, or `move`, `legal_moves` and `resign`."""

from __future__ import annotations

from typing import Any

from gymposium.envs.tool_table import MOVE
from gymposium.games.protocol import Game
from gymposium.match.failures import FailurePolicy
from gymposium.tasks.tools import Tool, list_tools


def _make_tool(name: str, description: str, **properties: Any) -> Tool:
    schema = {"properties": properties, "required": list(properties), "additionalProperties": False}
    return Tool(name, description, schema)


LEGAL_MOVES = _make_tool("legal_moves", "Return the position and your legal moves again, without playing.")
RESIGN = _make_tool("resign", "Give up. You forfeit the match.")


def list_seat_tools(game: Game, on_illegal: FailurePolicy) -> tuple[Tool, ...]:
    """Return the tools that play a seat of this game.

    A free-text game has no `legal_moves` and `resign`. Neither can a seat resign if random moves replace its failed
    replies."""
    if own := list_tools(game):
        return own
    if game.num_actions == 0:
        return (MOVE,)
    return (MOVE, LEGAL_MOVES) if on_illegal.kind == "random" else (MOVE, LEGAL_MOVES, RESIGN)


def describe_outcome(shown: dict[str, Any]) -> dict[str, Any]:
    """Return what a tool's caller gets of an observation message: the text, the legal moves, and how the match
    stands."""
    seen, about = shown["observation"], shown["metadata"]
    ends = {key: about[key] for key in ("reading", "result", "report") if key in about}
    moves = {} if seen["legal_moves"] is None else {"legal_moves": seen["legal_moves"]}
    return {"text": seen["text"], **moves, "reward": shown["reward"], "done": shown["done"], **ends}


def format_result(shown: dict[str, Any]) -> dict[str, Any]:
    """Return an observation message as MCP's result of a tool call."""
    outcome = describe_outcome(shown)
    return {"content": [{"type": "text", "text": outcome["text"]}], "structuredContent": outcome, "isError": False}
