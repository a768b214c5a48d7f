"""The executor `ray` on a real cluster of two nodes on this machine: `tox run -m peers` installs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gymposium.errors import GymposiumError
from gymposium.plugins.host import host
from gymposium.runs.executors.protocol import ExecutorStart, PartResult, RunPart
from gymposium_arena.tournament import Tournament, run_tournament
from gymposium_arena.verify import verify_board
from gymposium_testing.subjects import find_subjects

pytest.importorskip("ray", reason="ray is not installed: tox run -m peers")
psutil = pytest.importorskip("psutil")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # for the benchmarks, which play the same boards

from benchmarks.executors import faults  # noqa: E402
from tests.plugins.ray.child_pipe import ChildPipe  # noqa: E402

if TYPE_CHECKING:
    from gymposium_ray.workers import Job

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
RANK = "gymposium_ray.rank_process"
SEEDS = (1, 2)
COMMAND = str(Path(sys.executable).with_name("gymposium"))
VERSION = version("gymposium-ray")


@pytest.fixture(scope="module", autouse=True)
def plugin() -> None:
    host().load_file(faults.PLUGIN)


@pytest.fixture(scope="module")
def nodes() -> Iterator[faults.Nodes]:
    with faults.two_nodes() as made:
        yield made


@pytest.mark.parametrize("seed", SEEDS)
def test_boards_do_not_depend_on_the_number_of_workers(tmp_path: Path, seed: int) -> None:
    boards = []
    for workers in (1, 2, 4):
        boards.append(faults.new_board(tmp_path / f"{workers}", seed, "nothing"))
        assert faults.play_locally(boards[-1], workers).complete
    first, *others = map(faults.content, boards)
    assert all(other == first for other in others)


@pytest.mark.parametrize("fault", faults.FAULTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_cluster_boards_are_equal_despite_failures(nodes: faults.Nodes, tmp_path: Path, seed: int, fault: str) -> None:
    expected, board = (faults.new_board(tmp_path / name, seed, fault) for name in ("local", "ray"))
    assert faults.play_locally(expected, 2).complete
    ended = faults.play_on_ray(board, nodes, fault, seed)
    assert ended.complete
    assert faults.content(board) == faults.content(expected)
    if fault == "a player hangs":
        assert {player for player, what in ended.faults if what.endswith("it did not answer in time")} == {"hanging"}
        assert ended.faults.total() == 4


def test_conformance_kit_passes(nodes: faults.Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    [subject] = find_subjects("ray")
    checks = list(subject.checks())
    assert len(checks) == 3
    for check in checks:
        check.run(subject.get())


def test_cluster_can_verify_a_board(nodes: faults.Nodes, tmp_path: Path) -> None:
    board = faults.new_board(tmp_path / "board", 1, "nothing")
    assert faults.play_locally(board, 2).complete
    with closing(faults.ray_executor(nodes.address)) as executor:
        verified = verify_board(board, executor=executor, sample=99, seed=1)
    assert verified.findings == []
    assert verified.matches == verified.planned
    assert all(player.asked == player.same > 0 for player in verified.players)


def test_parts_that_kill_workers_are_split_then_abandoned(nodes: faults.Nodes, tmp_path: Path) -> None:
    """Every worker that gets the third match dies."""
    from gymposium_ray.executor import RayExecutor

    executor = faults.ray_executor(nodes.address)
    assert isinstance(executor, RayExecutor)
    with closing(executor):
        played: list[tuple[int, ...]] = []

        def run(jobs: Iterator[Job], died: object) -> Iterator[tuple[Job, PartResult]]:
            waiting = list(jobs)
            while waiting:
                job = waiting.pop(0)
                [part] = job.arguments
                if 2 in part.numbers:
                    job.deaths += 1
                    waiting += died(job, "killed")  # type: ignore[operator]
                else:
                    played.append(part.numbers)
                    yield job, PartResult(part)

        executor._team.run = run  # type: ignore[method-assign, assignment]
        board = faults.new_board(tmp_path / "board", 1, "nothing")
        part = RunPart(board, (1, 2, 3), 64, None)  # type: ignore[arg-type]
        done = list(executor.run([part]))
    assert played == [(1,), (3,)]
    assert [dict(one.broken) for one in done if one.broken] == [{"its worker died 3 times: killed": 1}]


def odd_python(folder: Path) -> Path:
    """A Python with all libraries of this one but gymposium-ray."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "gymposium_ray" not in entry.name:
            (site / entry.name).symlink_to(entry)
    return folder / "bin/python"


