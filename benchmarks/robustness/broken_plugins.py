"""25 broken plugins, each installed in turn beside one that works.

Each is a distribution laid out in a temporary directory on PYTHONPATH. `gymposium list --json` and
`gymposium run --json` must exit with 0, print JSON on stdout and nothing else, know every other plugin, and name the
broken one with its reason on stderr. A plugin that ends the process must be named by
`gymposium plugins list --isolated`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.robustness.row import Row, Wanted

SCRIPT = Path(sys.executable).with_name("gymposium")
SECONDS = 120
"""So long a command may take."""
ROUNDS = 10
"""Installations of each plugin, with two commands each."""
_LIST = ["list", "--json"]
_ISOLATED = ["plugins", "list", "--isolated", "--json"]

SPEC = """
from gymposium import GameSpec, hookimpl
@hookimpl
def gymposium_games():
    {before}
    yield GameSpec(name="{game}", title="T", summary="S", entry_point="nowhere:Game")
    {after}
"""
FINE = """
from gymposium import OpponentSpec, hookimpl
@hookimpl
def gymposium_opponents():
    yield OpponentSpec(
        name="fine", form="fine", pattern="fine", summary="S", entry_point="gymposium.players.random:RandomPlayer"
    )
"""
METADATA = b"Metadata-Version: 2.1\nName: broken-dist\nVersion: 1\n"
ENTRY_POINTS = b"[gymposium]\nbroken = broken_module\n"


@dataclass(frozen=True, slots=True)
class Broken:
    """One broken plugin, and a part of the reason that must be told."""

    what: str
    reason: str
    code: str = ""
    entry_points: bytes = ENTRY_POINTS
    metadata: bytes = METADATA
    ends: bool = False
    """Whether it ends the process that loads it."""


def spec(*, before: str = "pass", game: str = "broken_game", after: str = "pass") -> str:
    """Code of a plugin with one game, and more in its hook."""
    return SPEC.format(before=before, game=game, after=after)


OFFERS = spec()
PLUGINS = [
    Broken("imports what is not there", "No module named 'there_is_none'", "import there_is_none"),
    Broken("exits", "SystemExit", "raise SystemExit(0)"),
    Broken("raises CancelledError", "CancelledError", "import asyncio\nraise asyncio.CancelledError"),
    Broken("raises GeneratorExit", "GeneratorExit", "raise GeneratorExit"),
    Broken("raises KeyboardInterrupt of its own", "KeyboardInterrupt", "raise KeyboardInterrupt"),
    Broken(
        "raises an error whose text raises",
        "Mute",
        "class Mute(BaseException):\n    def __str__(self): raise SystemExit\nraise Mute",
    ),
    Broken("recurses without end", "RecursionError", "def down(): down()\ndown()"),
    Broken(
        "raises in the middle of a hook", "RuntimeError: no license", spec(after="raise RuntimeError('no license')")
    ),
    Broken("takes a built-in game's name", "'chess', which builtin already has", spec(game="chess")),
    Broken("prints when it is imported", "'hello' to stdout", "print('hello')" + OFFERS),
    Broken("prints in a hook", "'hello' to stdout", spec(before="print('hello')")),
    Broken("writes to descriptor 1", "'raw' to stdout", "import os\nos.write(1, b'raw')" + OFFERS),
    Broken(
        "writes to stdout in C",
        "'from C' to stdout",
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.puts(b'from C')\nlibc.fflush(None)" + OFFERS,
    ),
    Broken(
        "starts a process that writes to stdout",
        "'child' to stdout",
        "import subprocess\nsubprocess.run(['echo', 'child'])" + OFFERS,
    ),
    Broken("closes sys.stdout", "closed sys.stdout", "import sys\nsys.stdout.close()" + OFFERS),
    Broken("closes descriptor 1", "file descriptor 1", "import os\nos.close(1)" + OFFERS),
    Broken("replaces sys.stdout", "replaced sys.stdout", "import io, sys\nsys.stdout = io.StringIO()" + OFFERS),
    Broken("closes sys.stderr", "closed sys.stderr", "import sys\nsys.stderr.close()" + OFFERS),
    Broken("entry_points.txt not UTF-8", "entry_points.txt is not UTF-8", entry_points=b"[gymposium]\nx = \xff\n"),
    Broken("entry_points.txt not well formed", "not well formed", entry_points=b"[gymposium]\nno equals sign\n"),
    Broken("METADATA not UTF-8", "METADATA is not UTF-8", OFFERS, metadata=METADATA + b"Author: \xff\n"),
    Broken("METADATA without a name", "METADATA has no Name", OFFERS, metadata=b"\0\1\2"),
    Broken("ends the process by os._exit", "exit code 0", "import os\nos._exit(0)", ends=True),
    Broken("ends the process by a segmentation fault", "SIGSEGV", "import ctypes\nctypes.string_at(0)", ends=True),
    Broken("ends the process by abort", "SIGABRT", "import os\nos.abort()", ends=True),
]


def rows(seed: int, wanted: Wanted) -> Iterator[Row]:
    """Yield a row for each plugin, with a new installation for each round. `seed` is that of the first round's
    matches."""
    with tempfile.TemporaryDirectory() as folder:
        games = _games(_run(Path(folder), _LIST))
    for broken in PLUGINS:
        if wanted(broken.what):
            failures = [fault for number in range(ROUNDS) for fault in _round(broken, seed + number, games)]
            yield Row("plugins", broken.what, 2 * ROUNDS, tuple(failures))


def _round(broken: Broken, seed: int, games: set[str]) -> Iterator[str]:
    """Yield what was wrong with two commands beside a plugin that was just installed."""
    run = ["run", "tic_tac_toe", "--players", "fine,random", "-n", "2", "--seed", str(seed), "--json"]
    with tempfile.TemporaryDirectory() as folder:
        _install(Path(folder), "fine", FINE.encode(), ENTRY_POINTS.replace(b"broken", b"fine"), METADATA)
        _install(Path(folder), "broken", broken.code.encode(), broken.entry_points, broken.metadata)
        if broken.ends:
            yield from _unfound(Path(folder), broken)
            return
        for command in (_LIST, run):
            for fault in _faults(Path(folder), command, broken, games):
                yield f"{broken.what}: {command[0]}: {fault}"


def _unfound(folder: Path, broken: Broken) -> Iterator[str]:
    """Yield what was wrong with the search for a plugin that ends its process."""
    if _run(folder, _LIST).stdout:
        yield f"{broken.what}: the process did not end"
    listed = {one["name"]: one for one in json.loads(_run(folder, _ISOLATED).stdout)["plugins"]}
    if listed["fine"]["status"] != "active" or broken.reason not in (listed["broken"]["error"] or ""):
        yield f"{broken.what}: --isolated did not find it"


def _install(folder: Path, name: str, code: bytes, entry_points: bytes, metadata: bytes) -> None:
    info = folder / "site" / f"{name}_dist-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_bytes(metadata.replace(b"broken", name.encode()))
    (info / "entry_points.txt").write_bytes(entry_points)
    (folder / "site" / f"{name}_module.py").write_bytes(code)


def _run(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder / "site"), os.environ.get("PYTHONPATH", "")])
    own = {"PYTHONPATH": paths, "COLUMNS": "200"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GYMPOSIUM_")}
    (folder / "work").mkdir(exist_ok=True)
    return subprocess.run(
        [SCRIPT, *command],
        env={**inherited, **own},
        cwd=folder / "work",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def _games(done: subprocess.CompletedProcess[str]) -> set[str]:
    return {game["name"] for game in json.loads(done.stdout)["games"]}


def _faults(folder: Path, command: list[str], broken: Broken, wanted: set[str]) -> Iterator[str]:
    """Yield what was wrong with one command beside the broken plugin."""
    done = _run(folder, command)
    if done.returncode:
        yield f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
    try:
        found = json.loads(done.stdout)
    except ValueError:
        yield f"stdout is not JSON: {done.stdout[:100]!r}"
    else:
        if "games" in found and _games(done) != wanted:
            yield f"other games than without it: {sorted(_games(done) ^ wanted)}"
        if "players" in found and command[0] == "list" and "fine" not in {one["form"] for one in found["players"]}:
            yield "the plugin beside it is missing"
    told = [line for line in done.stderr.splitlines() if "is broken and was left out" in line]
    if len(told) != 1 or "'broken" not in told[0] or broken.reason not in told[0]:
        yield f"it was not named with its reason: {told}"
