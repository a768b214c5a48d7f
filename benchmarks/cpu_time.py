"""CPU time, which depends less on other load on the machine than wall time."""

from __future__ import annotations

import resource


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of the processes that it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
