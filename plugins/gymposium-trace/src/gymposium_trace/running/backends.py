"""Backends that run a program.

`Rlimits` limits resources, which suffices for generated programs. `Bubblewrap` also isolates, for programs from a file
or a hub.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import cache
from os.path import realpath
from pathlib import Path
from typing import Protocol

from gymposium.util.child_process import find_interpreter, make_python_command
from gymposium_trace.running.groups import find_usable_group, make_memory_group
from gymposium_trace.running.limits import Limits
from gymposium_trace.running.runs import Command, Run, open_unnamed_file, run_all
from gymposium_trace.running.seccomp import build_filter, explain_missing_filter

PYTHON = find_interpreter()
"""The path of this interpreter, with a virtual environment's symbolic link resolved."""

ENVIRONMENT = {"PYTHONHASHSEED": "0"}
"""The complete environment of a program. It fixes the order of sets. The options -I and -E would ignore it, so they are
not used."""

OPTIONS = ("-s", "-S", "-B", "-X", "utf8")
"""Interpreter options: no site-packages, no bytecode files, and UTF-8 everywhere."""

_HERE = Path(realpath(__file__)).parent
_INSIDE = (_HERE / "inside.py").read_text(encoding="utf-8")
_DEBUG = _HERE.parent / "dbg.py"


class Backend(Protocol):
    """Protocol of a backend."""

    name: str
    install: str
    """How to install the backend, as the end of a sentence."""

    def __hash__(self) -> int: ...

    def missing(self) -> str:
        """Return what this machine lacks for the backend, or "" if it can be tested."""
        ...

    def run(self, program: str, inputs: str, limits: Limits, times: int = 1) -> list[Run]:
        """Run the program `times` times in parallel, each time in a new folder."""
        ...


class Rlimits:
    """A subprocess with resource limits, an empty environment and a new folder. It could open files and connections, so
    it is for generated programs only."""

    name = "rlimits"
    install = "run on Linux or macOS"

    def missing(self) -> str:
        return "" if os.name == "posix" else "this system has no resource limits"

    def run(self, program: str, inputs: str, limits: Limits, times: int = 1) -> list[Run]:
        with ExitStack() as stack:
            folders = [_make_folder(stack, program) for _ in range(times)]
            commands = [
                Command(_make_python_command(limits, _DEBUG, folder / "program.py"), folder) for folder in folders
            ]
            return run_all(commands, inputs.encode(), ENVIRONMENT, limits)


class Bubblewrap:
    """A subprocess in new namespaces, created by bwrap, with a system call filter. For x86-64 and ARM 64. The program
    sees only Python and the system's libraries, read-only. It has no network, no other files, no other processes and no
    place to write. It cannot start processes or threads."""

    name = "bubblewrap"
    install = (
        "install bubblewrap (apt install bubblewrap, dnf install bubblewrap) on Linux for x86-64 or ARM 64, and allow "
        "user namespaces"
    )

    def missing(self) -> str:
        return explain_missing_filter() if shutil.which("bwrap") else "the program bwrap is not installed"

    def run(self, program: str, inputs: str, limits: Limits, times: int = 1) -> list[Run]:
        with ExitStack() as stack:
            folder = _make_folder(stack, program)
            shutil.copyfile(_DEBUG, folder / "dbg.py")
            inside = _make_python_command(limits, Path("/box/dbg.py"), Path("/box/program.py"))
            commands = []
            for _ in range(times):
                place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                # one file per run: a program that could write to another run's filter could escape
                rules = stack.enter_context(open_unnamed_file(build_filter(platform.machine()), place)).fileno()
                arguments = [
                    *_group_command(stack, limits),
                    *_make_isolation_arguments(folder),
                    "--seccomp",
                    str(rules),
                    *inside,
                ]
                commands.append(Command(arguments, place, (rules,)))
            return run_all(commands, inputs.encode(), {}, limits)


BACKENDS: tuple[Backend, ...] = (Rlimits(), Bubblewrap())


def _make_folder(stack: ExitStack, program: str) -> Path:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trace-")))
    (folder / "program.py").write_text(program, encoding="utf-8", newline="")
    return folder


def _make_python_command(limits: Limits, debug: Path, program: Path) -> list[str]:
    return make_python_command(*OPTIONS, "-c", _INSIDE, limits.rlimits(), str(debug), str(program), python=PYTHON)


def _group_command(stack: ExitStack, limits: Limits) -> list[str]:
    """Return a command prefix that runs the command in a control group with a memory limit; empty without control
    groups."""
    parent = find_usable_group()
    return [] if parent is None else stack.enter_context(make_memory_group(parent, limits.memory_bytes))


def _make_isolation_arguments(folder: Path) -> list[str]:
    bwrap = shutil.which("bwrap")
    assert bwrap is not None
    options = [bwrap, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv"]
    options += ["--cap-drop", "ALL", "--uid", "65534", "--gid", "65534"]
    if _can_disable_user_namespaces(bwrap):
        options.append("--disable-userns")
    for name, value in ENVIRONMENT.items():
        options += ["--setenv", name, value]
    for path in _find_python_folders():
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            options += ["--ro-bind", str(path), str(path)]
    options += ["--dev", "/dev", "--remount-ro", "/dev", "--ro-bind", str(folder), "/box", "--chdir", "/box"]
    return [*options, "--remount-ro", "/"]


@cache
def _can_disable_user_namespaces(bwrap: str) -> bool:
    """Return whether this bwrap can forbid user namespaces inside the sandbox. This requires bubblewrap 0.8 or later
    without setuid. The system call filter also forbids them.
    """
    if Path(bwrap).stat().st_mode & stat.S_ISUID:
        return False
    told = subprocess.run([bwrap, "--help"], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return b"--disable-userns" in told.stdout + told.stderr


def _find_python_folders() -> list[Path]:
    """Return the folders of this Python and of the libraries it needs."""
    system = [Path(path) for path in ("/usr", "/lib", "/lib32", "/lib64", "/nix/store")]
    own = {Path(sys.base_prefix), Path(sys.base_exec_prefix), Path(PYTHON).parent.parent}
    return system + sorted(path for path in map(Path, map(realpath, own)) if not path.is_relative_to("/usr"))
