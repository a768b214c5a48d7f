"""The control in a separate process, in parallel with reinforcement learning.

This halves the time of a run with a control. The config must fix the CPU time of reinforcement learning with a budget,
and a core must be free. A small model leaves one free, because it computes with one thread.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import torch

from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.runs.curves import CONTROL
from gymposium.util.child_process import make_python_command, make_python_environment
from gymposium_train.config.directory import RunDirectory, check_state, is_complete, read_state, write_json
from gymposium_train.run.control import STAGE, train_control
from gymposium_train.run.live import LineView
from gymposium_train.run.under_way import RunContext
from gymposium_train.run.watching import RunReporter
from gymposium_train.util.progress import Interruption, print_message

_STEPS = "steps.json"
"""File in the control's directory with metrics per step. The run copies them and removes the file."""

_CALL = "from gymposium_train.run.beside import _run_as_process; _run_as_process()"


@contextmanager
def control_beside(run: RunContext) -> Iterator[None]:
    """Run the control in parallel with the block and wait for it at the end of the block. Does nothing if the control
    cannot run in parallel. Stops the control if the block raises.

    Raises `GymposiumError` if the control fails."""
    if _fits_beside(run):
        print_message("The control runs in a separate process, in parallel with reinforcement learning.")
        seconds = run.config.budget - run.directory.results().get("cold_start_cpu_seconds", 0.0)
        with TemporaryFile() as dots, TemporaryFile() as errors:
            command = make_python_command("-c", _CALL, str(run.directory.path), str(seconds))
            process = subprocess.Popen(
                command, env=make_python_environment(), stdin=subprocess.PIPE, stdout=dots, stderr=errors
            )
            try:
                yield
                _wait_for_control(run, process, dots.fileno(), seconds)
            finally:
                process.kill()
                process.communicate()
            if process.returncode:
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip().splitlines()
                raise GymposiumError(f"The control failed with exit status {process.returncode}: {''.join(said[-1:])}")
    else:
        yield
    _copy_steps(run)


def _fits_beside(run: RunContext) -> bool:
    """Return True if the control is not done yet and can run in parallel with reinforcement learning."""
    config, directory = run.config, run.directory
    open_still = (
        config.control and not is_complete(directory.control) and "train_cpu_seconds" not in directory.results()
    )
    small = config.model.name is None and not torch.cuda.is_available() and run.world.size == 1
    return open_still and config.steps is None and small and _count_cores() > 1


def _count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _wait_for_control(run: RunContext, process: subprocess.Popen[bytes], dots: int, seconds: float) -> None:
    """Show the progress of the control until it ends."""
    with run.view.stage(STAGE, round(seconds)) as bar:
        shown = 0
        while process.poll() is None:
            before, shown = shown, os.fstat(dots).st_size
            bar.advance("", shown - before)
            run.interruption.stop_here()
            try:
                process.wait(1.0)
            except subprocess.TimeoutExpired:
                continue


def _copy_steps(run: RunContext) -> None:
    """Copy the results of a control from its process to the run's files."""
    file = run.directory.control / _STEPS
    if file.is_file():
        with check_state(file):
            found = read_state(file)
            steps = [(metrics.pop("step"), metrics) for metrics in found["steps"]]
            cpu_seconds = float(found["cpu_seconds"])
        run.directory.remove_later_metrics(CONTROL, 0)
        for step, metrics in steps:
            run.watchers.stepped(CONTROL, step, metrics)
        run.directory.add_results(control_cpu_seconds=cpu_seconds)
        file.unlink()


def _run_as_process() -> None:
    """Run the control of a run in this process. The run passes its directory and the CPU seconds to spend as arguments.
    Writes one byte to stdout per CPU second."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the run too, and the run ends this process
    threading.Thread(target=_exit_with_run, daemon=True).start()
    directory, config = RunDirectory.open(Path(sys.argv[1]))
    torch.set_num_threads(1)
    view, games = LineView(), tuple(load_game(name) for name in config.games)
    run = RunContext(directory, config, view, Interruption(), RunReporter(directory, view, (), ()), games)
    steps: list[dict[str, float]] = []

    def note_step(metrics: dict[str, float]) -> None:
        before = int(steps[-1]["perf/cpu_seconds"]) if steps else 0
        os.write(sys.stdout.fileno(), b"." * (int(metrics["perf/cpu_seconds"]) - before))
        steps.append(metrics)

    def finish(cpu: float, directory: Path) -> None:
        write_json(directory / _STEPS, {"cpu_seconds": cpu, "steps": steps})

    train_control(run, float(sys.argv[2]), note_step, finish)


def _exit_with_run() -> None:
    os.read(sys.stdin.fileno(), 1)  # until the run closes its end
    os._exit(1)
