"""Checks that every match keeps what its game's spec promises.

Intervals, scores, budgets and rewards rely on these promises, so a violation is an error in the game.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gymposium.games.protocol import Game

_CLOSE = 1e-6


class BrokenPromise(Exception):
    """A match that violates its game's spec. The message names the game, the value and the fix."""


def check_returns(game: Game, returns: Sequence[float]) -> None:
    """Raise `BrokenPromise` if the final returns of a match are invalid.

    There must be one finite return per seat, within `utility_range` and consistent with the spec's `utility`."""
    low, high = game.utility_range
    if len(returns) != game.seats or not all(map(math.isfinite, returns)):
        raise BrokenPromise(
            f"{game.name}: returns must be one finite number for each of the {game.seats} seats, not {returns}."
        )
    least, most = min(returns), max(returns)
    if least < low - _CLOSE or most > high + _CLOSE:
        raise BrokenPromise(
            f"{game.name}: final returns {returns} are outside utility_range, {low:g} to {high:g}. "
            f"Extend utility_range to cover all possible returns"
        )
    close, kind = _CLOSE * max(1.0, most, -least), game.spec.utility
    if kind == "zero_sum" and abs(sum(returns)) > close:
        wrong = f"sum to {sum(returns):g}"
    elif kind == "cooperative" and most - least > close:
        wrong = "are not equal"
    else:
        return
    raise BrokenPromise(
        f"{game.name}: the spec has utility={kind!r}, but final returns {returns} {wrong}. "
        f"Set utility='general_sum', or change the returns"
    )


def check_length(game: Game, decisions: int) -> None:
    """Raise `BrokenPromise` if a match exceeds the game's maximum number of decisions."""
    if decisions > game.max_decisions:
        raise BrokenPromise(
            f"{game.name}: max_decisions is {game.max_decisions}, but the match continues. Raise it, or end the match"
        )
