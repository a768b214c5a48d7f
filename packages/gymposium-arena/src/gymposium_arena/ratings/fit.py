"""Fit ratings and their bootstrap samples to evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gymposium_arena.ratings.bootstrap import compute_interval
from gymposium_arena.ratings.comparisons import Floats
from gymposium_arena.ratings.connectivity import Bound, find_bounds, find_component
from gymposium_arena.ratings.evidence import Evidence
from gymposium_arena.ratings.newton import fit_many
from gymposium_arena.ratings.prior import compute_prior, draw_prior

POINTS = 400.0 / math.log(10.0)
"""Elo points per unit of the natural logarithm: 400 points are odds of ten to one."""
ANCHOR = "random"
"""The player rated 0, which plays uniformly random legal moves."""


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of n players. A rating and its samples are NaN without enough data."""

    players: tuple[str, ...]
    anchor: str
    """The player rated 0."""
    values: Floats
    """The ratings in Elo points, shape (n)."""
    samples: Floats
    """Ratings in the bootstrap samples, shape (samples, n), in Elo points."""
    bounds: tuple[Bound | None, ...]
    """Which ends of each player's interval exist; None without enough data."""

    def compute_ends(self) -> tuple[Floats, Floats]:
        """Return both ends of each player's 95% interval, shape (n) each; NaN for a missing end."""
        low, high = compute_interval(self.samples)
        low[[bound == "at most" for bound in self.bounds]] = math.nan
        high[[bound == "at least" for bound in self.bounds]] = math.nan
        return low, high


def find_anchor(players: Sequence[str]) -> str:
    """Return the player rated 0: `random`, or else the first player."""
    return ANCHOR if ANCHOR in players else players[0]


def fit_ratings(evidence: Evidence, rng: np.random.Generator) -> Ratings:
    """Return maximum-a-posteriori ratings, with a fit per bootstrap sample.

    The model is Bradley–Terry for two players in a match, Plackett–Luce for more."""
    n = len(evidence.players)
    anchor = find_anchor(evidence.players)
    joined = find_component(evidence.met, evidence.players.index(anchor))
    here = evidence.restrict(joined)
    zero = here.players.index(anchor)
    asked, wins = here.chosen.sum(axis=1), here.chosen.sum(axis=0)
    strengths = fit_many((here.pairs + compute_prior(here.met))[None], here.sets, asked[None], wins[None])[0]
    pairs = here.pairs_drawn + draw_prior(here.met, len(here.pairs_drawn), rng)
    strength_samples = fit_many(pairs, here.sets, here.asked_drawn, here.wins_drawn, start=strengths)
    bound_of = dict(zip(joined.tolist(), find_bounds(here.points, zero), strict=True))
    values, samples = np.full(n, math.nan), np.full((len(pairs), n), math.nan)
    values[joined] = POINTS * (strengths - strengths[zero])
    samples[:, joined] = POINTS * (strength_samples - strength_samples[:, [zero]])
    unknown = [i for i in range(n) if bound_of.get(i) is None]
    values[unknown], samples[:, unknown] = math.nan, math.nan
    return Ratings(evidence.players, anchor, values, samples, tuple(bound_of.get(i) for i in range(n)))
