"""Child processes run no code of the working directory, and inherit their parent's plugins."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gymposium.util.child_process import (
    OURS,
    PLUGIN_FILES,
    SAFE_PATH,
    make_python_command,
    make_python_environment,
    make_user_environment,
)

ROOT = Path(__file__).parents[3]
START = ROOT / "packages" / "gymposium" / "src" / "gymposium" / "util" / "child_process.py"

ELSEWHERE = {
    "sys.executable": "python_command",
    "multiprocessing.Process": "spawn_context",
    "multiprocessing.Pool": "spawn_context",
    "multiprocessing.get_context": "spawn_context",
    "multiprocessing.set_start_method": "spawn_context",
    "multiprocessing.context.SpawnContext": "spawn_context",
    "multiprocessing.context.SpawnProcess": "spawn_context",
    "os.fork": "spawn_context",
    "os.posix_spawn": "python_command",
    "os.system": "subprocess and python_command",
    "os.popen": "subprocess and python_command",
    "asyncio.create_subprocess_shell": "subprocess and python_command",
}
"""Ways to start a process that only `gymposium.util.child_process` may use, with what to use instead."""
MAY_START = re.compile(
    r"executable|multiprocessing|ProcessPool|subprocess|\bos\.(fork|posix|system|popen)|from os import"
)
"""Text of a module that is worth parsing."""


def _sources() -> Iterator[Path]:
    return (file for part in ("packages", "plugins") for file in sorted(ROOT.glob(f"{part}/*/src/**/*.py")))


def _names(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """The full name of each imported function and attribute that a module uses, with the call around it."""
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    imported = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update({(alias.asname or alias.name): alias.name for alias in node.names})
        elif isinstance(node, ast.ImportFrom):
            imported.update({(alias.asname or alias.name): f"{node.module}.{alias.name}" for alias in node.names})
            yield from ((f"{node.module}.{alias.name}", None) for alias in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            inner: ast.expr = node
            while isinstance(inner, ast.Attribute):
                inner = inner.value
            if not isinstance(inner, ast.Name):
                continue
            whole = ast.unparse(node)
            first = next((name for name in imported if whole.startswith(f"{name}.")), None)
            if first is not None:
                yield imported[first] + whole.removeprefix(first), called.get(id(node))
        elif isinstance(node, ast.Name) and node.id in imported and id(node) in called:
            yield imported[node.id], called[id(node)]


def _faults(source: str) -> list[str]:
    """The places of a module that start Python otherwise."""
    if not MAY_START.search(source):
        return []
    tree = ast.parse(source)
    found = [f"{name}: use {ELSEWHERE[name]}" for name, _ in _names(tree) if name in ELSEWHERE]
    for name, call in _names(tree):
        if name.endswith("ProcessPoolExecutor") and isinstance(call, ast.Call):
            context = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mp_context")]
            if [ast.unparse(one) for one in context] != ["spawn_context()"]:
                found.append("ProcessPoolExecutor without spawn_context()")
    for node in ast.walk(tree):
        if isinstance(node, ast.List) and node.elts:
            first = node.elts[0]
            named = isinstance(first, ast.Constant) and str(first.value) in ("python", "python3")
            if named or ast.unparse(first).endswith((".python", ".python)", "PYTHON")):
                found.append(f"[{ast.unparse(first)}, …]: use python_command")
    return found


def test_no_module_starts_python_another_way() -> None:
    found = {str(file.relative_to(ROOT)): faults for file in _sources() if (faults := _faults(file.read_text("utf-8")))}
    assert found.pop(str(START.relative_to(ROOT))), "it is the place that does"
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "import sys\nsubprocess.run([sys.executable, '-m', 'pip'])",
        "from sys import executable",
        "import multiprocessing\nmultiprocessing.Process(target=f).start()",
        "import multiprocessing as mp\nmp.get_context('spawn')",
        "from multiprocessing import Pool",
        "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor(2)",
        "import concurrent.futures\nconcurrent.futures.ProcessPoolExecutor(2, mp_context=None)",
        "subprocess.run(['python', '-c', ''])",
        "subprocess.run([str(home.python), '-c', ''])",
        "import os\nos.system('python x.py')",
    ],
)
def test_each_other_way_is_detected(source: str) -> None:
    assert _faults(source)


LIBRARY = (
    "argparse ast base64 bisect collections concurrent contextlib copy csv dataclasses datetime decimal enum functools "
    "glob hashlib heapq importlib inspect itertools json logging math multiprocessing operator os pathlib pickle "
    "platform queue random re select selectors shutil signal site socket ssl string struct subprocess tempfile "
    "textwrap threading time traceback types typing unittest urllib uuid warnings weakref zipfile"
).split()
"""Modules of the standard library, each of which a folder may shadow."""


def trap(folder: Path) -> Path:
    """Put a hostile file for each module of `LIBRARY` into a folder. Returns the file that appears if one runs."""
    canary = folder / "canary"
    for name in LIBRARY:
        (folder / f"{name}.py").write_text(f"open({str(canary)!r}, 'a').write({name!r} + ' ')\nraise SystemExit(99)\n")
    return canary


def test_trap_works(tmp_path: Path) -> None:
    canary = trap(tmp_path)
    subprocess.run([sys.executable, "-c", "import multiprocessing"], cwd=tmp_path, check=False, env=_unguarded())
    assert canary.exists()


def _unguarded() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in (SAFE_PATH, PLUGIN_FILES)}


def test_commands_exclude_the_working_directory(tmp_path: Path) -> None:
    canary = trap(tmp_path)
    again = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import json, multiprocessing'], check=True)"
    subprocess.run(
        make_python_command("-c", again), cwd=tmp_path, env=make_python_environment(_unguarded()), check=True
    )
    assert not canary.exists()


IN_POOL = """
import os
from concurrent.futures import ProcessPoolExecutor
from gymposium.util.child_process import SAFE_PATH, spawn_context
if __name__ == "__main__":
    with ProcessPoolExecutor(1, spawn_context()) as pool:
        print(pool.submit(os.path.basename, "a/b").result())
    process = spawn_context().Process(target=print, args=("c",))
    process.start()
    process.join()
    print(process.exitcode, os.environ.get(SAFE_PATH))
