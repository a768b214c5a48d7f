"""gymposium's games and worlds in Inspect: the tasks `gymposium/match` and `gymposium/world`.

Inspect imports this package through its entry point, which registers the tasks, the solver and the scorers.
"""

from gymposium_inspect.logs import PairedDifference, compare_logs, list_records
from gymposium_inspect.playing import play
from gymposium_inspect.scoring import outcome, report
from gymposium_inspect.seats import make_samples
from gymposium_inspect.tasks import match, world

__all__ = [
    "PairedDifference",
    "compare_logs",
    "list_records",
    "make_samples",
    "match",
    "outcome",
    "play",
    "report",
    "world",
]
