"""The score of a match: a number in [0, 1] with the same meaning in every game.

Returns have a different scale in each game, so they cannot be compared or averaged across games. Scores can: 1 is the
best result of a seat, 0 the worst, and in zero-sum games 0.5 is as good as the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gymposium.errors import BadOption
from gymposium.games.protocol import Game


def match_score(game: Game, utilities: Sequence[float], seat: int, forfeit: int | None = None) -> float:
    """The score of `seat` in a finished match with these `utilities` (`MatchResult.utilities`, which include forfeits
    but not penalties).

    Two seats: 1 for a win, 0.5 for a draw, 0 for a loss. More seats: the fraction of the other seats that did worse,
    with ties counted half. One seat, or a cooperative game: the position of the utility between the least and the
    greatest that the game can pay. The seat `forfeit` has score 0 and did worse than all others, whatever their
    utilities.

    Raises `BadOption` if that range is infinite.
    """
    if seat == forfeit:
        return 0.0
    mine = utilities[seat]
    if game.seats > 1 and game.spec.utility != "cooperative":
        others = [-math.inf if s == forfeit else utility for s, utility in enumerate(utilities) if s != seat]
        return sum((mine > other) + 0.5 * (mine == other) for other in others) / len(others)
    least, greatest = game.utility_range
    if not (math.isfinite(least) and math.isfinite(greatest) and least < greatest):
        raise BadOption(
            f"{game.name} says that returns lie from {least:g} to {greatest:g}, which gives a return no place in "
            f"[0, 1]: use the returns themselves."
        )
    return min(max((mine - least) / (greatest - least), 0.0), 1.0)  # a hair outside, by rounding