@contextmanager
def odd_node(python: Path, address: str) -> Iterator[None]:
    """Context in which a node of another Python has joined the cluster."""
    command = [python, "-m", "ray.scripts.scripts", "start", "--address", address, "--num-cpus", "2", "--block"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as node:
        assert node.stdout is not None
        try:
            assert any("Ray runtime started" in line for line in node.stdout)
            yield
        finally:
            node.terminate()


def install_metadata(python: Path, version: str, *, module: bool) -> None:
    """Give a Python the metadata of a version of gymposium-ray, and its module or none."""
    site = Path(sysconfig.get_path("purelib", vars={"base": str(python.parents[1])}))
    metadata = site / f"gymposium_ray-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: gymposium-ray\nVersion: {version}\n")
    if module:
        (site / "gymposium_ray.pth").write_text(str(ROOT / "plugins/gymposium-ray/src"))


@pytest.mark.parametrize(
    ("version", "module", "why"),
    [
        (None, False, "it has no gymposium-ray ({here} here)"),
        ("0.0.9", True, "it has gymposium-ray 0.0.9 ({here} here)"),
        (VERSION, False, "it cannot be set up: ModuleNotFoundError: No module named 'gymposium_ray'"),
    ],
)
def test_incompatible_nodes_are_excluded(
    nodes: faults.Nodes, tmp_path: Path, version: str | None, module: bool, why: str
) -> None:
    from gymposium_ray.executor import RayExecutor

    python = odd_python(tmp_path / "odd")
    if version is not None:
        install_metadata(python, version, module=module)
    expected, board = (faults.new_board(tmp_path / name, 2, "nothing") for name in ("local", "ray"))
    assert faults.play_locally(expected, 2).complete
    notes: list[str] = []
    with odd_node(python, nodes.address):
        start = ExecutorStart(plugins=(faults.PLUGIN,), address=nodes.address, note=notes.append)
        with closing(RayExecutor(start)) as executor:
            assert executor._team._most == 2  # CPUs of the node that is left out are not counted
            assert run_tournament(board, executor).complete
    assert faults.content(board) == faults.content(expected)
    [refusal] = [note for note in notes if "is not used" in note]
    assert refusal.endswith(f"is not used: {why.format(here=VERSION)}.")


