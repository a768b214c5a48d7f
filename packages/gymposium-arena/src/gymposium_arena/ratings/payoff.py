"""Compute the pay-off matrix: each player's share of points against each opponent, with intervals and cycles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.ratings.bootstrap import compute_interval, draw_arcsine, draw_exponential
from gymposium_arena.ratings.comparisons import Comparisons, Floats
from gymposium_arena.ratings.ranks import find_positive_pairs


@dataclass(frozen=True, slots=True)
class Payoff:
    """Results by player (row) and opponent (column), shape (n, n) unless stated otherwise. Shares are NaN for players
    that have not met."""

    share: Floats
    """Share of points, with 1 for a win and 0.5 for a draw; the mean share over several games."""
    samples: Floats
    """Bootstrap samples of `share`, shape (samples, n, n)."""
    low: Floats
    high: Floats
    wins: Floats
    draws: Floats
    losses: Floats

    @property
    def beats(self) -> NDArray[np.bool_]:
        """Whether the row player surely takes more than half of the points, jointly with 95% confidence."""
        return find_positive_pairs(self.samples - 0.5)


def compute_payoff(game: Comparisons, weights: Floats, rng: np.random.Generator) -> Payoff:
    """Return the pay-off matrix of one game. `weights` holds deal weights, shape (samples, deals).

    Each sample of a pairing gets one extra deal of average weight, whose share of points is drawn from the arcsine
    distribution. This keeps the intervals' coverage right if all matches were won (`ratings.prior`)."""
    n = len(game.players)
    points = game.points.sum(axis=0)
    share, samples = np.full((n, n), math.nan), np.full((len(weights), n, n), math.nan)
    for one, other in combinations(range(n), 2):
        mine, theirs = game.points[:, one, other], game.points[:, other, one]
        deals, matches = np.count_nonzero(mine + theirs), float((mine + theirs).sum())
        if not deals:
            continue
        share[one, other] = points[one, other] / matches
        share[other, one] = points[other, one] / matches
        more = draw_exponential(rng, len(weights)) * matches / deals
        won = weights @ mine + more * draw_arcsine(rng, len(weights))
        samples[:, one, other] = won / (weights @ (mine + theirs) + more)
        samples[:, other, one] = 1.0 - samples[:, one, other]
    return _make_payoff(share, samples, points - 0.5 * game.tied, game.tied)


def average_payoffs(games: Sequence[Payoff]) -> Payoff:
    """Return each pairing's mean shares over games, with summed wins, draws and losses. All games must have the same
    players in the same order."""
    met = np.sum([~np.isnan(game.share) for game in games], axis=0)
    times = np.where(met, met, math.nan)
    return _make_payoff(
        np.sum([np.nan_to_num(game.share) for game in games], axis=0) / times,
        np.sum([np.nan_to_num(game.samples) for game in games], axis=0) / times,
        np.sum([game.wins for game in games], axis=0),
        np.sum([game.draws for game in games], axis=0),
    )


def _make_payoff(share: Floats, samples: Floats, wins: Floats, draws: Floats) -> Payoff:
    """Add intervals to the matrix. They reach 0 or 1 if all matches were lost or won (Brown, Cai and DasGupta, 2001,
    Interval Estimation for a Binomial Proportion)."""
    low, high = compute_interval(samples)
    low, high = np.where(share == 0.0, 0.0, low), np.where(share == 1.0, 1.0, high)
    return Payoff(share, samples, low, high, wins, draws, wins.T)


def find_cycles(beats: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Return a shortest cycle in each strongly connected component with more than one player.

    Each player in a cycle beats the next, and the last beats the first. `beats`, shape (n, n), is True where the row
    player surely beats the column player."""
    from scipy.sparse.csgraph import connected_components

    number, component = connected_components(beats.astype(float), directed=True, connection="strong")
    knots = [np.flatnonzero(component == k).tolist() for k in range(number)]
    return sorted(
        min((_find_cycle(beats, knot, start) for start in knot), key=lambda cycle: (len(cycle), cycle))
        for knot in knots
        if len(knot) > 1
    )


def _find_cycle(beats: NDArray[np.bool_], members: Sequence[int], start: int) -> tuple[int, ...]:
    """Return a shortest cycle through `start` in a strongly connected component, by breadth-first search."""
    paths: list[tuple[int, ...]] = [(start,)]
    reached: set[int] = set()
    for path in paths:
        for successor in members:
            if not beats[path[-1], successor]:
                continue
            if successor == start:
                return path
            if successor not in reached:
                reached.add(successor)
                paths.append((*path, successor))
    raise ValueError(f"the players {members} are not strongly connected")
