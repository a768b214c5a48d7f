"""A seccomp filter that keeps a program from starting processes and threads.

A limit on their number would not hold for the superuser. The filter is written as a few instructions of the kernel's
filter language (linux/bpf_common.h, linux/seccomp.h), so it needs no library."""

from __future__ import annotations

import platform
import struct
import sys

_CALLS = {
    # machine: (AUDIT_ARCH, numbers of clone, clone3, and of fork and vfork if they exist)
    "x86_64": (0xC000003E, (56, 435, 57, 58)),
    "aarch64": (0xC00000B7, (220, 435)),
}
_OTHER_TABLE = 0x40000000  # on x86-64 the same calls have second numbers, from here on (x32)

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # refused with EPERM
_NUMBER_AT, _MACHINE_AT = 0, 4


def no_new_processes() -> bytes | None:
    """Return the filter for this machine, or None if the numbers of its calls are not known."""
    known = _CALLS.get(platform.machine())
    if known is None or sys.platform != "linux" or struct.calcsize("P") != 8:
        return None
    machine, numbers = known
    tests = [(_EQUAL, number) for number in numbers] + [(_AT_LEAST, _OTHER_TABLE)]
    program = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 1, 0, machine),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        # each test jumps over those that follow it and over the permission
        *((test, len(tests) - place, 0, value) for place, (test, value) in enumerate(tests)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
