"""The other libraries, each in its own virtual environment and process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.throughput.slices import Side

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Library:
    """What pip installs for it, and what a reader should know of its column."""

    title: str
    requirement: str
    gives: str


LIBRARIES = {
    "textarena": Library("TextArena", "textarena==0.7.4", "text, the whole conversation again at each turn"),
    "pettingzoo": Library("PettingZoo classic", "pettingzoo[classic]==1.27.0", "planes and a mask, no text"),
    "shimmy": Library("Shimmy", "shimmy[openspiel]==2.0.1", "a tensor and a mask, no text"),
}
"""By the module of `workers` that plays its games."""


def set_up(name: str, home: Path) -> None:
    """Make the library's environment unless it exists. Raises `SystemExit` on failure."""
    python, wanted = _python(name, home), LIBRARIES[name].requirement
    marker = home / name / "installed.txt"
    if marker.is_file() and marker.read_text(encoding="utf-8") == wanted:
        print(f"{wanted} is installed already.")
        return
    print(f"Installing {wanted}", flush=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", wanted]
    for command in ([sys.executable, "-m", "venv", "--clear", str(home / name)], pip):
        if subprocess.run(command, check=False, env=_environment()).returncode:
            raise SystemExit(f"{wanted} could not be installed: {' '.join(command)} failed; its words are above.")
    marker.write_text(wanted, encoding="utf-8")


def _python(name: str, home: Path) -> Path:
    return home.absolute() / name / ("Scripts" if os.name == "nt" else "bin") / "python"


def _environment() -> dict[str, str]:
    """Return the variables without those that carry our own packages or the pins that hold for them; one thread."""
    ours = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_CONSTRAINT", "PIP_REQUIREMENT"}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}


class Worker:
    """A process that plays another library's games (`workers.serving`)."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        hello = self._answer()
        self.games: list[str] = hello["games"]
        self.versions: dict[str, str] = hello["versions"]
        self.told: dict[str, dict[str, Any]] = {}
        """What the last answer said of a game beside its rate."""

    def side(self, game: str) -> Side:
        """That game, as one of the sides that take turns."""

        def work(seconds: float) -> float:
            found = self._answer({"game": game, "seconds": seconds})
            rate: float = found.pop("rate")
            self.told[game] = found
            return rate

        return work

    def _answer(self, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        if request is not None:
            print(json.dumps(request), file=process.stdin, flush=True)
        line = process.stdout.readline()
        if not line:
            status = process.wait()
            raise SystemExit(f"{' '.join(self._command)} ended with status {status}; its own words are above.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Let it end, since there is nothing more to read."""
        self._process.communicate()


@contextmanager
def workers(names: Sequence[str], home: Path) -> Iterator[dict[str, Worker]]:
    """Yield a process for each of these libraries. Raises `SystemExit` if one is not set up."""
    if missing := [name for name in names if not (home / name / "installed.txt").is_file()]:
        raise SystemExit(f"{', '.join(missing)}: not set up. Run  python -m benchmarks.throughput peers --setup  once.")
    started: dict[str, Worker] = {}
    try:
        for name in names:
            started[name] = Worker([str(_python(name, home)), "-m", f"benchmarks.throughput.workers.{name}"])
        yield started
    finally:
        for worker in started.values():
            worker.close()
