"""The prompt of a dataset row. TRL passes only this column to `rollout_func`, so it names the match."""

from __future__ import annotations

import re
from typing import NamedTuple

from gymposium.errors import BadOption
from gymposium.games.protocol import Game

_FORM = re.compile(r"(.+), seat ([0-9]+), seed ([0-9]+)")


class MatchPrompt(NamedTuple):
    """The match of a row: `goofspiel(num_cards=4), seat 0, seed 7`."""

    game: str
    """The game's full name, with its parameters."""
    seat: int
    """The trained model's seat, from 0."""
    seed: int
    """The seed of the match, which determines the deal, the dice or the task."""

    def __str__(self) -> str:
        return f"{self.game}, seat {self.seat}, seed {self.seed}"

    @classmethod
    def from_text(cls, text: object, game: Game) -> MatchPrompt:
        """Parse the match in a row's prompt. Raises `BadOption` for any other prompt, and for another game."""
        named = _FORM.fullmatch(text) if isinstance(text, str) else None
        if named is None:
            raise BadOption(f"The prompt {text!r} does not name a match. Make the dataset with Rollout.dataset().")
        match = cls(named[1], int(named[2]), int(named[3]))
        if match.game != game.name or match.seat >= game.seats:
            raise BadOption(
                f"The prompt {text!r} names no match of {game.name} with seats from 0 to {game.seats - 1}: make the "
                f"dataset with the dataset() of this Rollout."
            )
        return match
