"""The scale on which players are rated."""

from __future__ import annotations

import math

POINTS = 400.0 / math.log(10.0)
"""Elo points for each unit of the natural logarithm: 400 points are odds of ten to one."""

ANCHOR = "random"
"""The player who is rated 0: a legal move, uniformly at random."""

CONFIDENCE = 0.95
"""Of all intervals."""
