"""How results were made, in numbers and in sentences: what is printed beside every board."""

from __future__ import annotations

from gymposium.arena.ratings.evidence import EACH_GAME
from gymposium.arena.ratings.prior import VIRTUAL
from gymposium.arena.ratings.scale import CONFIDENCE
from gymposium.arena.results.model import Method

_NOTES = """
Ratings are Elo points above {anchor}, who is rated 0: a difference of 400 is odds of ten to one.
They are fitted to all matches at once, by the model of Bradley and Terry where two play, of Plackett and Luce where \
more do. A draw is half a win for each, a forfeit a loss.
Prior: each player has {virtual:g} virtual match, drawn, shared out evenly among those that it has met.
On the joint board each game counts alike: for each pairing as {each:g} matches, however many were played, won by the \
share of points that was won. Only who has played all of these games is on it.
Intervals hold {confidence:.0%}, by {samples} bootstrap samples: all matches on one deal are drawn together.
Players that share a letter cannot be told apart. Rank 3 (2–4): one player is surely above, and 4 are not surely \
below. All that is said of who is above whom is right together on {confidence:.0%} of boards.
≥ and ≤: who never lost a point to those below, or never won one from those above, is that far from {anchor} or farther.
"""


def method_of(anchor: str, samples: int, seed: int) -> Method:
    """The method of a board on which `anchor` is rated 0."""
    notes = _NOTES.format(anchor=anchor, virtual=VIRTUAL, each=EACH_GAME, confidence=CONFIDENCE, samples=samples)
    return Method(
        scale="Elo points",
        anchor=anchor,
        confidence=CONFIDENCE,
        samples=samples,
        seed=seed,
        virtual_matches=VIRTUAL,
        each_game=EACH_GAME,
        notes=notes.strip().splitlines(),
    )
