"""What a seat is shown: as text, as mask and tensor, and the spaces that these lie in."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary, Space

from gymposium.driver import MatchResult
from gymposium.envs.spaces import Moves, UnicodeText
from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Style
from gymposium.prompt import prompt_for
from gymposium.reading import Reader
from gymposium.table import Table

KINDS = ("text", "dict", "tensor")
_RESULTS = {"win": "You won.", "draw": "It is a draw.", "loss": "You lost.", "score": "You played to the end."}
_FAILED = {"illegal": "not a legal move", "unparsable": "not in the form asked for", "cut off": "cut off"}


class Views:
    """The views of one game in one prompt style with one way of answering."""

    def __init__(self, game: Game, style: Style, how: Reader) -> None:
        self.game = game
        self.style: Style = style
        self.prompt = prompt_for(game, style, how)
        self._listed = game.num_actions > 0  # else the game takes free text

    def action_space(self) -> Space[Any]:
        """`Moves`, or any text where the game takes free text. A new one for each seat: spaces are seeded."""
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
        limit = np.finfo(np.float32).max  # engines do not say how large their numbers get
        return Box(-limit, limit, self.game.tensor_shape, np.float32)

    def observe(self, table: Table, seat: int, kind: str) -> Any:
        """What the seat observes now."""
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
        """`seat`, `legal_moves` (not for free text), at the end `result` and, where the match reports more, `report`;
        where `since` turns had been before the seat's reply, the `reading` of that reply."""
        info: dict[str, Any] = {"seat": seat}
        if self._listed:  # names of the set bits of the mask, in order
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
        """What the seat observes of a match that broke off, and its info: nothing of the position, since the
        engine has failed, and no word of what it said, since that may be of what the seat must not know."""
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
        """The prompt of a seat that is asked, with the reason where its last reply was not accepted. A seat
        that waits sees the position; after the end, with how it ended."""
        ask = table.asks.get(seat)
        if ask is not None:
            return self.prompt(ask.observe(self.style), ask.reason)
        text = table.match.observe(seat, self.style).text
        return text if table.played is None else text + ending(table.played, seat)

    def mask(self, table: Table, seat: int) -> np.ndarray:
        """One int8 for each action: 1 where the seat may take it now, and nowhere else."""
        actions = table.match.legal_actions(seat) if seat in table.asks else ()
        return _mask(self.game.num_actions, tuple(actions)).copy()

    def text_for_onlooker(self, table: Table, seat: int) -> str:
        """The position as text for a person who looks over the seat's shoulder."""
        text = table.match.observe(seat, "full").text
        return text if table.played is None else text + ending(table.played, seat)


@lru_cache(maxsize=4096)
def _mask(size: int, actions: tuple[int, ...]) -> np.ndarray:
    """Kept, because a copy takes a third of the time. Not to be changed."""
    mask = np.zeros(size, np.int8)
    mask[list(actions)] = 1
    return mask


def ending(played: MatchResult, seat: int) -> str:
    """How the match ended for this seat. Of another seat's failed reply it says no more than that."""
    how = "The match is over."
    loser = played.ending.seat
    if loser == seat:
        kind = next(turn.reading for turn in reversed(played.turns) if turn.seat == seat)
        how = f"The match is over: your reply was {_FAILED[kind]}, so you forfeit it."
    elif loser is not None:
        how = f"The match is over: seat {loser} gave no legal move and forfeits it."
    return f"{how} {_RESULTS[played.result(seat)]} Your return is {played.returns[seat]:g}.\n"
