"""Disguised games, and the base class of their words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import cast

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.openspiel.wording import Wording, WordingByPosition
from gymposium.games.protocol import Style
from gymposium.plugins.specs import DISGUISE
from gymposium_disguises import DISGUISES
from gymposium_disguises.speech import Speech, join_words


def disguise_game(game: OpenSpielGame, seed: int) -> OpenSpielGame:
    """Return a game in words drawn from a seed."""
    module, _, name = DISGUISES[game.spec.name].partition(":")
    words = getattr(import_module(f"gymposium_disguises.{module}"), name)
    return game.reword(words(Speech(seed, game.spec.name), game.wording, game.engine), **{DISGUISE.name: seed})


class Disguise:
    """Base class of a disguise: rules as a story, and lines for the position. Every disguised game is new to its
    players, so both prompt styles explain all rules. The styles differ only in the last lines of a position.
    """

    story: str
    """The rules, as lines."""
    names: Sequence[str] | None = None
    move_pattern: re.Pattern[str]

    def __init__(self, speech: Speech, plain: Wording) -> None:
        self.sides: tuple[str, ...] = speech.sides
        self._plain = plain

    def set_moves(self, names: Sequence[str]) -> None:
        """Set the names of the moves, and the pattern that matches them."""
        self.names = names
        self.move_pattern = re.compile("|".join(names))

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        """Describe the position as the seat knows it, in lines."""
        raise NotImplementedError

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        """Return the names of actions, from `names` or, without these, from the position."""
        if self.names is not None:
            return [self.names[action] for action in actions]
        return [self.rename_move(move) for move in cast(WordingByPosition, self._plain).moves(state, seat, actions)]

    def rename_move(self, move: str) -> str:
        """Return the disguised name of a move. Needed only without `names`."""
        raise NotImplementedError

    def role(self, seat: int) -> str:
        """Return the line of the rules that names the seat's side."""
        return f"You are {self.sides[seat]}. {self.sides[0]} begins.\n"

    def is_over(self, state: pyspiel.State) -> bool:
        """Return whether the match is over."""
        return bool(state.is_terminal())

    def end(self, state: pyspiel.State, seat: int) -> str:
        """Return the line that describes the result of a finished match."""
        results = [f"{side} {value:+g}" for side, value in zip(self.sides, state.returns())]
        return f"The match is over. Results: {join_words(results)}."

    def rules(self, seat: int, style: Style) -> str:
        return f"{self.story}{self.role(seat)}"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        lines, over = self.lines(state, seat), self.is_over(state)
        legal = [] if over else state.legal_actions(seat)
        if over:
            lines.append(self.end(state, seat))
        if style == "compact":
            lines.append(f"legal: {join_words(self.moves(state, seat, legal))}")
        elif not over:
            lines.append("It is your turn." if legal else "It is not your turn.")
        return "\n".join(lines) + "\n"
