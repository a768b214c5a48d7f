"""What a game promises of its matches, held in every match that is played.

Intervals, scores, budgets and rewards rely on these promises, so a match that breaks one is an error of the game.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gymposium.games.protocol import Game

_CLOSE = 1e-6


class BrokenPromise(Exception):
    """A match is not as its game promises. The message names the game, the value and what to correct."""


def check_returns(game: Game, returns: Sequence[float]) -> None:
    """Raise `BrokenPromise` unless the returns at the end of a match are finite, one for each seat, within
    `utility_range`, and of the kind that the spec's `utility` says."""
    low, high = game.utility_range
    if len(returns) != game.seats or not all(map(math.isfinite, returns)):
        raise BrokenPromise(
            f"{game.name}: returns must be a finite number for each of {game.seats} seats, not {returns}."
        )
    least, most = min(returns), max(returns)
    if least < low - _CLOSE or most > high + _CLOSE:
        raise BrokenPromise(
            f"{game.name}: returns {returns} at the end are outside utility_range, which is {low:g} to {high:g}. "
            f"Let utility_range cover all that a match may pay"
        )
    close, kind = _CLOSE * max(1.0, most, -least), game.spec.utility
    if kind == "zero_sum" and abs(sum(returns)) > close:
        wrong = f"sum to {sum(returns):g}"
    elif kind == "cooperative" and most - least > close:
        wrong = "are not equal"
    else:
        return
    raise BrokenPromise(
        f"{game.name}: the spec says utility={kind!r}, but returns {returns} at the end {wrong}. "
        f"Say utility='general_sum', or pay what the spec says"
    )


def check_length(game: Game, decisions: int) -> None:
    """Raise `BrokenPromise` if a match of this game cannot have so many decisions."""
    if decisions > game.max_decisions:
        raise BrokenPromise(f"{game.name}: max_decisions is {game.max_decisions}, but the match continues")
