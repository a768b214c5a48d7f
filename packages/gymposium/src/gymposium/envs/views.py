"""Observations of a seat as text, mask and tensor, infos, and the spaces of both observations and actions."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary, Space

from gymposium.envs.spaces import Moves, UnicodeText
from gymposium.envs.table import Table
from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Style
from gymposium.match import MatchResult
from gymposium.replies.prompt import prompt_for
from gymposium.replies.reading import Reader
from gymposium.tasks.tools import tools_of

KINDS = ("text", "dict", "tensor")
_RESULTS = {"win": "You won.", "draw": "It is a draw.", "loss": "You lost.", "score": "You played to the end."}
_FAILED = {"illegal": "not a legal move", "unparsable": "not in the form asked for", "cut off": "cut off"}


class Views:
    """The observations, infos and spaces of one game with one prompt style and one reader."""

    def __init__(self, game: Game, style: Style, how: Reader) -> None:
        self.game = game
        self.style: Style = style
        self.prompt = prompt_for(game, style, how)
        self._listed = game.num_actions > 0  # False for free text
        self._tools = tools_of(game)

    def action_space(self) -> Space[Any]:
        """A new action space: `Moves`, or `UnicodeText` if the game takes free text. Each seat gets one, as spaces have
        their own random state."""
        return Moves(self.game.num_actions) if self._listed else UnicodeText()

    def space(self, kind: str) -> Space[Any]:
        """The space of `text`, `dict` or `tensor` observations. Raises `BadOption`."""
        if kind == "text":
            return UnicodeText()
        if kind == "tensor":
            return self._tensor_space()
        if kind != "dict":
            raise BadOption(f"observation={kind!r}: write {', '.join(map(repr, KINDS))}.")
        parts: dict[str, Space[Any]] = {"text": UnicodeText()}
        if self._listed:
            parts["action_mask"] = MultiBinary(self.game.num_actions)
        if self.game.tensor_shape is not None:
            parts["observation"] = self._tensor_space()
        return Dict(parts)

    def _tensor_space(self) -> Box:
        if self.game.tensor_shape is None:
            raise BadOption(f"{self.game.name} has no tensor observation: use observation='text'.")
        limit = np.finfo(np.float32).max  # engines state no bounds
        return Box(-limit, limit, self.game.tensor_shape, np.float32)

    def state_space(self) -> Box:
        """The space of `state`. The game must have tensors."""
        one = self._tensor_space()
        return Box(float(one.low.min()), float(one.high.max()), (self.game.seats * math.prod(one.shape),), np.float32)

    def state(self, table: Table) -> np.ndarray:
        """The tensors of all seats, one after the other, as a flat array of float32."""
        return np.concatenate([table.match.tensor(seat).ravel() for seat in range(self.game.seats)])

    def observe(self, table: Table, seat: int, kind: str) -> Any:
        """The seat's observation now, of kind `text`, `dict` or `tensor`."""
        if kind == "text":
            return self.text(table, seat)
        if kind == "tensor":
            return table.match.tensor(seat)
        parts: dict[str, Any] = {"text": self.text(table, seat)}
        if self._listed:
            parts["action_mask"] = self.mask(table, seat)
        if self.game.tensor_shape is not None:
            parts["observation"] = table.match.tensor(seat)
        return parts

    def info(self, table: Table, seat: int, since: int | None = None) -> dict[str, Any]:
        """The seat's info: `seat`; `legal_moves` unless the game takes free text; `tools` in a game with tools, as
        OpenAI's API and chat templates take them; `reading`, that of the seat's first reply after the first `since`
        turns; at the end `result`, and `report` if the match has reports."""
        info: dict[str, Any] = {"seat": seat}
        if self._tools:
            info["tools"] = [tool.as_function for tool in self._tools]
        if self._listed:  # in the order of the set bits of the mask
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
        """The observation and the info of a match that broke off. They hold nothing of the position, because the engine
        has failed, and nothing of the engine's error, because it may reveal hidden information."""
        why = f"The match broke off: the engine of {self.game.name} failed."
        tensor = np.zeros(self.game.tensor_shape or (), np.float32)
        info: dict[str, Any] = {"seat": seat, "error": why}
        parts: dict[str, Any] = {"text": f"{why}\n"}
        if self._listed:
            info["legal_moves"] = []
            parts["action_mask"] = np.zeros(self.game.num_actions, np.int8)
        if self.game.tensor_shape is not None:
            parts["observation"] = tensor
        return {"text": parts["text"], "tensor": tensor, "dict": parts}[kind], info

    def text(self, table: Table, seat: int) -> str:
        """The prompt of a seat that is asked, including the reason if its last reply was not accepted; the position
        for any other seat."""
        ask = table.asks.get(seat)
        if ask is not None:
            return self.prompt(ask.observe(self.style), ask.reason)
        return position(table, seat, self.style)

    def mask(self, table: Table, seat: int) -> np.ndarray:
        """The action mask, an int8 array: 1 for each action that the seat may take now."""
        actions = table.match.legal_actions(seat) if seat in table.asks else ()
        return _mask(self.game.num_actions, tuple(actions)).copy()


@lru_cache(maxsize=4096)
def _mask(size: int, actions: tuple[int, ...]) -> np.ndarray:
    """The cached mask, which must not be changed. Copying it takes a third of the time of making it."""
    mask = np.zeros(size, np.int8)
    mask[list(actions)] = 1
    return mask


def position(table: Table, seat: int, style: Style = "full") -> str:
    """The position as the seat sees it, without a prompt around it; after the end, with the ending of the match."""
    text = table.match.observe(seat, style).text
    return text if table.played is None else text + _ending(table.played, seat)


def _ending(played: MatchResult, seat: int) -> str:
    """The ending of the match for this seat. It does not quote another seat's failed reply."""
    how, result = "The match is over.", f" {_RESULTS[played.result(seat)]}"
    loser = played.ending.seat
    if loser == seat:
        kind = next(turn.reading for turn in reversed(played.turns) if turn.seat == seat)
        how = f"The match is over: your reply was {_FAILED[kind]}, so you forfeit it."
        if len(played.returns) == 1:
            result = ""  # alone there is nothing to win, and the match was not played to its end
    elif loser is not None:
        how = f"The match is over: seat {loser} gave no legal move and forfeits it."
    return f"{how}{result} Your return is {played.returns[seat]:g}.\n"
