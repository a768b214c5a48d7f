"""affinetes' score: a match as one number from 0 to 1, by the kind of game."""

from __future__ import annotations

from collections.abc import Sequence


def score(returns: Sequence[float], seat: int, utility: str, least: float, greatest: float) -> float:
    """The score of `seat`. `utility` is the game's kind (`GameSpec.utility`), `least` and `greatest` what OpenSpiel
    says a return can be.

    Zero-sum: where the return lies between them, so a small win in gin rummy is a little more than 0.5. Otherwise,
    with more than two seats: 1 for the first place to 0 for the last, those who tie sharing the better one. With
    two: 1, 0.5 or 0. With one: where the return lies, as in a zero-sum game."""
    mine, seats = returns[seat], len(returns)
    if utility != "zero_sum" and seats > 2:
        return 1.0 - sorted(returns, reverse=True).index(mine) / (seats - 1)
    if utility != "zero_sum" and seats == 2:
        other = returns[1 - seat]
        return 1.0 if mine > other else 0.0 if mine < other else 0.5
    # what a tile of 4 adds to a game of 2048 is not in OpenSpiel's greatest return
    return min((mine - least) / (greatest - least), 1.0)