def test_error_names_the_difference_if_no_node_matches(nodes: faults.Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    import gymposium_ray.nodes

    here = gymposium_ray.nodes.collect_versions()
    monkeypatch.setattr(gymposium_ray.nodes, "collect_versions", lambda: {**here, "gymposium-2048": "9.9"})
    with pytest.raises(GymposiumError, match=r"No node .* can be used\. .*: it has no gymposium-2048 \(9\.9 here\)\."):
        faults.ray_executor(nodes.address)


def test_plugin_switches_come_from_the_driver(nodes: faults.Nodes, tmp_path: Path) -> None:
    from gymposium_ray.executor import RayExecutor

    notes: list[str] = []
    odd = nodes.cluster.add_node(num_cpus=1, env_vars={"GYMPOSIUM_PLUGINS": "", "GYMPOSIUM_ALLOW": "gym:*"})
    start = ExecutorStart(workers=3, plugins=(faults.PLUGIN,), address=nodes.address, note=notes.append)
    with closing(RayExecutor(start)) as executor:
        found = dict(executor.map(make_setup_probe(), range(12)))
    nodes.cluster.remove_node(odd)
    assert notes == []
    assert {allowed for _, allowed, _ in found.values()} == {""}
    assert all("hanging" in plugins and "ray" in plugins for plugins, _, _ in found.values())


def make_setup_probe() -> Callable[[int], tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """The function that tells the plugins, the permission and the search path of a worker. Its code travels, since
    workers cannot import this module."""

    def setup_there(number: int) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        import os
        import sys

        from gymposium.plugins.host import host

        active = tuple(plugin.name for plugin in host().plugins if plugin.status == "active")
        return active, os.environ.get("GYMPOSIUM_ALLOW", ""), tuple(sys.path)

    return setup_there


def test_lost_nodes_are_reported(nodes: faults.Nodes, tmp_path: Path) -> None:
    from gymposium_ray.executor import RayExecutor

    notes: list[str] = []
    board = faults.new_board(tmp_path / "board", 1, "nothing")
    removed = False

    def remove(state: Tournament) -> None:
        nonlocal removed
        if not removed:
            removed = True
            nodes.remove()
            nodes.cluster.wait_for_nodes(120)  # until Ray counts one node

    start = ExecutorStart(plugins=(faults.PLUGIN,), address=nodes.address, note=notes.append)
    with closing(RayExecutor(start)) as executor:
        assert run_tournament(board, executor, remove).complete
    nodes.restore()
    assert [note for note in notes if note.endswith("is lost.")] != []


def test_missing_cluster_is_an_error() -> None:
    with pytest.raises(GymposiumError, match=r"No Ray cluster answers at 127\.0\.0\.1:9 .*ray start"):
        faults.ray_executor("127.0.0.1:9")


def gymposium(*arguments: str, directory: Path, address: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments, "--executor", "ray", "--address", address],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_commands_play_the_same_on_a_cluster(nodes: faults.Nodes, tmp_path: Path) -> None:
    arguments = ("run", "tic_tac_toe", "--players", "mcts-10,random", "-n", "50", "--seed", "3", "--json")
    there = gymposium(*arguments, "--out", "there", directory=tmp_path, address=nodes.address)
    assert there.returncode == 0, there.stderr
    here = subprocess.run(
        [COMMAND, *arguments, "--out", "here"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    without = [{**json.loads(one.stdout), "record": ""} for one in (here, there)]
    assert without[0] == without[1]
    assert (tmp_path / "here/matches.jsonl").read_bytes() == (tmp_path / "there/matches.jsonl").read_bytes()


LEARN = (
    "engine.kind=own",
    "optimizer.layout=padded",
    "optimizer.learning_rate=1e-3",
    "cold_start.steps=4",
    "rollout.groups=4",
    "rollout.group_size=4",
    'evaluation={opponents=["random"],matches=8}',
)


TRAIN = ("train", "--game", "tic_tac_toe", "--opponent", "random", *LEARN)


@needs_torch
def test_two_actors_learn_the_same_as_torchrun(nodes: faults.Nodes, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    arguments = (*TRAIN, "steps=3")
    there = gymposium(*arguments, "--processes", "2", "--out", "ray", directory=tmp_path, address=nodes.address)
    assert there.returncode == 0, there.stdout[-5_000:] + there.stderr[-5_000:]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    subprocess.run(
        [*torchrun, COMMAND, *arguments, "--out", "torchrun"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    expected, found = (load_file(tmp_path / name / "model/model.safetensors") for name in ("torchrun", "ray"))
    assert expected.keys() == found.keys()
    assert all(expected[name].equal(found[name]) for name in expected)


FAILING = """
import os, sys
from gymposium import hookimpl

@hookimpl
def gymposium_games():
    return []

if os.environ.get("RANK") == "1":
    exec({child!r})
    print("x" * 1_000_000, file=sys.stderr)
    print("this rank has no memory left", file=sys.stderr, flush=True)
    os._exit(7)
"""
"""A plugin that ends the second process after it has filled its pipe, while the first one waits for it."""


@needs_torch
def test_failing_process_ends_the_others_with_its_error(nodes: faults.Nodes, tmp_path: Path) -> None:
    plugin = tmp_path / "failing.py"
    child = ChildPipe(tmp_path / "child")
    plugin.write_text(FAILING.format(child=child.start))
    done = gymposium(
        "--plugin",
        plugin.name,
        *TRAIN,
        "steps=3",
        "--processes",
        "2",
        "--out",
        "run",
        directory=tmp_path,
        address=nodes.address,
    )
    assert done.returncode == 7
    assert "Process 1 on" in done.stderr
    assert "this rank has no memory left" in done.stderr
    with closing(child):
        assert child.child_ends()
    assert psutil.wait_procs(ranks(), 60)[1] == []


def ranks() -> list[Any]:
    """The processes of all ranks on this machine."""
    return [process for process in psutil.process_iter(["cmdline"]) if RANK in (process.info["cmdline"] or [])]


@needs_torch
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopping_the_driver_stops_all_processes(nodes: faults.Nodes, tmp_path: Path, how: signal.Signals) -> None:
    arguments = [*TRAIN, "steps=1000", "--processes", "2", "--out", "run", "--executor", "ray"]
    with subprocess.Popen(
        [COMMAND, *arguments, "--address", nodes.address], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stderr is not None
        assert any(line.startswith("Replies at step 1,") for line in driver.stderr)
        started = ranks()
        driver.send_signal(how)
        rest = driver.stderr.read()
    assert len(started) == 2
    assert psutil.wait_procs(started, 60)[1] == []
    if how != signal.SIGKILL:
        assert driver.returncode == 130
        assert "Stopped. Continue with:" in rest
        assert "train --resume run" in rest


@needs_torch
def test_docs_training_commands_run_as_printed(nodes: faults.Nodes, tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/use-a-ray-cluster.md").read_text()
    section = page.partition("## Train on a cluster")[2].partition("\n## ")[0]
    commands = re.findall(r"^\$ (gymposium train .*)$", section, re.MULTILINE)
    assert len(commands) == 2
    shorter = "budget=2 \"evaluation={opponents=['random'],matches=2}\""  # the first one writes the config
    environment = {**os.environ, "RAY_ADDRESS": nodes.address, "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"}
    for command in (commands[0].replace(" --dry-run", f" {shorter} --dry-run"), commands[1]):
        subprocess.run(command, shell=True, cwd=tmp_path, env=environment, check=True, timeout=300)
    [run] = (tmp_path / "gymposium-runs").iterdir()
    assert (run / "report.html").is_file()


def test_workers_do_not_import_from_the_working_directory(
    nodes: faults.Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(faults.ray_executor(nodes.address)) as executor:
        [(_, (_, _, path))] = executor.map(make_setup_probe(), [0])
    assert str(tmp_path) not in path


def test_dying_head_loses_no_finished_match(tmp_path: Path) -> None:
    expected, board = (faults.new_board(tmp_path / name, 3, "nothing") for name in ("local", "ray"))
    assert faults.play_locally(expected, 2).complete
    with faults.two_nodes() as nodes:
        command = [sys.executable, "-c", faults.DRIVER, str(board.path), nodes.address]
        with subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "RAY_gcs_rpc_server_reconnect_timeout_s": "1"},
        ) as driver:
            assert driver.stdout is not None
            finished = next(int(line) for line in driver.stdout if int(line) >= 20)
            nodes.cluster.head_node.kill_gcs_server(check_alive=False)
            nodes.cluster.head_node.kill_raylet(check_alive=False)
            driver.stdout.read()
            driver.wait(120)
    kept = sum(len(lines.splitlines()) for lines in faults.content(board).values())
    assert kept >= finished
    with faults.two_nodes() as nodes:
        assert faults.play_on_ray(board, nodes, "nothing", 3).complete
    assert faults.content(board) == faults.content(expected)