"""


@pytest.mark.slow
def test_multiprocessing_excludes_the_working_directory(tmp_path: Path) -> None:
    """Also in the resource tracker, and without a change to the environment of the program."""
    canary = trap(tmp_path)
    done = subprocess.run(
        [sys.executable, "-P", "-c", IN_POOL],
        cwd=tmp_path,
        env=_unguarded(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert not canary.exists(), canary.read_text()
    assert (done.stdout.split(), done.stderr) == (["b", "c", "0", "None"], "")


def test_user_programs_get_the_users_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that the user names may import what lies beside it."""
    monkeypatch.setenv(SAFE_PATH, OURS)
    monkeypatch.setenv(PLUGIN_FILES, "/games/blotto.py")
    assert not {SAFE_PATH, PLUGIN_FILES} & make_user_environment().keys()
    monkeypatch.setenv(SAFE_PATH, "1")
    assert make_user_environment()[SAFE_PATH] == "1"


IN_CHILD = """
import sys
from concurrent.futures import ProcessPoolExecutor
from gymposium import load_game
from gymposium.util.child_process import spawn_context
from gymposium.util.isolated import call_isolated
from gymposium.plugins.host import host
if __name__ == "__main__":
    call_isolated(len, "")
    host().load_file("nim.py")
    import nim
    with ProcessPoolExecutor(1, spawn_context()) as pool:
        print(pool.submit(load_game, "nim").result().name)
    print(call_isolated(nim.Nim.__name__.lower), call_isolated(load_game, "nim").name)
"""


def test_child_processes_have_the_plugins_of_their_parent(tmp_path: Path) -> None:
    """Also a file that is loaded from Python after a process was started."""
    (tmp_path / "nim.py").write_bytes((ROOT / "docs" / "examples" / "nim.py").read_bytes())
    done = subprocess.run([sys.executable, "-P", "-c", IN_CHILD], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["nim", "nim", "nim"], "")


SUITE = 'name = "small"\ngroups = 2\nplayers = ["random", "mcts-2"]\n[[games]]\nname = "nim"\n'


@pytest.mark.slow
def test_verbs_are_safe_in_a_hostile_folder(tmp_path: Path) -> None:
    """The workers of each verb know the plugin's game, and run no file of the folder."""
    (tmp_path / "nim.py").write_bytes((ROOT / "docs" / "examples" / "nim.py").read_bytes())
    (tmp_path / "suite.toml").write_text(SUITE)
    canary = trap(tmp_path)
    command = [str(Path(sys.executable).with_name("gymposium")), "--plugin", "nim.py"]
    for verb in (
        "run nim --players random,random -n 8 --jobs 2 --out r",
        "verify r",
        "leaderboard run suite.toml --out board --jobs 2",
        "leaderboard rate board",
        "leaderboard verify board --jobs 2",
        "plugins list",
    ):
        done = subprocess.run([*command, *verb.split()], cwd=tmp_path, env=_unguarded(), capture_output=True, text=True)
        assert done.returncode == 0, (verb, done.stderr)
        assert not canary.exists(), (verb, canary.read_text())
