"""The scale of ratings: Elo points above the player `random`."""

from __future__ import annotations

import math

POINTS = 400.0 / math.log(10.0)
"""Elo points per unit of the natural logarithm: 400 points are odds of ten to one."""

ANCHOR = "random"
"""The player rated 0; it plays legal moves uniformly at random."""

CONFIDENCE = 0.95
"""Confidence level of every interval."""
