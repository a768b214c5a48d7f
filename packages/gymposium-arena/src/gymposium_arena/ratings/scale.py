"""The scale of ratings: Elo points above the player `random`."""

from __future__ import annotations

import math

POINTS = 400.0 / math.log(10.0)
"""Elo points for each unit of the natural logarithm: 400 points are odds of ten to one."""

ANCHOR = "random"
"""The player who is rated 0; it plays a legal move, uniformly at random."""

CONFIDENCE = 0.95
"""Confidence level used for every interval."""
