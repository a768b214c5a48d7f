"""One command in several processes of a cluster that work together, as torchrun starts them on a machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from gymposium.child_process import python_command, python_environment
from gymposium.errors import GymposiumError

PATIENCE = 60.0
"""Number of seconds after which the user is told that the cluster has no room."""
CHUNK = 65_536
"""Number of bytes of the output that are passed on at a time, at most."""


class Rank:
    """The actor that runs the command of one rank in a process of its own."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def place(self) -> tuple[str, int]:
        """The address of the node, and a port of it that is free."""
        with socket.socket() as probe:
            probe.bind(("", 0))
            return ray.util.get_node_ip_address(), int(probe.getsockname()[1])

    def start(self, arguments: Sequence[str], directory: str, environment: dict[str, str]) -> None:
        """Start the command in a directory, with these environment variables besides those of the node."""
        self._process = subprocess.Popen(
            python_command("-m", "gymposium", *arguments),
            cwd=directory if Path(directory).is_dir() else None,
            env=python_environment({**os.environ, **environment}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def output(self) -> bytes:
        """What the command printed since the last call; waits for more. Empty at its end."""
        assert self._process is not None
        assert self._process.stdout is not None
        return os.read(self._process.stdout.fileno(), CHUNK)

    def ended(self) -> int:
        """Wait for the end of the command, and return its exit status."""
        assert self._process is not None
        return self._process.wait()

    def interrupt(self) -> None:
        """Interrupt the command as Ctrl-C does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)


ACTOR: Any = ray.remote(max_restarts=0, max_concurrency=3)(Rank)
"""The class of the actors; output, end and interruption may be asked for at once."""


def run_together(arguments: Sequence[str], processes: int, note: Callable[[str], object]) -> int:
    """Run `gymposium ARGUMENTS` in several processes that find each other by torch's environment variables. The output
    of the first one is printed here. Each has a GPU of its own, if the cluster has enough. Returns the exit status of
    the first process; Ctrl-C is passed on to all.

    Raises `GymposiumError` if a process is lost."""
    gpu = 1 if ray.cluster_resources().get("GPU", 0) >= processes else 0
    group = placement_group([{"CPU": 1, "GPU": gpu} if gpu else {"CPU": 1}] * processes, strategy="PACK")
    try:
        if not group.wait(PATIENCE):
            note(
                f"Waiting for room on the Ray cluster: {processes} processes with a CPU each were asked for, and it "
                f"has {ray.cluster_resources().get('CPU', 0):g}."
            )
            ray.get(group.ready())
        ranks = [
            ACTOR.options(
                num_cpus=1,
                num_gpus=gpu,
                scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=rank),
            ).remote()
            for rank in range(processes)
        ]
        return _run(ranks, arguments, note)
    except RayActorError as error:
        raise GymposiumError(
            f"A process was lost ({' '.join(str(error).split())[:300]}). The run goes on from its last checkpoint with "
            f"--resume."
        ) from error
    finally:
        remove_placement_group(group)


def _run(ranks: Sequence[Any], arguments: Sequence[str], note: Callable[[str], object]) -> int:
    places = ray.get([rank.place.remote() for rank in ranks])
    nodes = [node for node, _ in places]
    note(f"{len(ranks)} processes on {', '.join(dict.fromkeys(nodes))}; the first one writes the run on {nodes[0]}.")
    for number, (rank, node) in enumerate(zip(ranks, nodes, strict=True)):
        environment = {
            "MASTER_ADDR": nodes[0],
            "MASTER_PORT": str(places[0][1]),
            "RANK": str(number),
            "WORLD_SIZE": str(len(ranks)),
            "LOCAL_RANK": "0",  # Ray shows each process its own GPU alone
            "LOCAL_WORLD_SIZE": str(nodes.count(node)),
        }
        ray.get(rank.start.remote([*arguments], str(Path.cwd()), environment))
    ends = [rank.ended.remote() for rank in ranks]
    try:
        return _followed(ranks[0], ends)
    except KeyboardInterrupt:
        ray.get([rank.interrupt.remote() for rank in ranks])
        _followed(ranks[0], ends)
        raise


def _followed(first: Any, ends: Sequence[Any]) -> int:
    """Print what the first process prints until all have ended. Returns its exit status."""
    while text := ray.get(first.output.remote()):
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
    return int(ray.get(list(ends))[0])
