"""The conformance kit: checks of the games, players, rewards, loggers and executors of any plugin.

There are three ways to run the same checks (`gymposium.testing.registry`):

    gymposium plugins check nim                        # a table in the terminal
    pytest --pyargs gymposium.testing.suite            # every installed plugin, without any code
    class TestNim(GameConformance): game = "nim"       # in your own test suite

Install it with  pip install "gymposium[testing]"  (pytest and hypothesis).
"""

from __future__ import annotations

from gymposium.testing.conformance import GameConformance
from gymposium.testing.contract import NORMAL, QUICK, THOROUGH, CheckFailed, Effort, NotApplicable
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
