"""A seccomp filter that allows a program the system calls in `system_calls` and refuses all others.

The filter consists of the kernel's BPF instructions (linux/bpf_common.h, linux/seccomp.h), so it needs no library. A
call through another architecture's table ends the process, because its numbers stand for other calls.
"""

from __future__ import annotations

import errno
import platform
import struct
import sys
from collections.abc import Iterator
from typing import TypeAlias

from gymposium_trace.running.system_calls import CONDITIONS, MACHINES, Condition, get_allowed_calls

Instruction: TypeAlias = tuple[int, int, int, int]
"""A BPF instruction: the code, the number of instructions to skip if the test holds, the number to skip if it does not,
and the operand."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW: Instruction = (_RETURN, 0, 0, 0x7FFF0000)
_KILL: Instruction = (_RETURN, 0, 0, 0x80000000)
_REFUSE, _UNKNOWN = ((_RETURN, 0, 0, 0x00050000 | code) for code in (errno.EPERM, errno.ENOSYS))
_X32 = 0x40000000
"""The start of the x32 numbers, which are second numbers for the same calls on x86-64."""
_NEW = 435
"""The first number of calls that are newer than Linux 5.2, beginning with `clone3`. Libraries fall back to older calls
after ENOSYS, but fail after EPERM."""


def explain_missing_filter() -> str:
    """Return why this machine has no filter, or "" if it has one."""
    if sys.platform != "linux":
        return "this system has no seccomp filters"
    if platform.machine() not in MACHINES or struct.calcsize("P") != 8:
        return f"no filter of system calls is known for {platform.machine()}, only for {' and '.join(MACHINES)}"
    return ""


def build_filter(machine: str) -> bytes:
    """Return the filter for a machine in `MACHINES`."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in _build_instructions(machine))


def _build_instructions(machine: str) -> Iterator[Instruction]:
    yield from [(_LOAD, 0, 0, _MACHINE_AT), (_EQUAL, 1, 0, MACHINES[machine][0]), _KILL]
    yield (_LOAD, 0, 0, _NUMBER_AT)
    if machine == "x86_64":
        yield from [(_AT_LEAST, 0, 1, _X32), _KILL]
    for name, number in get_allowed_calls(machine).items():
        then = _check_argument(CONDITIONS[name]) if name in CONDITIONS else [_ALLOW]
        yield from [(_EQUAL, 0, len(then), number), *then]
    yield from [(_AT_LEAST, 0, 1, _NEW), _UNKNOWN, _REFUSE]


def _check_argument(condition: Condition) -> list[Instruction]:
    """Return instructions that allow the call for the condition's values and refuse it for all other values."""
    tests = [i for value in condition.values for i in ((_EQUAL, 0, 1, value), _ALLOW)]
    return [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * condition.argument), *tests, _REFUSE]
