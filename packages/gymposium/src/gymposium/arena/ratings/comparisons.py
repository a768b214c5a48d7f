"""The matches of one game between rivals as arrays: who scored how much against whom, on which deal.

A match of two is a comparison. A match of more is a sequence of choices (Luce, 1959; Plackett, 1975): who comes first
among all, who next among those that are left, and so on. Where some tie, every order of them counts in equal part. For
two that is the same as a comparison, a draw counted half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from gymposium.arena.outcomes import MatchOutcome

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Matches of one game, for n players on some deals. What is drawn together stands together, by deal."""

    players: tuple[str, ...]
    deals: tuple[str, ...]
    points: Floats
    """Shape (deals, n, n): points of the row's player against the column's, 1 for each match in which it did better
    and 0.5 where they tied."""
    pairs: Floats
    """Shape (deals, n, n): how often the row's player was chosen from the two. Where all matches are of two, that is
    `points`."""
    sets: NDArray[np.bool_]
    """Shape (sets, n): the sets of three or more from which somebody was chosen."""
    asked: Floats
    """Shape (deals, sets): how often somebody was."""
    wins: Floats
    """Shape (deals, n): how often each was chosen from them."""
    chosen: Floats
    """Shape (sets, n): how often each was chosen from which, on all deals."""
    tied: Floats
    """Shape (n, n): in how many matches two did as well as each other."""


def compare(outcomes: Iterable[MatchOutcome], players: Sequence[str]) -> Comparisons:
    """The outcomes of one game between rivals, for `players` in this order. Matches in which somebody plays against
    himself say nothing and are left out."""
    told = [outcome for outcome in outcomes if len(set(outcome.players)) == len(outcome.players)]
    deals = tuple(sorted({outcome.group for outcome in told}))
    place, deal_of = {name: i for i, name in enumerate(players)}, {deal: d for d, deal in enumerate(deals)}
    n = len(players)
    tied = np.zeros((n, n))
    points, pairs, wins = np.zeros((len(deals), n, n)), np.zeros((len(deals), n, n)), np.zeros((len(deals), n))
    # the order of sets decides in which order sums are taken, so it follows from who is in them
    choices: dict[tuple[int, ...], dict[tuple[int, int], float]] = {}
    for outcome in told:
        deal, seats = deal_of[outcome.group], [place[name] for name in outcome.players]
        tiers = [[seats[seat] for seat in tier] for tier in _tiers(outcome)]
        for better, tier in enumerate(tiers):
            for one, two in combinations(tier, 2):
                points[deal, one, two] += 0.5
                points[deal, two, one] += 0.5
                tied[one, two] += 1.0
                tied[two, one] += 1.0
            for one in tier:
                for other in tiers[better + 1 :]:
                    points[deal, one, other] += 1.0
        for members, winner, weight in _choices(tiers):
            if len(members) == 2:
                pairs[deal, winner, members[members[0] == winner]] += weight
                continue
            wins[deal, winner] += weight
            counted = choices.setdefault(members, {})
            counted[deal, winner] = counted.get((deal, winner), 0.0) + weight
    sets, chosen = np.zeros((len(choices), n), dtype=bool), np.zeros((len(choices), n))
    asked = np.zeros((len(deals), len(choices)))
    for row, members in enumerate(sorted(choices)):
        sets[row, list(members)] = True
        for (deal, winner), weight in sorted(choices[members].items()):
            chosen[row, winner] += weight
            asked[deal, row] += weight
    return Comparisons(tuple(players), deals, points, pairs, sets, asked, wins, chosen, tied)


def _tiers(outcome: MatchOutcome) -> list[list[int]]:
    """The seats from best to worst, those that tie together; the seat that forfeits stands last, alone."""
    standing: dict[tuple[bool, float], list[int]] = {}
    for seat, utility in enumerate(outcome.utilities):
        given_up = seat == outcome.forfeit
        standing.setdefault((not given_up, 0.0 if given_up else utility), []).append(seat)
    return [standing[key] for key in sorted(standing, reverse=True)]


def _choices(tiers: Sequence[Sequence[int]]) -> Iterator[tuple[tuple[int, ...], int, float]]:
    """Each set from which somebody was chosen, who, and in which part of the orders that ties leave open: of m that
    tie, u are left at some step in one of (m over u) ways, and any of the u may be next."""
    below = [member for tier in tiers for member in tier]
    for tier in tiers:
        below = [member for member in below if member not in tier]
        m = len(tier)
        for u in range(1, m + 1):
            if u + len(below) < 2:
                continue
            weight = factorial(u - 1) * factorial(m - u) / factorial(m)
            for left in combinations(tier, u):
                members = tuple(sorted((*left, *below)))
                for winner in left:
                    yield members, winner, weight
