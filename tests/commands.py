"""The command `gymposium` in a forked process that has imported the libraries: a tenth of the time of a new process.

A server for each process of pytest imports them and the command's own modules once. For each command it forks a child
with the arguments, directory, environment and streams of the command. The child runs it as `python -m
gymposium.cli.main` does. Programs run in the same way, but import gymposium again. Tests of what Python does before
that (its flags, `PYTHONPATH`, closed streams, signals) or of what the command imports start a process.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

MODULE = "gymposium.cli.main"
LIBRARIES = (
    *("typer", "rich.console", "rich.progress", "rich.table", "rich.traceback"),
    *("numpy", "scipy.special", "scipy.optimize", "gymnasium", "pettingzoo", "pyspiel", "pydantic", "jinja2"),
    *("starlette.applications", "hypothesis.stateful", "pettingzoo.test"),
)
LEARNING = (*LIBRARIES, "torch", "transformers", "peft", "tokenizers", "safetensors.torch", "accelerate")
MODULES = (
    MODULE,
    *(f"gymposium.cli.{verb}" for verb in ("exploit", "info", "list", "play", "plugins", "replay", "run", "verify")),
    *("gymposium.envs.registration", "gymposium.match", "gymposium.records", "gymposium.runs.run"),
    *("gymposium_arena.cli.leaderboard", "gymposium_testing.registry"),
)
"""The command's own modules, none of which reads anything when it is imported."""
IMPORTED = {
    "COLUMNS": "80",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONUTF8": "1",
    "TQDM_DISABLE": "1",
}
"""Variables that the libraries read when they are imported, with what the command sets before it imports them."""


HUB = ("HF_ENDPOINT", "HF_HOME", "HF_HUB_OFFLINE", "HF_TOKEN")
"""Variables that huggingface_hub reads when it is imported."""


def run_command(
    *arguments: object, folder: Path, env: Mapping[str, str], typed: str = "", learns: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run `gymposium` with these arguments in a folder, with `env` as its whole environment and `typed` as its input.

    With `learns` torch and transformers have been imported. A variable with which Python itself or a library would
    begin in another way starts a process."""
    return _run([sys.executable, "-m", MODULE, *map(str, arguments)], folder, env, typed, learns)


def run_python(
    program: str, *arguments: object, folder: Path, env: Mapping[str, str], learns: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a program as `python -W error -c` does, also otherwise like `run_command`."""
    return _run([sys.executable, "-W", "error", "-c", program, *map(str, arguments)], folder, env, "", learns)


def _run(
    command: list[str], folder: Path, env: Mapping[str, str], typed: str, learns: bool
) -> subprocess.CompletedProcess[str]:
    python = {name for name in {*env, *os.environ} if name.startswith("PYTHON") and name != "PYTHONSAFEPATH"}
    differ = any(env.get(name) != {**os.environ, **IMPORTED}.get(name) for name in python - {"PYTHONUTF8"})
    differ |= any(env.get(name, value) != value for name, value in IMPORTED.items() if name != "COLUMNS")
    differ |= learns and any(env.get(name) != os.environ.get(name) for name in HUB)
    if differ or sys.platform != "linux":
        return subprocess.run(
            command, input=typed, capture_output=True, encoding="utf-8", cwd=folder, env=env, check=False
        )
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(typed.encode())
        stdin.seek(0)
        job = {"command": command, "folder": str(folder), "env": dict(env)}
        streams = [stream.fileno() for stream in (stdin, stdout, stderr)]
        code = _server(LEARNING if learns else LIBRARIES).run(job, streams)
        texts = []
        for stream in (stdout, stderr):
            stream.seek(0)
            texts.append(stream.read().decode().replace("\r\n", "\n"))
    return subprocess.CompletedProcess(command, code, *texts)


class _Server:
    """A process that has imported libraries and forks a child for each command."""

    def __init__(self, libraries: Sequence[str]) -> None:
        self._ours, theirs = socket.socketpair()
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno()), *libraries],
                pass_fds=[theirs.fileno()],
                env={**os.environ, **IMPORTED},
                stdin=subprocess.DEVNULL,
            )
        atexit.register(self._stop)

    def _stop(self) -> None:
        self._ours.close()
        self._process.wait()

    def run(self, job: dict[str, Any], streams: list[int]) -> int:
        data = json.dumps(job).encode()
        with self._lock:
            socket.send_fds(self._ours, [len(data).to_bytes(8)], streams)
            self._ours.sendall(data)
            told = self._ours.recv(4, socket.MSG_WAITALL)
        assert len(told) == 4, "the server of commands has ended"
        return int.from_bytes(told, signed=True)


@cache
def _server(libraries: Sequence[str]) -> _Server:
    return _Server(libraries)


def _serve(connection: socket.socket) -> None:
    """Run each command that arrives in a child, and send its exit code as `subprocess` gives it."""
    while True:
        head, streams, _, _ = socket.recv_fds(connection, 8, 3)
        if not head:
            return
        data = connection.recv(int.from_bytes(head), socket.MSG_WAITALL)
        child = os.fork()
        if child == 0:
            connection.close()
            _be_the_command(json.loads(data), streams)
        for descriptor in streams:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, signed=True))


def _be_the_command(job: dict[str, Any], streams: list[int]) -> None:
    """Run the command in this process, and end it as Python ends."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115 - they stay open
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["folder"])
    if not os.environ.get("PYTHONSAFEPATH"):
        sys.path.insert(0, job["folder"])
    sys.orig_argv = job["command"]
    code = _exit_code(_begin)
    code = _exit_code(threading._shutdown) or code  # type: ignore[attr-defined]
    code = _exit_code(atexit._run_exitfuncs) or code
    code = _exit_code(lambda: (sys.stdout.flush(), sys.stderr.flush())) or code
    os._exit(code & 0xFF)


def _begin() -> None:
    """Do what `sys.orig_argv` says."""
    _, option, what, *arguments = sys.orig_argv
    if option == "-m":
        del sys.modules[what]  # it runs as `__main__`
        found = find_spec(what)
        assert found is not None
        sys.argv = [found.origin or what, *arguments]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        for name in [name for name in sys.modules if name.partition(".")[0] == "gymposium"]:
            del sys.modules[name]  # importing it registers environments, except for the command
        warnings.simplefilter(what)  # type: ignore[arg-type]
        _, program, *arguments = arguments
        sys.argv = ["-c", *arguments]
        sys.modules["__main__"] = module = ModuleType("__main__")
        exec(compile(program, "<string>", "exec"), vars(module))


def _exit_code(work: Callable[[], object]) -> int:
    """Do the work, and return the exit code that Python has then."""
    try:
        work()
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 - Python shows any of them
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        return 1
    return 0


if __name__ == "__main__":
    descriptor, *modules = sys.argv[1:]
    sys.orig_argv = [sys.executable, "-m", MODULE]
    for name in (*modules, *MODULES):
        if find_spec(name.partition(".")[0]):  # some environments have only some of the distributions
            import_module(name)
    with socket.socket(fileno=int(descriptor)) as made:
        _serve(made)
