"""The system calls that a traced program may make, by their numbers on each machine.

CPython and its standard library need them to compute, to read files, and to run an event loop. Calls that start
processes or threads, change files, reach other processes or hold memory outside the address space are omitted. So are
calls that later kernels add.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MACHINES: Mapping[str, tuple[int, int]] = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""The machines in the table, each with its `AUDIT_ARCH` (linux/audit.h) and column of numbers."""

_TABLE = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70
lseek 8 62, close 3 57, close_range 436 436, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59
open 2 -, openat 257 56, stat 4 -, fstat 5 80, lstat 6 -, newfstatat 262 79, statx 332 291, access 21 -
faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, getdents 78 -, getdents64 217 61
getcwd 79 17, chdir 80 49, fchdir 81 50, statfs 137 43, fstatfs 138 44, umask 95 166
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72
epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22
sendto 44 206, recvfrom 45 207, shutdown 48 210, getsockname 51 204, getsockopt 55 209
brk 12 214, mmap 9 222, munmap 11 215, mremap 25 216, mprotect 10 226, madvise 28 233, msync 26 227
futex 202 98, rseq 334 293, set_robust_list 273 99, set_tid_address 218 96, arch_prctl 158 -
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigsuspend 130 133
rt_sigtimedwait 128 137, sigaltstack 131 132, restart_syscall 219 128, pause 34 -
kill 62 129, tkill 200 130, tgkill 234 131, alarm 37 -, getitimer 36 102, setitimer 38 103
clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101
gettimeofday 96 169, time 201 -, times 100 153, getrandom 318 278
getpid 39 172, getppid 110 173, gettid 186 178, getpgid 121 155, getpgrp 111 -, getsid 124 156
getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150
getgroups 115 158, getpriority 140 141, getrlimit 97 163, setrlimit 160 164, getrusage 98 165
sched_getaffinity 204 123, sched_yield 24 124, getcpu 309 168, sysinfo 99 179, uname 63 160
execve 59 221, wait4 61 260, waitid 247 95, exit 60 93, exit_group 231 94
ioctl 16 29, fcntl 72 25, prlimit64 302 261, socketpair 53 199
"""
"""Name, number on x86-64 and number on ARM 64, which is the generic one (asm-generic/unistd.h).

`execve` starts the interpreter itself after bwrap has set the filter; `wait4` serves bwrap's own process inside."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Allowed values of one argument."""

    argument: int
    values: tuple[int, ...]


CONDITIONS: Mapping[str, Condition] = {
    # queries of terminals and descriptors: TCGETS, TCGETS2 and so on
    "ioctl": Condition(1, (0x5401, 0x802C542A, 0x5413, 0x5450, 0x5451, 0x5421, 0x541B)),
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC: no pipe sizes, no signal owners
    "fcntl": Condition(1, (0, 1, 2, 3, 4, 1030)),
    "prlimit64": Condition(0, (0,)),  # the process itself
    "socketpair": Condition(0, (1,)),  # AF_UNIX, for the self-pipe of event loops
}
"""Calls that are allowed only for some values of one argument. These arguments are ints. The kernel reads 32 bits of
them.
"""


def get_allowed_calls(machine: str) -> dict[str, int]:
    """Return the allowed calls of a machine in `MACHINES`, with their numbers."""
    column = MACHINES[machine][1]
    return {name: int(numbers[column]) for name, *numbers in _read_rows() if numbers[column] != "-"}


def _read_rows() -> Iterator[list[str]]:
    for line in _TABLE.strip().splitlines():
        yield from (entry.split() for entry in line.split(", "))
