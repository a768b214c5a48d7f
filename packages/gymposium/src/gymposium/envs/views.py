"""A seat's observations (text, mask, tensor and image), infos, and observation and action spaces."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary, Space

from gymposium.envs.spaces import Moves, UnicodeText
from gymposium.envs.table import Table
from gymposium.errors import BadOption
from gymposium.games.pictures.pixels import SIDE, draw_position, render_pixels
from gymposium.games.protocol import Game, Style
from gymposium.match import MatchResult
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import Reader
from gymposium.tasks.tools import list_tools

KINDS = ("text", "dict", "tensor", "image")
_IMAGE = (SIDE, SIDE, 3)
_RESULTS = {"win": "You won.", "draw": "It is a draw.", "loss": "You lost.", "score": "You played to the end."}
_FAILED = {"illegal": "not a legal move", "unparsable": "not in the form asked for", "cut off": "cut off"}


class Views:
    """Observations, infos and spaces of one game, with one prompt style and one reader."""

    def __init__(self, game: Game, style: Style, how: Reader) -> None:
        self.game = game
        self.style: Style = style
        self.prompt = get_prompt(game, style, how)
        self._listed = game.num_actions > 0  # False for free text
        self._tools = list_tools(game)

    def action_space(self) -> Space[Any]:
        """Return a new action space: `Moves`, or `UnicodeText` in free-text games.

        Each seat gets its own space, because a space has random state."""
        return Moves(self.game.num_actions) if self._listed else UnicodeText()

    def space(self, kind: str) -> Space[Any]:
        """Return the space of an observation kind in `KINDS`. Raises `BadOption` for another kind."""
        if kind == "text":
            return UnicodeText()
        if kind == "image":
            return Box(0, 255, _IMAGE, np.uint8)
        if kind == "tensor":
            return self._make_tensor_space()
        if kind != "dict":
            raise BadOption(f"Unknown observation={kind!r}. Use {', '.join(map(repr, KINDS))}.")
        parts: dict[str, Space[Any]] = {"text": UnicodeText()}
        if self._listed:
            parts["action_mask"] = MultiBinary(self.game.num_actions)
        if self.game.tensor_shape is not None:
            parts["observation"] = self._make_tensor_space()
        return Dict(parts)

    def _make_tensor_space(self) -> Box:
        if self.game.tensor_shape is None:
            raise BadOption(f"{self.game.name} has no tensor observation. Use observation='text'.")
        limit = np.finfo(np.float32).max  # engines state no bounds
        return Box(-limit, limit, self.game.tensor_shape, np.float32)

    def state_space(self) -> Box:
        """Return the space of `state`. The game must have tensors."""
        one = self._make_tensor_space()
        return Box(float(one.low.min()), float(one.high.max()), (self.game.seats * math.prod(one.shape),), np.float32)

    def state(self, table: Table) -> np.ndarray:
        """Return the concatenated tensors of all seats as a flat float32 array."""
        return np.concatenate([table.match.tensor(seat).ravel() for seat in range(self.game.seats)])

    def observe(self, table: Table, seat: int, kind: str) -> Any:
        """Return the seat's current observation, of a kind in `KINDS`.

        Raises `MissingExtra` for an `image` without gymposium[images]."""
        if kind == "text":
            return self.text(table, seat)
        if kind == "image":
            return render_pixels(draw_position(table.match, seat))
        if kind == "tensor":
            return table.match.tensor(seat)
        parts: dict[str, Any] = {"text": self.text(table, seat)}
        if self._listed:
            parts["action_mask"] = self.mask(table, seat)
        if self.game.tensor_shape is not None:
            parts["observation"] = table.match.tensor(seat)
        return parts

    def info(self, table: Table, seat: int, since: int | None = None) -> dict[str, Any]:
        """Return the seat's info.

        Keys:

        - `seat`
        - `legal_moves`, except in free-text games; in games with talk None where the seat speaks
        - `tools`, in games with tools, in the format of OpenAI's API and chat templates
        - `reading`, for the seat's first reply after the first `since` turns
        - `result`, after the end
        - `report`, after the end of a match with reports"""
        info: dict[str, Any] = {"seat": seat}
        if self._tools:
            info["tools"] = [tool.as_function for tool in self._tools]
        if self._listed or self.game.spec.talk:  # in the order of the set bits of the mask
            ask = table.asks.get(seat)
            info["legal_moves"] = [] if ask is None else ask.legal_moves
        if since is not None:
            for turn in table.turns[since:]:
                if turn.seat == seat:
                    info["reading"] = turn.reading
                    break
        if table.played is not None:
            info["result"] = table.played.result(seat)
            if table.played.reports:
                info["report"] = dict(table.played.reports[seat])
        return info

    def broken(self, seat: int, kind: str) -> tuple[Any, dict[str, Any]]:
        """Return the observation and info for a match that broke off.

        They omit the position, because the engine failed, and the engine's error, because it may reveal hidden
        information."""
        why = f"The match broke off: the engine of {self.game.name} failed."
        tensor = np.zeros(self.game.tensor_shape or (), np.float32)
        info: dict[str, Any] = {"seat": seat, "error": why}
        parts: dict[str, Any] = {"text": f"{why}\n"}
        if self._listed:
            info["legal_moves"] = []
            parts["action_mask"] = np.zeros(self.game.num_actions, np.int8)
        if self.game.tensor_shape is not None:
            parts["observation"] = tensor
        image = np.zeros(_IMAGE, np.uint8)
        return {"text": parts["text"], "tensor": tensor, "dict": parts, "image": image}[kind], info

    def text(self, table: Table, seat: int) -> str:
        """Return the seat's prompt if it is to answer, including the reason if its last reply was rejected.

        For any other seat, return the position."""
        ask = table.asks.get(seat)
        if ask is not None:
            return self.prompt(ask.observe(self.style), ask.reason)
        return describe_position(table, seat, self.style)

    def mask(self, table: Table, seat: int) -> np.ndarray:
        """Return the action mask, an int8 array with 1 for each action that the seat may take now."""
        actions = table.match.legal_actions(seat) if seat in table.asks else ()
        return _make_mask(self.game.num_actions, tuple(actions)).copy()


@lru_cache(maxsize=4096)
def _make_mask(size: int, actions: tuple[int, ...]) -> np.ndarray:
    """Return the cached mask, which must not be modified. Copying takes a third of the time of making a new mask."""
    mask = np.zeros(size, np.int8)
    mask[list(actions)] = 1
    return mask


def describe_position(table: Table, seat: int, style: Style = "full") -> str:
    """Return the seat's view of the position, without a prompt. After the end, also describe how the match ended."""
    text = table.match.observe(seat, style).text
    return text if table.played is None else text + _describe_ending(table.played, seat)


def _describe_ending(played: MatchResult, seat: int) -> str:
    """Describe how the match ended for this seat, without quoting another seat's failed reply."""
    how, result = "The match is over.", f" {_RESULTS[played.result(seat)]}"
    loser = played.ending.seat
    if loser == seat:
        kind = next(turn.reading for turn in reversed(played.turns) if turn.seat == seat)
        how = f"The match is over: your reply was {_FAILED[kind]}, so you forfeit it."
        if len(played.returns) == 1:
            result = ""  # a single seat cannot win, and the match did not finish
    elif loser is not None:
        how = f"The match is over: seat {loser} gave no legal move and forfeits it."
    return f"{how}{result} Your return is {played.returns[seat]:g}.\n"
