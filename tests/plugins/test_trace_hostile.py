"""Untrusted programs that attack the code that runs and analyzes them."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gymposium.errors import BadParameter
from gymposium.util.streams import Draw, stream
from gymposium_trace.running.backends import Bubblewrap
from gymposium_trace.running.groups import find_delegated_group
from gymposium_trace.running.limits import Limits
from gymposium_trace.running.probe import probe_backend
from gymposium_trace.running.runs import Run
from gymposium_trace.running.seccomp import build_filter, explain_missing_filter
from gymposium_trace.running.system_calls import CONDITIONS, MACHINES, get_allowed_calls
from gymposium_trace.sources import DatasetPrograms, read_rows

needs_walls = pytest.mark.skipif(not probe_backend(Bubblewrap()).isolates, reason="needs bubblewrap")
SOME = Limits(cpu_seconds=1, wall_seconds=8.0)
LIBC = "import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def run(program: str) -> Run:
    [result] = Bubblewrap().run(program, "", SOME)
    return result


def run_lines(program: str) -> list[str]:
    """The lines of a program that ends without an error."""
    result = run(program)
    assert result.complaint() is None, result.stderr
    return result.stdout.decode().splitlines()


def nested_loops(depth: int) -> str:
    """Each loop is analyzed twice for each time that the loop around it is."""
    lines = ["y = [1]"]
    for n in range(depth):
        lines += [" " * n + f"for x{n} in y:", " " * (n + 1) + f"z{n} = 1"]
    return "\n".join([*lines, " " * depth + "del " + ", ".join(f"z{n}" for n in range(depth)), "print(1)\n"])


def nested_finally(depth: int) -> str:
    """CPython compiles each `finally` block twice."""
    lines = [line for n in range(depth) for line in (" " * n + "try:", " " * (n + 1) + "a()", " " * n + "finally:")]
    return "\n".join([*lines, " " * depth + "b()", "print(1)\n"])


COSTLY = {
    "x = 1\n" * 100_000: "longer than 20000 characters",
    "\n" * 2_001: "more than 2000",
    "print(1)\0": "a NUL character",
    "print('\ud800')": "a lone surrogate",
    "print(" + "-" * 19_000 + "1)": "too deep",
    "print(" + "+1" * 9_000 + ")": "too deep",
    "print(" + "(" * 5_000 + ")" * 5_000 + ")": "too many nested parentheses",
    "print(" + "9" * 19_000 + ")": "is not Python",
    nested_finally(20): "too much memory",
    nested_loops(20): "took more than 2 s of CPU time",
}


@pytest.mark.slow
def test_costly_programs_are_refused_cheaply(tmp_path: Path) -> None:
    """Runs in a new process, whose peak of memory is that of the process that reads the programs."""
    file = tmp_path / "programs.jsonl"
    huge_row = b'{"program": "print(1)", "more": [' + b"[]," * 10_000_000 + b"0]}"
    rows = [json.dumps({"program": text}).encode() for text in COSTLY]
    file.write_bytes(b"\n".join([*rows, huge_row, json.dumps({"program": "print(1)"}).encode()]))
    script = (
        "import resource, sys\nfrom typer.testing import CliRunner\nfrom gymposium_trace.cli import command\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(CliRunner().invoke(command, ['check', sys.argv[1], '--json']).output)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    told = subprocess.run([sys.executable, "-P", "-c", script, file], capture_output=True, text=True, check=True)
    answer, _, more = told.stdout.rstrip().rpartition("\n")
    assert int(more) < 100 * 1024 * (1 if sys.platform == "linux" else 1024)
    if not probe_backend(Bubblewrap()).isolates:
        return
    found = json.loads(answer)
    assert found["count"] == 1
    expected = [*COSTLY.values(), "its line is longer than"]
    for number, (one, reason) in enumerate(zip(found["skipped"], expected, strict=True)):
        assert one["number"] == number
        assert reason in one["reason"]


def test_encoding_cookies_are_ignored() -> None:
    if not probe_backend(Bubblewrap()).isolates:
        pytest.skip("needs bubblewrap")
    programs = DatasetPrograms(
        "rows", lambda: [{"program": f"# coding: {name}\nprint('ä')"} for name in ("rot13", "utf-7")], 0
    )
    assert [programs.task(n, Draw(stream(0, "check"))).truth for n in range(2)] == ["ä\n", "ä\n"]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's headers are needed")
def test_syscall_numbers_match_the_kernel_headers() -> None:
    """The generic numbers, which ARM 64 has, are in the headers of every machine."""
    files = {"aarch64": ["/usr/include/asm-generic/unistd.h"]}
    files["x86_64"] = [f"/usr/include/{part}asm/unistd_64.h" for part in ("", "x86_64-linux-gnu/")]
    for machine in MACHINES:
        found = [Path(file) for file in files[machine] if Path(file).is_file()]
        if not found:
            pytest.skip("the kernel's headers are not installed")
        defined = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", found[0].read_text()))
        defined.setdefault("newfstatat", defined.get("fstatat", ""))
        assert {name: str(number) for name, number in get_allowed_calls(machine).items()} == {
            name: defined[name] for name in get_allowed_calls(machine)
        }


def test_kernel_accepts_the_filter_of_each_machine() -> None:
    for machine in MACHINES:
        rules = build_filter(machine)
        assert len(rules) % 8 == 0
        assert len(rules) // 8 <= 4096
        assert set(CONDITIONS) <= set(get_allowed_calls(machine))


@needs_walls
def test_system_calls_are_refused_by_default() -> None:
    """New namespaces and mounts, io_uring, keys, shared memory, queues, bpf, memfd_create and all others, by number."""
    allowed = sorted(get_allowed_calls(platform.machine()).values())
    allowed += [335, 336]  # uretprobe and uprobe end the program outside of a probe, whatever the filter says
    program = (
        f"{LIBC}allowed = {allowed}\nfor number in range(600):\n    if number not in allowed:\n"
        "        ctypes.set_errno(0)\n        if libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or "
        "ctypes.get_errno() != (errno.EPERM if number < 435 else errno.ENOSYS):\n"
        "            print(number, ctypes.get_errno())\nprint('done')\n"
    )
    assert run_lines(program) == ["done"]


DESCRIPTORS = """
import fcntl, os, resource
found = []
for number in range(resource.getrlimit(resource.RLIMIT_NOFILE)[1] + 1000):
    try:
        access = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
    except OSError:
        continue
    found.append((number, access == os.O_RDONLY))
