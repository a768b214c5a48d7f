"""Ratings with samples of them, from evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gymposium.arena.ratings.comparisons import Floats
from gymposium.arena.ratings.connectivity import Bound, bounds, company
from gymposium.arena.ratings.evidence import Evidence
from gymposium.arena.ratings.luce import bradley_terry, plackett_luce
from gymposium.arena.ratings.newton import fit_many
from gymposium.arena.ratings.prior import drawn, expected
from gymposium.arena.ratings.scale import ANCHOR, POINTS


@dataclass(frozen=True, slots=True)
class Ratings:
    """What n players are rated. Where there is not enough data, a rating and its samples are NaN."""

    players: tuple[str, ...]
    anchor: str
    """Who is rated 0."""
    values: Floats
    """Shape (n), in Elo points."""
    samples: Floats
    """Shape (samples, n): the same from resampled matches."""
    bounds: tuple[Bound | None, ...]
    """What is known of each; None where there is not enough data."""


def anchor_of(players: Sequence[str]) -> str:
    """Who is rated 0: `random`, or the first where it does not play."""
    return ANCHOR if ANCHOR in players else players[0]


def rate(evidence: Evidence, rng: np.random.Generator) -> Ratings:
    """Bradley and Terry's model where all matches are of two, Plackett and Luce's where there are more, each with the
    prior."""
    anchor = anchor_of(evidence.players)
    together = company(evidence.met, evidence.players.index(anchor))
    here = evidence.among(together)
    zero = here.players.index(anchor)
    prior, counts = expected(here.met), len(here.pairs_drawn)
    if len(here.sets):
        found = plackett_luce(here.pairs + prior, here.sets, here.chosen)
    else:
        found = bradley_terry(here.pairs + prior)
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
