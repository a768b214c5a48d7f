"""The control: what the same CPU time does when it is spent on more SFT, from the same cold start.

It runs beside the reinforcement learning in a process of its own (one core each). Fresh random games,
winners' moves, the whole model, one cosine over the budget. The budget is what the reinforcement
learning spends on playing and learning; while that goes on, its projected total steers the cosine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import torch

from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.reading import reader
from gymposium.records import RecordWriter
from gymposium.streams import stream
from gymposium_agents.loading import load_model
from gymposium_train.cold_start import cosine, random_games, tokenized, winners_moves
from gymposium_train.directory import RunDirectory, write_json
from gymposium_train.learner import Learner

GAMES = 5_000
"""Fresh games between two looks at the budget."""
STEPS = 40
"""SFT steps on each such lot of games."""
POLL = 0.2
"""Seconds between two looks while it waits."""


class Control:
    """The control as its parent sees it."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        run.control.mkdir(exist_ok=True)
        self._budget = run.control / "budget.json"
        self._budget.unlink(missing_ok=True)
        self._log = open(run.control / "log.txt", "w", encoding="utf-8")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gymposium_train.control", str(run.path)],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the parent, which then stops this one
        )

    def tell(self, spent: float, projected: float, *, final: bool) -> None:
        """CPU seconds that the reinforcement learning has spent and will have spent."""
        write_json(self._budget, {"spent": spent, "projected": projected, "final": final})

    def wait(self) -> float:
        """Wait until it has spent its budget; returns the CPU seconds that it took."""
        code = self._process.wait()
        self._log.close()
        if code != 0:
            raise GymposiumError(f"The control stopped with exit code {code}; see {self._run.control / 'log.txt'}.")
        result = json.loads((self._run.control / "result.json").read_text(encoding="utf-8"))
        return float(result["cpu_seconds"])

    def stop(self) -> None:
        """End it now, e.g. because the run was interrupted."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        self._log.close()


def run_control(path: Path) -> None:
    """The child process."""
    torch.set_num_threads(1)
    run, config = RunDirectory.open(path)
    settings, game, how = config.cold_start, load_game(config.game), reader(config.reply)
    loaded = load_model(run.cold_start)
    learner = Learner(loaded.model.train(), loaded.pad, token_budget=config.token_budget)
    started, step = time.process_time(), 0
    with RecordWriter(run.control / "matches.jsonl") as records:
        while (progress := _progress(run, time.process_time() - started)) < 1.0:
            tag = f"control-{step}"
            finished = random_games(
                game, config.prompt, how, matches=GAMES, seed=config.seed, tag=tag, each=records.write
            )
            pairs = tokenized(winners_moves(finished), loaded.chat)
            for _ in range(STEPS):
                if (progress := _progress(run, time.process_time() - started)) >= 1.0:
                    break
                batch = stream(config.seed, "control", step).choices(pairs, k=settings.batch)
                rate = cosine(progress, settings)
                metrics = learner.imitate(batch, rate)
                step += 1
                print(json.dumps({"step": step, "progress": progress, "learning_rate": rate, **metrics}), flush=True)
    loaded.save(run.control)
    write_json(run.control / "result.json", {"steps": step, "cpu_seconds": time.process_time() - started})


def _progress(run: RunDirectory, spent: float) -> float:
    """How much of the projected budget is spent. Where it is all spent but not yet final, wait for the
    parent: waiting costs no CPU time."""
    while True:
        try:
            budget = json.loads((run.control / "budget.json").read_text(encoding="utf-8"))
        except FileNotFoundError:  # the parent has not finished its first step
            return 0.0
        share = float(spent / max(budget["projected"], 1e-9))
        if share < 1.0 or budget["final"]:
            return share
        time.sleep(POLL)


if __name__ == "__main__":
    run_control(Path(sys.argv[1]))