print(found)
"""


@needs_walls
@pytest.mark.parametrize("times", [1, 2, 3])
def test_programs_get_only_the_standard_streams(times: int) -> None:
    """Descriptors of the filter of another run would let it out. Without /proc a program can list them by trying."""
    for result in Bubblewrap().run(DESCRIPTORS, "", SOME, times):
        assert result.stdout == b"[(0, True), (1, False), (2, False)]\n", result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap runs on Linux")
def test_each_run_gets_a_read_only_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script in place of bwrap lists the files that it inherits, and whether they can be written."""
    script = tmp_path / "bwrap"
    script.write_text(
        f"#!{sys.executable} -S\nimport fcntl, os, sys\n"
        "for number in (int(name) for name in os.listdir('/proc/self/fd')):\n"
        "    if number > 2 and os.path.exists(f'/proc/self/fd/{number}') and os.get_inheritable(number):\n"
        "        reads = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY\n"
        "        print(os.fstat(number).st_ino, reads, str(number) in sys.argv, len(os.read(number, 99999)))\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    lines = [result.stdout.decode().splitlines() for result in Bubblewrap().run("", "", SOME, 2)]
    [[first], [second]] = [[line.split() for line in one] for one in lines]
    assert first[0] != second[0]
    assert first[1:] == second[1:] == ["True", "True", str(len(build_filter(platform.machine())))]


REFUSED_ARGUMENTS = {
    "TIOCSTI": "fcntl.ioctl(0, 0x5412, b'x')",
    "the size of a pipe": "fcntl.fcntl(1, 1031, 2**20)",
    "whom to signal": "fcntl.fcntl(1, fcntl.F_SETOWN, 1)",
    "the limits of another process": "resource.prlimit(1, resource.RLIMIT_NOFILE)",
    "a pair of AF_INET": "socket.socketpair(socket.AF_INET)",
    "a memory file": "os.memfd_create('x')",
    "a process": "os.fork()",
    "a user namespace": "checked(libc.unshare(0x10000000))",
    "a namespace by clone": "checked(libc.syscall(CLONE, 0x10000011, 0, 0, 0, 0))",
    "shared memory": "checked(libc.shmget(0, 4096, 0o1600))",
    "a semaphore": "checked(libc.semget(0, 1, 0o1600))",
    "a queue": "checked(libc.msgget(0, 0o1600))",
    "a mount": "checked(libc.mount(b'x', b'/box', b'tmpfs', 0, None))",
    "tracing": "checked(libc.ptrace(0, 0, 0, 0))",
}


@needs_walls
def test_forbidden_uses_of_allowed_calls_are_refused() -> None:
    lines = [
        "import fcntl, os, resource, socket",
        f"CLONE = {56 if platform.machine() == 'x86_64' else 220}",
        "def checked(result):\n    if result == -1: raise OSError(ctypes.get_errno(), '')",
        *(
            f"try:\n    {text}\n    print({name!r})\nexcept PermissionError: pass"
            for name, text in REFUSED_ARGUMENTS.items()
        ),
        "print('done')",
    ]
    assert run_lines(LIBC + "\n".join(lines)) == ["done"]


@needs_walls
def test_sockets_of_every_family_are_refused() -> None:
    program = (
        "import socket\nfor family in range(64):\n    for kind in (1, 2, 3, 5):\n"
        "        try: print(socket.socket(family, kind))\n        except PermissionError: pass\nprint('done')"
    )
    assert run_lines(program) == ["done"]


@needs_walls
@pytest.mark.skipif(platform.machine() != "x86_64", reason="these tables are those of x86-64")
@pytest.mark.parametrize(
    "call",
    [
        "libc.syscall(0x40000000 | 39)",  # getpid of x32
        "machine_code(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')",  # mov eax, 20; int 0x80; ret: getpid of i386
    ],
)
def test_foreign_syscall_tables_kill_the_program(call: str) -> None:
    program = (
        f"{LIBC}import mmap\n"
        "def machine_code(code):\n    page = mmap.mmap(-1, 4096, prot=7)\n    page.write(code)\n"
        "    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()\n"
        f"{call}\nprint('alive')"
    )
    result = run(program)
    assert result.status == 128 + signal.SIGSYS
    assert result.stdout == b""


@needs_walls
def test_standard_library_works_in_the_sandbox() -> None:
    """What programs of data sets use: they would not count if a call that Python needs were refused."""
    program = """
import array, asyncio, bisect, collections, contextlib, copy, ctypes, dataclasses, datetime, decimal, enum, fractions
import functools, getpass, hashlib, heapq, html, io, itertools, json, locale, logging, math, operator, os, pathlib
import pickle, platform, queue, random, re, select, selectors, shutil, signal, socket, sqlite3, statistics, string
import struct, sys, tempfile, textwrap, threading, time, timeit, traceback, types, typing, unicodedata, unittest, uuid
import weakref, zlib, zoneinfo

async def wait():
    return sum(await asyncio.gather(asyncio.sleep(0.001, 1), asyncio.sleep(0, 2)))

print(asyncio.run(wait()))
with sqlite3.connect(":memory:") as base:
    print(base.execute("select sum(value) from (select 2 as value union select 3)").fetchone())
signal.signal(signal.SIGALRM, lambda *_: print("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.001)
time.sleep(0.01)
left, right = socket.socketpair()
left.sendall(b"ping")
print(right.recv(4), select.select([left], [left], [], 0)[1] == [left])
read, write = os.pipe()
os.write(write, b"x")
print(os.read(read, 1), os.isatty(0), os.get_terminal_size.__name__, len(os.urandom(8)), len(uuid.uuid4().hex))
print(sorted(path.name for path in pathlib.Path().iterdir()), pathlib.Path("program.py").stat().st_size > 0)
print(decimal.Decimal(1) / 3, hashlib.sha256(b"x").hexdigest()[:4], re.sub("a", "b", "aa"), os.cpu_count() > 0)
print(threading.Lock().acquire(), datetime.datetime.now().year > 2000, shutil.disk_usage(".").total >= 0)
try:
    threading.Thread(target=print).start()
except RuntimeError as error:
    print(error)
"""
    assert run_lines(program) == [
        "3", "(5,)", "alarm", "b'ping' True", "b'x' False get_terminal_size 8 32", "['dbg.py', 'program.py'] True",
        "0.3333333333333333333333333333 2d71 bb True", "True True True", "can't start new thread",
    ]  # fmt: skip


HOSTILE = {
    "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass": "killed",
    "import signal\nsignal.signal(signal.SIGXCPU, lambda *_: None)\nwhile True: pass": "killed",
    "import atexit\natexit.register(lambda: [0 for _ in iter(int, 1)])\nprint(1)": "killed|MemoryError",
    "import sys\nfor _ in range(1024): sys.stdout.write('x' * 2**20)": "prints too much",
    "import os\nos.closerange(0, 1000)\nos.kill(os.getpid(), 9)": "killed",
    "import os\nos.kill(0, 9)": "killed",
    "import os\nos.symlink('/etc/passwd', 'x')": "PermissionError",
    "import os\nos.rmdir('.')": "PermissionError",
    "open('/proc/self/oom_score_adj', 'w')": "FileNotFoundError",
    "import ctypes\nctypes.memset(0, 0, 1)": "status 139",
    "import os\nfor d in ('/dev/shm', '/'): os.open(d, os.O_TMPFILE | os.O_RDWR)": "Read-only",
}


@needs_walls
@pytest.mark.parametrize("program", HOSTILE)
def test_hostile_programs_stay_within_limits(program: str) -> None:
    assert re.search(HOSTILE[program], str(run(program).complaint()))


@needs_walls
def test_debug_prints_call_no_program_code() -> None:
    program = """
from dbg import dbg
class Meta(type):
    __name__ = property(lambda cls: print("called"))
    __repr__ = __getattribute__ = lambda *_: print("called")
class Value(metaclass=Meta):
    __repr__ = __eq__ = __len__ = __bool__ = __getattribute__ = lambda *_: print("called")
class Text(str):
    __str__ = __format__ = lambda *_: print("called")
class Named: pass
Named.__name__ = Text("Named")
loop = []
loop.append(loop)
dbg("m", Value(), [Value()], Text("x"), Named(), loop, 1 << 10**7)
"""
    assert run_lines(program) == ["m Value list Text Named list int"]


def describe_groups(root: Path, own: str, delegated: str = "", controllers: str = "cpu memory pids") -> Path | None:
    """What is found in a tree of control groups like one of systemd's, in which `delegated` may have limited groups."""
    user = root / "cgroup/user.slice/app.slice"
    (user / "mine.scope").mkdir(parents=True)
    (root / "cgroup/cgroup.controllers").write_text(controllers)
    for group in (root / "cgroup", user.parent, user, user / "mine.scope"):
        (group / "cgroup.procs").touch()
        (group / "cgroup.subtree_control").write_text(controllers if group.name == delegated else "cpu")
    (root / "own").write_text(own)
    return find_delegated_group(root / "cgroup", root / "own")


CASES: dict[str, tuple[Callable[[Path], Path | None], str | None]] = {
    "the nearest group": (
        lambda p: describe_groups(p, "0::/user.slice/app.slice/mine.scope\n", "app.slice"),
        "app.slice",
    ),
    "a version 1 tree too": (
        lambda p: describe_groups(p, "3:memory:/x\n0::/user.slice/app.slice\n", "app.slice"),
        "app.slice",
    ),
    "none with memory": (lambda p: describe_groups(p, "0::/user.slice/app.slice/mine.scope\n"), None),
    "version 1 alone": (lambda p: describe_groups(p, "3:memory:/x\n", "app.slice"), None),
    "outside of the view": (lambda p: describe_groups(p, "0::/../../other\n", "cgroup"), None),
    "no processes limited": (lambda p: describe_groups(p, "0::/user.slice/app.slice\n", "app.slice", "memory"), None),
    "not mounted": (lambda p: find_delegated_group(p / "cgroup", p / "own"), None),
}


@pytest.mark.parametrize("case", CASES)
def test_finds_where_memory_limited_groups_can_be_created(case: str, tmp_path: Path) -> None:
    """Asked of described trees. That the kernel limits such groups is not tested here."""
    ask, expected = CASES[case]
    found = ask(tmp_path)
    assert (found and found.name) == expected


def test_machines_without_a_filter_cannot_isolate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert "riscv64" in explain_missing_filter()
    assert "riscv64" in Bubblewrap().missing() or "not installed" in Bubblewrap().missing()
    assert not probe_backend.__wrapped__(Bubblewrap()).isolates


def test_refuses_pipes_as_sources(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadParameter, match="not a regular file"):
        read_rows(str(tmp_path / "pipe"))
