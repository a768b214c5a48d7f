"""Count scores between the players of one zero-sum game by deal.

A two-player match is one comparison, and a draw counts as half a win for each player. A larger match is a sequence of
choices (Luce, 1959; Plackett, 1975): the best player is chosen from all, the second best from the rest, and so on. All
orders of tied players count equally.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from gymposium_arena.outcomes import MatchOutcome

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Scores between n players in one game, by deal (the bootstrap's cluster)."""

    players: tuple[str, ...]
    deals: tuple[str, ...]
    points: Floats
    """The row player's points against the column player, shape (deals, n, n): 1 for doing better in a match, 0.5 for
    a tie."""
    pairs: Floats
    """How often the row player was chosen over the column player, shape (deals, n, n). Equals `points` if all matches
    have two players."""
    sets: NDArray[np.bool_]
    """Membership in the choice sets of three or more players, shape (sets, n)."""
    asked: Floats
    """Number of choices from each set, shape (deals, sets)."""
    wins: Floats
    """How often each player was chosen from these sets, shape (deals, n)."""
    chosen: Floats
    """How often each player was chosen from each set over all deals, shape (sets, n)."""
    tied: Floats
    """Number of ties between two players, shape (n, n)."""

    @property
    def played(self) -> NDArray[np.int_]:
        """Number of deals per player, shape (n)."""
        return np.asarray(np.count_nonzero((self.points > 0.0).any(axis=1) | (self.points > 0.0).any(axis=2), axis=0))


def compare_players(
    outcomes: Iterable[MatchOutcome], players: Sequence[str], weights: Sequence[float] | Floats | None = None
) -> Comparisons:
    """Count the outcomes of one zero-sum game, with players in this order.

    `weights` holds a weight per outcome, 1 by default. Self-play and outcomes of weight 0 are left out."""
    counted = ((one, 1.0) for one in outcomes) if weights is None else zip(outcomes, weights, strict=True)
    between = [(one, weight) for one, weight in counted if len(set(one.players)) == len(one.players) and weight > 0.0]
    deals, indexed = index_outcomes((one for one, _ in between), players)
    n = len(players)
    tied = np.zeros((n, n))
    points, pairs, wins = np.zeros((len(deals), n, n)), np.zeros((len(deals), n, n)), np.zeros((len(deals), n))
    choices: defaultdict[tuple[tuple[int, ...], int, int], float] = defaultdict(float)
    for (deal, seats, outcome), (_, counts) in zip(indexed, between, strict=True):
        tiers = [[seats[seat] for seat in tier] for tier in _rank_seats(outcome)]
        tier_of = {player: number for number, tier in enumerate(tiers) for player in tier}
        for one, other in permutations(seats, 2):
            equal = tier_of[one] == tier_of[other]
            tied[one, other] += equal
            points[deal, one, other] += counts * (0.5 if equal else float(tier_of[one] < tier_of[other]))
        for members, winner, weight in _list_choices(tiers):
            if len(members) == 2:
                pairs[deal, winner, members[members[0] == winner]] += counts * weight
            else:
                wins[deal, winner] += counts * weight
                choices[members, deal, winner] += counts * weight
    # sort the sets, so that the order of summation does not depend on the order of matches
    row_of = {members: row for row, members in enumerate(sorted({members for members, _, _ in choices}))}
    sets, chosen = np.zeros((len(row_of), n), dtype=bool), np.zeros((len(row_of), n))
    asked = np.zeros((len(deals), len(row_of)))
    for (members, deal, winner), weight in sorted(choices.items()):
        sets[row_of[members], list(members)] = True
        chosen[row_of[members], winner] += weight
        asked[deal, row_of[members]] += weight
    return Comparisons(tuple(players), deals, points, pairs, sets, asked, wins, chosen, tied)


def index_outcomes(
    outcomes: Iterable[MatchOutcome], players: Sequence[str]
) -> tuple[tuple[str, ...], list[tuple[int, list[int], MatchOutcome]]]:
    """Return the sorted deals, and each outcome with its deal's index and its players' indices by seat."""
    listed = list(outcomes)
    deals = tuple(sorted({outcome.group for outcome in listed}))
    deal_of, player_index = {deal: d for d, deal in enumerate(deals)}, {name: i for i, name in enumerate(players)}
    return deals, [(deal_of[one.group], [player_index[name] for name in one.players], one) for one in listed]


def _rank_seats(outcome: MatchOutcome) -> list[list[int]]:
    """Return groups of tied seats, from best to worst. The forfeiting seat is last and alone."""
    seats_by_worth: defaultdict[tuple[bool, float], list[int]] = defaultdict(list)
    for seat, utility in enumerate(outcome.utilities):
        stayed = seat != outcome.forfeit
        seats_by_worth[stayed, utility if stayed else 0.0].append(seat)
    return [seats_by_worth[worth] for worth in sorted(seats_by_worth, reverse=True)]


def _list_choices(tiers: Sequence[Sequence[int]]) -> Iterator[tuple[tuple[int, ...], int, float]]:
    """Yield each choice as its candidates, the chosen player and a weight. The weight is the share of tie orders with
    this choice.

    When u of m tied players are left, each set of u is equally likely, and so is each of them to be chosen next."""
    below = [member for tier in tiers for member in tier]
    for tier in tiers:
        below = [member for member in below if member not in tier]
        m = len(tier)
        for u in range(1 if below else 2, m + 1):  # a choice needs two candidates
            weight = factorial(u - 1) * factorial(m - u) / factorial(m)
            for left in combinations(tier, u):
                members = tuple(sorted((*left, *below)))
                for winner in left:
                    yield members, winner, weight
