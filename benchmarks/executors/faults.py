"""Boards that are played while something fails, on a Ray cluster of two nodes on this machine."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from gymposium.runs.executors.local import LocalExecutor
from gymposium.runs.executors.protocol import Executor, ExecutorStart
from gymposium_arena.board import Board
from gymposium_arena.suite import parse_suite
from gymposium_arena.tournament import Tournament, run_tournament

PLUGIN = Path(__file__).with_name("hanging.py")
SUITE = """
name = "executors"
seed = {seed}
groups = 20
watchdog = 2.0
players = [{players}]
[[games]]
name = "tic_tac_toe"
"""
SECOND_GAME = """
[[games]]
name = "goofspiel(num_cards=4)"
"""
"""Not played where a player hangs, which takes its whole time limit."""
DRIVER = """
import sys
from contextlib import closing
from pathlib import Path
from benchmarks.executors.faults import PLUGIN, ray_executor
from gymposium_arena.board import Board
from gymposium_arena.tournament import run_tournament
from gymposium.plugins.host import host
if __name__ == "__main__":
    host().load_file(PLUGIN)
    with closing(ray_executor(sys.argv[2])) as executor:
        run_tournament(Board(Path(sys.argv[1])), executor, lambda state: print(state.played, flush=True))
"""
"""A program that plays a board on a cluster, and prints the number of matches after each part."""
FAULTS = ("nothing", "a worker killed", "an actor killed", "a node removed", "the driver killed", "a player hangs")


@dataclass(slots=True)
class Nodes:
    """Cluster of two nodes with one CPU each."""

    cluster: Any
    second: Any
    """The node that can be removed."""

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def remove(self) -> None:
        """Take the second node away at once."""
        self.cluster.remove_node(self.second, allow_graceful=False)

    def restore(self) -> None:
        """Bring the second node back."""
        self.second = self.cluster.add_node(num_cpus=1)


@contextmanager
def two_nodes() -> Iterator[Nodes]:
    """Yield a cluster of two nodes."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        yield Nodes(cluster, cluster.add_node(num_cpus=1))
    finally:
        cluster.shutdown()


def new_board(path: Path, seed: int, fault: str) -> Board:
    """Return a board without matches."""
    hangs = fault == "a player hangs"
    names = ", ".join(f'"{player}"' for player in ("random", "mcts-10", "hanging" if hangs else "greedy"))
    suite = SUITE.format(seed=seed, players=names)
    return Board.open_or_create(path, parse_suite(suite if hangs else suite + SECOND_GAME))


def content(board: Board) -> dict[str, bytes]:
    """Return all match files, by path."""
    files = sorted(board.path.glob("entries/*/matches/*/*.jsonl"))
    return {str(file.relative_to(board.path)): file.read_bytes() for file in files}


def play_locally(board: Board, workers: int) -> Tournament:
    """Play a board in processes of this machine."""
    with closing(LocalExecutor(workers)) as executor:
        return run_tournament(board, executor)


def play_on_ray(board: Board, nodes: Nodes, fault: str, seed: int) -> Tournament:
    """Play a board on a cluster while something fails, at a moment that `seed` decides."""
    if fault == "the driver killed":
        _kill_the_driver(board, nodes, seed)
    act: Callable[[], object] = {
        "a worker killed": lambda: _kill(workers()),
        "an actor killed": lambda: _kill(actors()),
        "a node removed": nodes.remove,
    }.get(fault, lambda: None)
    moment = random.Random(seed).randrange(1, 120)
    done = False

    def watch(state: Tournament) -> None:
        nonlocal done
        if not done and state.played >= moment:
            done = True
            act()

    with closing(ray_executor(nodes.address)) as executor:
        ended = run_tournament(board, executor, watch)
    if fault == "a node removed":
        nodes.restore()
    return ended


def ray_executor(address: str) -> Executor:
    """Return the executor of a cluster."""
    from gymposium_ray.executor import RayExecutor

    executor: Executor = RayExecutor(ExecutorStart(plugins=(PLUGIN,), address=address))
    return executor


def actors() -> list[psutil.Process]:
    """Return the processes of the actors."""
    return [process for process in _mine() if _command(process).startswith("ray::Worker")]


def workers() -> list[psutil.Process]:
    """Return the worker processes of the actors."""
    children = [child for actor in actors() for child in actor.children()]
    return [child for child in children if "spawn_main" in _command(child)]


def _mine() -> list[psutil.Process]:
    return [*psutil.Process().children(recursive=True)]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _kill(processes: Sequence[psutil.Process]) -> None:
    processes[0].kill()


def _kill_the_driver(board: Board, nodes: Nodes, seed: int) -> None:
    """Play a part of the board in another process, and kill it."""
    arguments = [sys.executable, "-c", DRIVER, str(board.path), nodes.address]
    root = Path(__file__).parents[2]
    moment = random.Random(seed).randrange(1, 60)
    with subprocess.Popen(arguments, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= moment:
                process.kill()
                break
