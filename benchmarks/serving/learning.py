"""Learning through the URL alone, beside `gymposium train` with as many matches and steps.

Both begin with the same model. An agent of forty lines (docs/examples/serving) plays in a separate process.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.serving.running import ENVIRONMENT, command, served, settings
from gymposium import load_game, make_player
from gymposium_agents.players.evaluate import evaluate_player

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples" / "serving"


@dataclass(frozen=True)
class Task:
    """A game that is learned both ways."""

    game: str
    agent: str
    """The file of the agent among the examples."""
    steps: int
    groups: int
    size: int
    reward: str
    """The reward of `gymposium train`, which the agent gives too."""
    settings: dict[str, object]
    matches: int
    """Number of matches for measuring the result."""


COMMON: dict[str, object] = {
    "credit.kind": "grpo",
    "entropy.weight": 0,
    "legality.weight": 0,
    "prompting.on_illegal": "penalty(0.5,3)",
    "evaluation.every": 0,
    "evaluation.matches": 10,
    "evaluation.opponents": '["random"]',
    "rollout.growth": 1,
    "samples.every": 0,
}
TASKS = {
    "tic_tac_toe": Task("tic_tac_toe", "play_tic_tac_toe.py", 30, 32, 4, "returns", {}, 2000),
    "mail": Task(
        "mail(kinds=look_up+absent,mails=20,max_calls=3)",
        "answer_mail.py",
        12,
        16,
        8,
        "weighted(accuracy=1,report.read=0.3)",
        {"optimizer.layout": "padded", "optimizer.learning_rate": 3e-4},
        2000,
    ),
}


def trained(task: Task, model: Path, seed: int, out: Path) -> dict[str, Any]:
    """Run `gymposium train` and return its figures."""
    own = {"rollout.groups": task.groups, "rollout.group_size": task.size, "reward": task.reward}
    arguments = ["--model", str(model), "--game", task.game, "--steps", str(task.steps), "--seed", str(seed)]
    given = settings({**COMMON, **task.settings, **own})
    cpu = command("train", *arguments, *given, "--out", str(out), log=out.parent / f"{out.name}.log")
    return {"cpu": cpu, **figures(task, out, seed)}


def through_url(task: Task, model: Path, seed: int, out: Path) -> dict[str, Any]:
    """Run an agent in a separate process against `gymposium serve`, and return the figures."""
    given = settings({**COMMON, **task.settings, "rollout.group_size": task.size})
    left_out = ("prompting.on_illegal", "rollout.growth")
    given = [one for one in given if not one.startswith(left_out)]
    arguments = ["--model", str(model), "--game", task.game, "--steps", str(task.steps), "--seed", str(seed), *given]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with served(out, *arguments) as (address, _):
        subprocess.run(
            [sys.executable, str(EXAMPLES / task.agent), str(task.steps), address],
            env={**os.environ, **ENVIRONMENT},
            stdout=subprocess.DEVNULL,
            check=True,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, **figures(task, out, seed)}


def figures(task: Task, out: Path, seed: int) -> dict[str, Any]:
    """Return the returns and results of the trained model, in separate matches."""
    game = load_game(task.game)
    opponent = make_player("random") if game.seats > 1 else None
    found = evaluate_player(
        make_player(f"lm:{out / 'model'}"), opponent, game, matches=task.matches, seed=1000 + seed, tag="serving"
    )
    return found.as_dict()
