"""Correct returns for luck, as far as this narrows a pairing's interval.

A poor correction widens the interval. Each pairing therefore applies the share of the correction that minimizes the
variance over deals (a regression on a control variate: Lavenberg and Welch, 1981, A Perspective on the Use of Control
Variables). Each deal's share is estimated on other deals, so the mean is unbiased.

After a good correction, most matches have no remainder and a few have a large one. An interval from matches without
those few would be too narrow. Therefore a share of the luck is kept, and shrinks with the number of deals.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from gymposium_arena.outcomes import MatchOutcome

FOLDS = 5
FEWEST = 2 * FOLDS
"""Minimum number of deals for a pairing to be corrected."""
KEPT = 2.0
"""The kept share of the luck, times the square root of the number of deals.

In Kuhn and Leduc poker with ten policies, 2 gives nearly the coverage of plain intervals, and 0 gives 88%."""


def correct_for_luck(outcomes: Iterable[MatchOutcome]) -> list[MatchOutcome]:
    """Return the outcomes of two-player matches with corrected utilities, by pairing. Pairings with too few deals or
    without corrections are unchanged."""
    pairings: defaultdict[tuple[str, ...], list[MatchOutcome]] = defaultdict(list)
    for outcome in outcomes:
        pairings[tuple(sorted(outcome.players))].append(outcome)
    return [one for pairing in pairings.values() for one in _correct_pairing(pairing)]


def _correct_pairing(outcomes: Sequence[MatchOutcome]) -> list[MatchOutcome]:
    player = min(outcomes[0].players)
    deals = {group: number for number, group in enumerate(sorted({one.group for one in outcomes}))}
    if len(deals) < FEWEST or any(one.corrected is None for one in outcomes):
        return [*outcomes]
    plain, luck, counts = np.zeros(len(deals)), np.zeros(len(deals)), np.zeros(len(deals))
    for one in outcomes:
        seat, deal = one.players.index(player), deals[one.group]
        assert one.corrected is not None
        plain[deal] += one.utilities[seat]
        luck[deal] += one.utilities[seat] - one.corrected[seat]
        counts[deal] += 1
    shares = np.empty(len(deals))
    for fold in range(FOLDS):
        others = np.arange(len(deals)) % FOLDS != fold
        shares[~others] = _estimate_share(plain[others] / counts[others], luck[others] / counts[others])
    shares *= 1.0 - KEPT / math.sqrt(len(deals))
    return [replace(one, utilities=_correct_outcome(one, float(shares[deals[one.group]]))) for one in outcomes]


def _estimate_share(plain: np.ndarray, luck: np.ndarray) -> float:
    """Return the best share of the luck to remove, from 0 to 1."""
    plain, luck = plain - plain.mean(), luck - luck.mean()
    spread = float(luck @ luck)
    return 0.0 if spread == 0.0 else min(1.0, max(0.0, float(plain @ luck) / spread))


def _correct_outcome(outcome: MatchOutcome, share: float) -> tuple[float, ...]:
    assert outcome.corrected is not None
    pairs = zip(outcome.utilities, outcome.corrected, strict=True)
    return tuple(plain - share * (plain - corrected) for plain, corrected in pairs)
