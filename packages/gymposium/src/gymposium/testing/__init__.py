"""The conformance kit: what a game must keep, checked for any author's game.

Three ways to run it, all of the same checks (`gymposium.testing.registry`):

    gymposium plugins check nim                        # a table in the terminal
    pytest --pyargs gymposium.testing.suite            # every installed plugin, nothing to write
    class TestNim(GameConformance): game = "nim"       # in your own test suite

Install it with  pip install "gymposium[testing]"  (pytest and hypothesis).
"""

from __future__ import annotations

from gymposium.testing.conformance import GameConformance
from gymposium.testing.effort import NORMAL, QUICK, THOROUGH, Effort
from gymposium.testing.failed import CheckFailed, NotApplicable
from gymposium.testing.leaks import Leak, LeakReport, assert_no_leaks, check_leaks
from gymposium.testing.registry import CHECKS, Check

__all__ = [
    "CHECKS",
    "NORMAL",
    "QUICK",
    "THOROUGH",
    "Check",
    "CheckFailed",
    "Effort",
    "GameConformance",
    "Leak",
    "LeakReport",
    "NotApplicable",
    "assert_no_leaks",
    "check_leaks",
]
