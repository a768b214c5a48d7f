"""The executor `ray` on a real cluster of two nodes on this machine: `tox run -m peers` installs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gymposium.arena.tournament import run_tournament
from gymposium.arena.verify import verify_board
from gymposium.errors import GymposiumError
from gymposium.executors.protocol import ExecutorStart, PartDone, RunPart
from gymposium.plugins.host import host
from gymposium.testing.subjects import named_subjects

pytest.importorskip("ray", reason="ray is not installed: tox run -m peers")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # for the benchmarks, which play the same boards

from benchmarks.executors import faults  # noqa: E402

if TYPE_CHECKING:
    from gymposium_ray.workers import Job

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own
SEEDS = (1, 2)


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
def test_boards_of_a_cluster_are_equal_whatever_fails(
    nodes: faults.Nodes, tmp_path: Path, seed: int, fault: str
) -> None:
    expected, board = (faults.new_board(tmp_path / name, seed, fault) for name in ("local", "ray"))
    assert faults.play_locally(expected, 2).complete
    ended = faults.play_on_ray(board, nodes, fault, seed)
    assert ended.complete
    assert faults.content(board) == faults.content(expected)
    if fault == "a player hangs":
        assert {player for player, what in ended.faults if what.endswith("it did not answer in time")} == {"hanging"}
        assert ended.faults.total() == 4


def test_the_conformance_kit_passes(nodes: faults.Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    [subject] = named_subjects("ray")
    checks = list(subject.checks())
    assert len(checks) == 3
    for check in checks:
        check.run(subject.get())


def test_a_cluster_verifies_a_board(nodes: faults.Nodes, tmp_path: Path) -> None:
    board = faults.new_board(tmp_path / "board", 1, "nothing")
    assert faults.play_locally(board, 2).complete
    with closing(faults.ray_executor(nodes.address)) as executor:
        verified = verify_board(board, executor=executor, sample=99, seed=1)
    assert verified.findings == []
    assert verified.matches == verified.planned
    assert all(player.asked == player.same > 0 for player in verified.players)


def test_a_part_whose_workers_die_is_divided_and_at_last_given_up(nodes: faults.Nodes, tmp_path: Path) -> None:
    """Every worker that gets the third match dies."""
    from gymposium_ray.executor import RayExecutor

    executor = faults.ray_executor(nodes.address)
    assert isinstance(executor, RayExecutor)
    with closing(executor):
        played: list[tuple[int, ...]] = []

        def run(jobs: Iterator[Job], died: object) -> Iterator[tuple[Job, PartDone]]:
            waiting = list(jobs)
            while waiting:
                job = waiting.pop(0)
                [part] = job.arguments
                if 2 in part.numbers:
                    job.deaths += 1
                    waiting += died(job, "killed")  # type: ignore[operator]
                else:
                    played.append(part.numbers)
                    yield job, PartDone(part)

        executor._team.run = run  # type: ignore[method-assign, assignment]
        board = faults.new_board(tmp_path / "board", 1, "nothing")
        part = RunPart(board, (1, 2, 3), 64, None)  # type: ignore[arg-type]
        done = list(executor.run([part]))
    assert played == [(1,), (3,)]
    assert [dict(one.broken) for one in done if one.broken] == [{"its worker died 3 times: killed": 1}]


def test_a_node_that_differs_is_refused_by_name(nodes: faults.Nodes, tmp_path: Path) -> None:
    from gymposium_ray.executor import RayExecutor

    board = faults.new_board(tmp_path / "board", 1, "nothing")
    executor = faults.ray_executor(nodes.address)
    assert isinstance(executor, RayExecutor)
    executor._team._here = {**executor._team._here, "gymposium-2048": "9.9"}
    with closing(executor), pytest.raises(GymposiumError, match=r"has no gymposium-2048 \(9\.9 here\)"):
        list(executor.run([RunPart(board, (0,), 64, None)]))  # type: ignore[arg-type]


def test_a_node_without_the_plugins_is_left_out_and_the_others_play(nodes: faults.Nodes, tmp_path: Path) -> None:
    from gymposium_ray.executor import RayExecutor

    expected, board = (faults.new_board(tmp_path / name, 2, "nothing") for name in ("local", "ray"))
    assert faults.play_locally(expected, 2).complete
    notes: list[str] = []
    odd = nodes.cluster.add_node(num_cpus=1, env_vars={"GYMPOSIUM_PLUGINS": ""})
    start = ExecutorStart(workers=3, plugins=(faults.PLUGIN,), address=nodes.address, note=notes.append)
    with closing(RayExecutor(start)) as executor:
        assert run_tournament(board, executor).complete
    nodes.cluster.remove_node(odd)
    assert faults.content(board) == faults.content(expected)
    assert any("is not used: it has" in note and "no gymposium-ray (" in note for note in notes)


def test_no_cluster_at_an_address() -> None:
    with pytest.raises(GymposiumError, match=r"No Ray cluster answers at 127\.0\.0\.1:9 .*ray start"):
        faults.ray_executor("127.0.0.1:9")


def gymposium(*arguments: str, directory: Path, address: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gymposium.cli.main", *arguments, "--executor", "ray", "--address", address]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=300, check=False)


def test_the_commands_play_on_a_cluster_what_they_play_here(nodes: faults.Nodes, tmp_path: Path) -> None:
    arguments = ("run", "tic_tac_toe", "--players", "mcts-10,random", "-n", "50", "--seed", "3", "--json")
    there = gymposium(*arguments, "--out", "there", directory=tmp_path, address=nodes.address)
    assert there.returncode == 0, there.stderr
    here = subprocess.run(
        [sys.executable, "-m", "gymposium.cli.main", *arguments, "--out", "here"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    without = [{**json.loads(one.stdout), "record": ""} for one in (here, there)]
    assert without[0] == without[1]
    assert (tmp_path / "here/matches.jsonl").read_bytes() == (tmp_path / "there/matches.jsonl").read_bytes()


LEARN = (
    "steps=3",
    "engine.kind=own",
    "optimizer.layout=padded",
    "optimizer.learning_rate=1e-3",
    "cold_start.steps=4",
    "rollout.groups=4",
    "rollout.group_size=4",
    'evaluation={opponents=["random"],matches=8}',
)


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_two_actors_learn_what_two_processes_of_torchrun_learn(nodes: faults.Nodes, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    arguments = ("train", "--game", "tic_tac_toe", "--opponent", "random", *LEARN)
    there = gymposium(*arguments, "--processes", "2", "--out", "ray", directory=tmp_path, address=nodes.address)
    assert there.returncode == 0, there.stdout[-5_000:] + there.stderr[-5_000:]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    program = str(Path(sys.executable).with_name("gymposium"))
    subprocess.run(
        [*torchrun, program, *arguments, "--out", "torchrun"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    expected, found = (load_file(tmp_path / name / "model/model.safetensors") for name in ("torchrun", "ray"))
    assert expected.keys() == found.keys()
    assert all(expected[name].equal(found[name]) for name in expected)


def test_a_head_that_dies_loses_nothing_that_was_finished(tmp_path: Path) -> None:
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
