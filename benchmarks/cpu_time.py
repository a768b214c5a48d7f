"""CPU time, which other work on the machine does not lengthen as it does the clock."""

from __future__ import annotations

import resource


def cpu_seconds() -> float:
    """What this process and those that it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
