"""The control: what the same CPU time does when it is spent on more SFT, from the same cold start.

It runs beside the reinforcement learning in a process of its own (one core each). Fresh random games,
winners' moves, the whole model, one cosine over the budget. The budget is what the reinforcement
learning spends on playing and learning; while that goes on, its projected total steers the cosine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.reading import reader
from gymposium.records import RecordWriter
from gymposium.streams import stream
from gymposium_agents.loading import LoadedModel, load_model
from gymposium_train.cold_start import Pair, imitate, random_games, tokenized, winners_moves
from gymposium_train.config import TrainConfig
from gymposium_train.directory import RunDirectory, write_json
from gymposium_train.learner import Learner
from gymposium_train.progress import Interruption

GAMES = 1_000
"""Fresh games in a lot."""
STEPS = 8
"""SFT steps on each lot."""
POLL = 0.2
"""Seconds between two looks while one process waits for the other."""


class Control:
    """The control as its parent sees it."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        run.control.mkdir(exist_ok=True)
        self._budget = run.control / "budget.json"
        for old in (self._budget, run.control / "matches.jsonl"):  # of one that was interrupted
            old.unlink(missing_ok=True)
        self._log = open(run.control / "log.txt", "w", encoding="utf-8")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gymposium_train.control", str(run.path)],
            stdin=subprocess.PIPE,  # closes when this process ends, however it ends
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the parent, which then stops this one
        )

    def tell(self, spent: float, projected: float, *, final: bool) -> None:
        """CPU seconds that the reinforcement learning has spent and will have spent."""
        write_json(self._budget, {"spent": spent, "projected": projected, "final": final})

    def wait(self, interrupted: Interruption) -> float:
        """Wait until it has spent its budget; returns the CPU seconds that it took."""
        while self._process.poll() is None:
            interrupted.stop_here()
            time.sleep(POLL)
        if self._process.returncode != 0:
            log = self._run.control / "log.txt"
            raise GymposiumError(f"The control stopped with exit code {self._process.returncode}; see {log}.")
        result = json.loads(self._run.control_result.read_text(encoding="utf-8"))
        return float(result["cpu_seconds"])

    def stop(self) -> None:
        """End it now, e.g. because the run was interrupted."""
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._log.close()


def run_control(path: Path) -> None:
    """The child process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    run, config = RunDirectory.open(path)
    loaded = load_model(run.cold_start)
    learner = Learner(loaded.model.train(), loaded.pad, token_budget=config.token_budget)
    started, steps = time.process_time(), 0
    with RecordWriter(run.control / "matches.jsonl") as records:
        for metrics in imitate(
            learner,
            _fresh_batches(config, loaded, records),
            config.cold_start,
            progress=lambda step: _progress(run, time.process_time() - started) if step else 0.0,
        ):
            steps = int(metrics["step"])
            print(json.dumps(metrics), flush=True)
    loaded.save(run.control)
    config.save_player(run.control)
    write_json(run.control_result, {"steps": steps, "cpu_seconds": time.process_time() - started})


def _fresh_batches(config: TrainConfig, loaded: LoadedModel, records: RecordWriter) -> Iterator[list[Pair]]:
    """Batches from lot after lot of random games."""
    game, how = load_game(config.game), reader(config.reply)
    lot = 0
    while True:
        finished = random_games(
            game, config.prompt, how, matches=GAMES, seed=config.seed, tag=f"control-{lot}", each=records.write
        )
        pairs = tokenized(winners_moves(finished), loaded.chat)
        for step in range(STEPS):
            yield stream(config.seed, "control", lot, step).choices(pairs, k=config.cold_start.batch)
        lot += 1


def _progress(run: RunDirectory, spent: float) -> float:
    """How much of the projected budget is spent. Where none is known yet, or it is all spent but not final,
    wait for the parent: waiting costs no CPU time."""
    budget_file = run.control / "budget.json"
    while True:
        if budget_file.is_file():
            budget = json.loads(budget_file.read_text(encoding="utf-8"))
            share = float(spent / max(budget["projected"], 1e-9))
            if share < 1.0 or budget["final"]:
                return share
        time.sleep(POLL)


def _end_with_parent() -> None:
    """End this process when its parent has ended: their pipe then closes."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    run_control(Path(sys.argv[1]))
