"""Programs in a subprocess: limits, CPython's output, and isolation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands import run_command

from gymposium.util.streams import Draw, stream
from gymposium_trace.inject import inject
from gymposium_trace.programs import GRADES, generate_program
from gymposium_trace.running.backends import BACKENDS, Backend, Bubblewrap, Rlimits
from gymposium_trace.running.limits import Limits
from gymposium_trace.running.probe import (
    WALLS,
    NoIsolation,
    choose_generated_backend,
    choose_untrusted_backend,
    probe_backend,
)
from gymposium_trace.tasks import MOST_TRUTH, StoppedProgram, Task, UnusableProgram, make_task

SOME = Limits(cpu_seconds=1)


def make_own_task(text: str, inputs: str = "", limits: Limits = SOME) -> Task:
    return make_task(text, inputs, Rlimits(), limits, ours=True)


def test_expected_output_matches_python() -> None:
    """Compares with this interpreter, run directly on the file."""
    for grade in GRADES:
        text = generate_program(grade, Draw(stream(grade, "program")))
        plain = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
        assert make_own_task(text).truth == plain
        with_prints = make_own_task(inject(text, 4, Draw(stream(grade, "prints")))).truth
        assert [line for line in with_prints.splitlines() if not line.startswith("__DBG_")] == plain.splitlines()


def test_programs_run_like_scripts() -> None:
    text = (
        '"""Doc."""\nimport sys\nx: int = 1\nprint(__name__, __doc__, __file__, sys.argv, __annotations__)\n'
        "print(sorted(n for n in globals()))\nprint(input(), sys.stdin.read())\nexit()\n"
    )
    assert make_own_task(text, "one\ntwo\n").truth == (
        "__main__ Doc. program.py ['program.py'] {'x': <class 'int'>}\n"
        "['__annotations__', '__builtins__', '__doc__', '__file__', '__loader__', '__name__', '__package__', "
        "'__spec__', 'sys', 'x']\none two\n\n"
    )


def test_set_order_is_deterministic() -> None:
    text = "print({'one', 'two', 'three', 'four', 'five', 'six'})"
    assert len({make_own_task(text).truth for _ in range(5)}) == 1


REFUSED: list[tuple[str, type[UnusableProgram], str]] = [
    ("pass", UnusableProgram, "prints nothing"),
    ("print(' \\n\\t ')", UnusableProgram, "prints nothing"),
    ("print(1)\nprint(1 / 0)", UnusableProgram, r"status 1 \(ZeroDivisionError"),
    ("print(1)\nexit(3)", UnusableProgram, "status 3"),
    ("print(1", UnusableProgram, "SyntaxError"),
    ("import time\nprint(time.perf_counter_ns())", UnusableProgram, "two runs print different things"),
    ("print(object())\nimport os\nprint(os.urandom(8))", UnusableProgram, "two runs print different things"),
    ("print('a' * 4000)", UnusableProgram, "prints more than"),
    ("while True: print('spam' * 100)", UnusableProgram, "prints too much"),
    ("import sys\nwhile True: sys.stderr.write('spam' * 100)", UnusableProgram, "prints too much"),
    ("print(1)\nwhile True: pass", StoppedProgram, "killed"),
    ("print(len(bytearray(10 ** 9)))", UnusableProgram, "MemoryError"),
    ("import os\nos.kill(os.getpid(), 9)", StoppedProgram, "killed"),
    ("import sys\nsys.stdout.buffer.write(b'\\xff')", UnusableProgram, "not UTF-8"),
    ("print('\\ud800')", UnusableProgram, "UnicodeEncodeError"),
    (
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()",
        UnusableProgram,
        "RecursionError|status -|killed",
    ),
    ("import numpy\nprint(1)", UnusableProgram, "ModuleNotFoundError"),
    ("print(1)" + " " * 20_000, UnusableProgram, "longer than"),
]


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        pytest.param(*case, id=case[0][:40], marks=pytest.mark.slow if "recursion" in case[0] else ())
        for case in REFUSED
    ],
)
def test_unusable_programs_are_refused_with_a_reason(text: str, kind: type[UnusableProgram], reason: str) -> None:
    with pytest.raises(kind, match=reason):
        make_own_task(text)


def test_sleeping_programs_are_stopped() -> None:
    with pytest.raises(StoppedProgram, match="in time"):
        make_own_task("import time\nprint(1, flush=True)\ntime.sleep(60)", limits=Limits(wall_seconds=0.3))
    with pytest.raises(StoppedProgram, match="in time"):  # it closes its ends and stays
        make_own_task("import os, time\nos.close(1)\nos.close(2)\ntime.sleep(60)", limits=Limits(wall_seconds=0.3))


def test_input_may_exceed_the_pipe_size() -> None:
    assert make_own_task("print(len(open(0).read()))", "x" * 19_999).truth == "19999\n"
    assert make_own_task("print(1)", "x" * 19_999).truth == "1\n"  # nobody reads it


def test_environment_variables_are_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    text = "import os, sys\nprint([n for n in os.environ if n != 'LC_CTYPE'], '/nowhere' in sys.path, os.getcwd())"
    with pytest.raises(UnusableProgram, match="different"):  # each run has a folder of its own
        make_own_task(text)
    assert make_own_task(text.replace(", os.getcwd()", "")).truth == "['PYTHONHASHSEED'] False\n"


def test_longest_allowed_output_is_accepted() -> None:
    assert len(make_task(f"print('a' * {MOST_TRUTH - 1})", "", Rlimits(), SOME, ours=False).truth) == MOST_TRUTH


def test_foreign_programs_record_the_python_version() -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    assert make_task("print(1)", "", Rlimits(), SOME, ours=False).python == f"CPython {version}"
    assert make_own_task("print(1)").python == ""


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
def test_backends_match_their_probe(backend: Backend) -> None:
    """A way that works gives the same output as others and enforces the limits. A way that does not work says why."""
    found = probe_backend(backend)
    if not found.works:
        assert found.reason
        assert not found.isolates
        return
    assert (
        make_task("print(input(), {'a', 'b', 'c'})", "x", backend, SOME, ours=False).truth
        == make_own_task("print(input(), {'a', 'b', 'c'})", "x").truth
    )
    with pytest.raises(StoppedProgram, match="killed"):
        make_task("print(1)\nwhile True: pass", "", backend, SOME, ours=False)
    with pytest.raises(UnusableProgram, match="MemoryError"):
        make_task("print(len(bytearray(10 ** 9)))", "", backend, SOME, ours=False)


def test_rlimits_do_not_isolate() -> None:
    found = probe_backend(Rlimits())
    assert found.works
    assert {"network", "reading", "writing", "signals"} <= set(found.lets)
    assert not found.isolates


ESCAPES: dict[str, Callable[[Path], str]] = {
    "reading": lambda folder: f"print(open({str(folder / 'secret')!r}).read())",
    "writing": lambda folder: f"open({str(folder / 'new')!r}, 'w')\nprint(1)",
    "deleting": lambda folder: f"import os\nos.unlink({str(folder / 'secret')!r})\nprint(1)",
    "writing where it is": lambda folder: "open('new', 'w')\nprint(1)",
    "network": lambda folder: "import socket\nsocket.create_connection(('1.1.1.1', 53), 2)\nprint(1)",
    "processes": lambda folder: "import subprocess\nprint(subprocess.run(['true']).returncode)",
    "threads": lambda folder: "import threading\nthreading.Thread(target=print, args=[1]).start()",
    "signals": lambda folder: f"import os\nos.kill({os.getpid()}, 0)\nprint(1)",
    "the password file": lambda folder: "print(len(open('/etc/passwd').read()))",
}


@pytest.mark.parametrize("name", ESCAPES)
def test_isolation_contains_foreign_programs(name: str, tmp_path: Path) -> None:
    """If this machine has no isolation, such programs are not run at all."""
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    escape = ESCAPES[name](tmp_path)
    if not any(probe_backend(backend).isolates for backend in BACKENDS):
        with pytest.raises(NoIsolation, match="install bubblewrap"):
            choose_untrusted_backend()
        return
    backend = choose_untrusted_backend()
    with pytest.raises(UnusableProgram, match="Error"):
        make_task(escape, "", backend, SOME, ours=False)
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_generated_programs_use_rlimits() -> None:
    assert isinstance(choose_generated_backend(), Rlimits)


def test_foreign_programs_are_refused_without_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a machine without bwrap by an empty path."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("gymposium_trace.running.probe.BACKENDS", (Rlimits(), Bubblewrap()))
    with pytest.raises(NoIsolation, match="install bubblewrap") as caught:
        choose_untrusted_backend()
    assert "rlimits: a program run so can" in str(caught.value)
    assert choose_generated_backend().name == "rlimits"


def doctor(**environment: str) -> dict[str, object]:
    told = run_command("trace", "doctor", "--json", folder=Path.cwd(), env={**os.environ, **environment})
    told.check_returncode()
    result: dict[str, object] = json.loads(told.stdout)
    return result


def test_doctor_reports_the_actual_state() -> None:
    here, without = doctor(), doctor(PATH="")
    assert here["generated"] is without["generated"] is True
    assert here["given"] is any(probe_backend(backend).isolates for backend in BACKENDS)
    assert without["given"] is False
    ways = {way["name"]: way for way in without["ways"]}  # type: ignore[attr-defined]
    assert set(ways["rlimits"]["lets"]) <= set(WALLS)
    assert ways["bubblewrap"] == {
        "name": "bubblewrap",
        "works": False,
        "isolates": False,
        "lets": [],
        "reason": "the program bwrap is not installed",
    }


@pytest.mark.slow
def test_benchmark_writes_its_results(tmp_path: Path) -> None:
    """Its speed does not matter here."""
    command = [sys.executable, "-m", "benchmarks.trace_speed", "--programs", "20", "--out", str(tmp_path)]
    subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, check=False)
    found = json.loads((tmp_path / "trace_speed.json").read_text(encoding="utf-8"))
    assert found["distinct_programs"] == found["distinct_outputs"] == found["programs"] == 20
    assert found["programs_per_second"] > 0
    assert "a second" in (tmp_path / "trace_speed.md").read_text(encoding="utf-8")
