"""The score of a match: a number in [0, 1] with the same meaning in every game.

Games scale their returns differently, so returns cannot be compared or averaged across games. Scores can: 1 is a seat's
best result and 0 its worst. In a zero-sum game, 0.5 means as good as the other seats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, require_seat
from gymposium.util.visible import quantity


def match_score(game: Game, utilities: Sequence[float], seat: int, forfeit: int | None = None) -> float:
    """Return the score of `seat` in a finished match.

    `utilities` are `MatchResult.utilities`, which include forfeits but not penalties.

    - Two seats: 1 for a win, 0.5 for a draw, 0 for a loss.
    - More seats: the fraction of other seats that did worse, with ties counted half.
    - One seat, or a cooperative game: the utility's position between the game's minimum and maximum.

    The seat `forfeit` scores 0 and ranks below all others, whatever their utilities.

    Raises `BadOption` for an unknown seat, a wrong number of utilities, and an infinite range that is needed.
    """
    require_seat(seat, game.seats)
    if len(utilities) != game.seats:
        raise BadOption(f"utilities={utilities!r} must have {quantity(game.seats, 'value')}, one per seat.")
    if seat == forfeit:
        return 0.0
    mine = utilities[seat]
    if game.seats > 1 and game.spec.utility != "cooperative":
        others = [-math.inf if s == forfeit else utility for s, utility in enumerate(utilities) if s != seat]
        return sum((mine > other) + 0.5 * (mine == other) for other in others) / len(others)
    least, greatest = game.utility_range
    if not (math.isfinite(least) and math.isfinite(greatest) and least < greatest):
        raise BadOption(
            f"{game.name} has returns from {least:g} to {greatest:g}, so they cannot be scaled to [0, 1]. Use the "
            f"returns instead of scores."
        )
    return min(max((mine - least) / (greatest - least), 0.0), 1.0)  # rounding may put it slightly outside
