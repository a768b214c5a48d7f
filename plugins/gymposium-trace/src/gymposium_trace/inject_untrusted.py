"""Insertion of debug prints into an untrusted program, in a process with time and memory limits.

Parsing a short program can take gigabytes, and analyzing nested loops can take hours.
"""

from __future__ import annotations

import warnings

from gymposium.util.isolated import CallFailed, Child
from gymposium.util.streams import Draw
from gymposium_trace.inject import InjectionError, inject

_ANALYST = Child("its analysis", 60.0, cpu_seconds=2.0, memory=512 * 2**20)


def inject_untrusted(program: str, count: int, draw: Draw) -> str:
    """Return the program with debug prints, as `inject` does.

    Also raises `InjectionError` on exceeding the time or memory limit.
    """
    try:
        text, reason = _ANALYST.call(_try_inject, program, count, draw)
    except CallFailed as error:
        raise InjectionError(str(error).removesuffix(".")) from error
    if reason:
        raise InjectionError(reason)
    return text


def _try_inject(program: str, count: int, draw: Draw) -> tuple[str, str]:
    """Return the program with debug prints and "", or "" and the reason for failing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler warns about the program's style
        try:
            return inject(program, count, draw), ""
        except InjectionError as error:
            return "", str(error)
