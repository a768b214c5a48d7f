"""Fits ratings, and bootstrap samples of them, to evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gymposium.arena.ratings.comparisons import Floats
from gymposium.arena.ratings.connectivity import Bound, bounds, company
from gymposium.arena.ratings.evidence import Evidence
from gymposium.arena.ratings.newton import fit_many
from gymposium.arena.ratings.prior import drawn, expected
from gymposium.arena.ratings.scale import ANCHOR, POINTS


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of n players. A rating and its samples are NaN if there is not enough data."""

    players: tuple[str, ...]
    anchor: str
    """The player who is rated 0."""
    values: Floats
    """Shape (n), in Elo points."""
    samples: Floats
    """Shape (samples, n), in Elo points: ratings of the bootstrap samples."""
    bounds: tuple[Bound | None, ...]
    """Which ends of each player's interval exist; None if there is not enough data."""


def anchor_of(players: Sequence[str]) -> str:
    """The player who is rated 0: `random`, or the first player if `random` is not among them."""
    return ANCHOR if ANCHOR in players else players[0]


def rate(evidence: Evidence, rng: np.random.Generator) -> Ratings:
    """Maximum-a-posteriori ratings, by the model of Bradley and Terry for matches of two and of Plackett and Luce for
    matches of more, with a fit to each bootstrap sample."""
    anchor = anchor_of(evidence.players)
    together = company(evidence.met, evidence.players.index(anchor))
    here = evidence.among(together)
    zero = here.players.index(anchor)
    prior, counts = expected(here.met), len(here.pairs_drawn)
    asked, wins = here.chosen.sum(axis=1), here.chosen.sum(axis=0)
    found = fit_many((here.pairs + prior)[None], here.sets, asked[None], wins[None])[0]
    again = here.pairs_drawn + drawn(here.met, counts, rng)
    samples = fit_many(again, here.sets, here.asked_drawn, here.wins_drawn, start=found)
    known = bounds(here.points, zero)
    lost = [i for i, bound in enumerate(known) if bound is None]
    values = POINTS * (found - found[zero])
    samples = POINTS * (samples - samples[:, [zero]])
    values[lost], samples[:, lost] = math.nan, math.nan
    every = np.full(len(evidence.players), math.nan)
    every[together] = values
    every_sample = np.full((counts, len(evidence.players)), math.nan)
    every_sample[:, together] = samples
    by_player = dict(zip(here.players, known, strict=True))
    return Ratings(
        evidence.players, anchor, every, every_sample, tuple(by_player.get(player) for player in evidence.players)
    )
