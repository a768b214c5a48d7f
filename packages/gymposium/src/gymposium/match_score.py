"""A match as one number in [0, 1] that means the same in every game.

Returns differ in scale from game to game, so they can neither be averaged over games nor compared. A score
can: 1 is the best that a seat can do, 0 the worst, and where seats play against each other 0.5 is as good
as the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gymposium.errors import BadOption
from gymposium.games.protocol import Game


def match_score(game: Game, utilities: Sequence[float], seat: int, forfeit: int | None = None) -> float:
    """The score of `seat` in a finished match that paid `utilities` (`MatchResult.utilities`: forfeits count,
    penalties do not).

    Two seats: 1 for a win, 0.5 for a draw, 0 for a loss. More seats: the share of the others that did worse,
    ties counted half, which is the same for two. One seat, or a cooperative game, in which all rise and fall
    together: where the return lies between the least and the greatest that the game can pay. The seat `forfeit` has 0,
    and did worse than all others, even where the match had paid them no more by then.

    Raises `BadOption` where that range has no end, so that there is no such place.
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
