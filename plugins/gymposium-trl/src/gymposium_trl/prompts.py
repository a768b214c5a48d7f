"""The prompt of a dataset row. TRL passes only this column to `rollout_func`, so it names the match."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.util.streams import derive_seed

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
                f"The prompt {text!r} names no match of {game.name} with seats from 0 to {game.seats - 1}. Make the "
                f"dataset with the dataset() of this Rollout."
            )
        return match


def list_matches(game: Game, size: int, seed: int, seats: int | Iterable[int] | None) -> list[MatchPrompt]:
    """Return the matches of a dataset with `size` rows, each with a deal derived from `seed`. The model takes the
    `seats` (all by default) in turn.

    Raises `BadOption` for a size below 1, and for invalid seats."""
    chosen = [*range(game.seats)] if seats is None else [seats] if isinstance(seats, int) else [*seats]
    if size < 1:
        raise BadOption(f"size={size}: a dataset needs at least one row. Use 1 or more.")
    if not chosen or not {*chosen} <= {*range(game.seats)}:
        raise BadOption(f"seats={seats!r}: write a seat from 0 to {game.seats - 1}, or a list of them.")
    return [
        MatchPrompt(game.name, chosen[number % len(chosen)], derive_seed(seed, "trl", number)) for number in range(size)
    ]
