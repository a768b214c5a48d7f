"""affinetes' score: a match as one number from 0 to 1, by the kind of game."""

from __future__ import annotations

from collections.abc import Sequence


def compute_score(returns: Sequence[float], seat: int, utility: str, least: float, greatest: float) -> float:
    """Return the score of `seat`, from 0 to 1. `utility` is the game's kind (`GameSpec.utility`), `least` and
    `greatest` are OpenSpiel's limits of a return.

    In zero-sum and one-seat games, the score is the return's position between the limits, so
    a small win in gin rummy is slightly above 0.5. In other two-seat games it is 1, 0.5 or 0. With more
    seats it falls from 1 for the first place to 0 for the last; tied seats share the better place."""
    mine, seats = returns[seat], len(returns)
    if utility != "zero_sum" and seats > 2:
        return 1.0 - sorted(returns, reverse=True).index(mine) / (seats - 1)
    if utility != "zero_sum" and seats == 2:
        other = returns[1 - seat]
        return 1.0 if mine > other else 0.0 if mine < other else 0.5
    # OpenSpiel's greatest return of 2048 does not include the points for tiles of 4
    return min((mine - least) / (greatest - least), 1.0)
