"""The conformance kit, which checks the games, players, rewards, loggers and executors of any plugin.

The same checks run in three ways (`gymposium_testing.registry`):

    gymposium plugins check nim                        # a table in the terminal
    pytest --pyargs gymposium_testing.suite            # every installed plugin, without any code
    class TestNim(GameConformance): game = "nim"       # in your own test suite

Install it with  pip install gymposium-testing  (pytest and hypothesis).

Names are imported on first use, because the `gymposium` command always imports this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymposium_testing.conformance import GameConformance
    from gymposium_testing.contract import NORMAL, QUICK, THOROUGH, CheckFailed, Effort, NotApplicable
    from gymposium_testing.leaks import Leak, LeakReport, assert_no_leaks, check_leaks
    from gymposium_testing.registry import CHECKS, Check

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

_MODULES = {
    "CHECKS": "registry",
    "Check": "registry",
    "CheckFailed": "contract",
    "Effort": "contract",
    "GameConformance": "conformance",
    "Leak": "leaks",
    "LeakReport": "leaks",
    "NORMAL": "contract",
    "NotApplicable": "contract",
    "QUICK": "contract",
    "THOROUGH": "contract",
    "assert_no_leaks": "leaks",
    "check_leaks": "leaks",
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
