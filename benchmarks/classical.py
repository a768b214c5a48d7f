"""A classical learner in our environment: how well it learns, and its speed beside a bare environment.

sb3-contrib's MaskablePPO, with its default settings, learns tic-tac-toe from `gymnasium.make("TextTicTacToe-v0",
observation="tensor")` against the random player, in another seat for each match. Then it plays greedily against random
play, seats swapped, through gymposium's own driver.

For the speed, the same MaskablePPO also learns in a bare environment that is written here with pyspiel and NumPy: the
same tensor, mask and seats, a random opponent, and no text. The two take turns, slice by slice, updates included, so
that other load on the machine affects both. Speed is per CPU time of one thread, and the result is the ratio. The ratio
of the environments alone, stepped with random legal moves, is given too: most of the time of a training is spent in the
learner, which is the same on both sides.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import pyspiel
import torch
from sb3_contrib import MaskablePPO

from benchmarks.report import RESULTS, about, table, write
from gymposium import load_game
from gymposium.match import FORFEIT, play
from gymposium.match.seating import plan_jobs
from gymposium.players.grammar import make_player
from gymposium.records.scores import Score, estimate_mean
from gymposium_sb3.player import Sb3Player
from gymposium_sb3.training import ROLLOUT

GAME = "tic_tac_toe"
ENV_ID = "TextTicTacToe-v0"
SEEDS = (201, 202, 203)
"""Seeds, fixed before any run. No setting was chosen by results."""
FRAMES = 100_000
"""Upper bound on the frames of learning, which consists of whole rollouts."""
LEAST_WINS, LEAST_RATIO = 0.85, 0.8


class BareEnv(gymnasium.Env[np.ndarray, np.int64]):
    """Tic-tac-toe with pyspiel, as written for a single experiment."""

    def __init__(self) -> None:
        self._game = pyspiel.load_game(GAME)
        self._state = self._game.new_initial_state()
        self._seat = 0
        shape = self._game.observation_tensor_shape()
        self._shape = shape
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32)
        self.action_space = gymnasium.spaces.Discrete(self._game.num_distinct_actions())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._rng = random.Random(int(self.np_random.random() * 2**31))
        self._state = self._game.new_initial_state()
        self._seat = int(self._rng.random() * 2)
        self._opponent_moves()
        return self._observe(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._state.apply_action(int(action))
        self._opponent_moves()
        done = self._state.is_terminal()
        return self._observe(), self._state.returns()[self._seat] if done else 0.0, done, False, {}

    def _opponent_moves(self) -> None:
        state = self._state
        if not state.is_terminal() and state.current_player() != self._seat:
            legal = state.legal_actions()
            state.apply_action(legal[int(self._rng.random() * len(legal))])

    def _observe(self) -> np.ndarray:
        return np.asarray(self._state.observation_tensor(self._seat), np.float32).reshape(self._shape)

    def action_masks(self) -> np.ndarray:
        mask = np.zeros(9, np.int8)
        if not self._state.is_terminal():
            mask[self._state.legal_actions()] = 1
        return mask


def ours() -> gymnasium.Env[Any, Any]:
    return gymnasium.make(ENV_ID, opponent="random", seat="random", observation="tensor")


SIDES = {"gymposium": ours, "pyspiel": BareEnv}


def learner(side: str, seed: int) -> MaskablePPO:
    return MaskablePPO("MlpPolicy", SIDES[side](), n_steps=ROLLOUT, seed=seed, device="cpu")


# -- speed


def frames_per_second(model: MaskablePPO, rollouts: int) -> float:
    """Return the frames per CPU second of further learning, updates included."""
    before, start = model.num_timesteps, time.process_time()
    model.learn(rollouts * ROLLOUT, reset_num_timesteps=False)
    return (model.num_timesteps - before) / (time.process_time() - start)


def steps_per_second(env: gymnasium.Env[Any, Any], steps: int) -> float:
    """Return the steps per CPU second of the environment alone, resets included, with random legal moves."""
    mask = env.get_wrapper_attr("action_masks")
    rng = random.Random(0)
    env.reset(seed=0)
    start = time.process_time()
    for _ in range(steps):
        legal = np.flatnonzero(mask())
        if env.step(legal[int(rng.random() * len(legal))])[2]:
            env.reset()
    return steps / (time.process_time() - start)


def speed(slices: int, rollouts: int) -> dict[str, Any]:
    """Measure both sides in turn. Each ratio is that of two successive slices."""
    models = {side: learner(side, 0) for side in SIDES}
    for model in models.values():
        frames_per_second(model, 1)  # the first rollout imports and allocates
    found: dict[str, dict[str, list[float]]] = {"training": {}, "environment": {}}
    for number in range(slices):
        for side in SIDES if number % 2 else reversed(SIDES):
            found["training"].setdefault(side, []).append(frames_per_second(models[side], rollouts))
            found["environment"].setdefault(side, []).append(steps_per_second(SIDES[side](), rollouts * ROLLOUT))
    summary: dict[str, Any] = {}
    for what, rates in found.items():
        ratios = [a / b for a, b in zip(rates["gymposium"], rates["pyspiel"], strict=True)]
        estimate = estimate_mean(ratios)
        summary[what] = {
            **{f"{side}_frames_per_cpu_second": round(median(values)) for side, values in rates.items()},
            "ratio": round(median(ratios), 3),
            "mean_ratio": [round(x, 3) for x in (estimate.value, estimate.low, estimate.high)],
            "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
        }
    return summary


# -- learning


def learned(seed: int, frames: int, matches: int) -> dict[str, Any]:
    """Train with one seed and measure wins, draws and losses against random play, in total and per seat."""
    model = learner("gymposium", seed)
    start = time.process_time()
    model.learn(frames // ROLLOUT * ROLLOUT)
    seconds = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "policy.zip")
        player = Sb3Player(str(Path(folder) / "policy.zip"))
    game = load_game(GAME)
    both, seats = Score(), [Score() for _ in range(game.seats)]
    jobs = plan_jobs(
        game,
        [player, make_player("random")],
        matches,
        seed=seed,
        swap=True,
        tag="classical",
        on_illegal=FORFEIT,
    )
    orders = {job.id: (job, order.index(0)) for job, order in jobs}
    for played in play(job for job, _ in orders.values()):
        seat = orders[played.job.id][1]
        both.add(played, seat)
        seats[seat].add(played, seat)
    rate = {kind: both.result_rate(kind) for kind in ("win", "draw", "loss")}
    return {
        "frames": model.num_timesteps,
        "cpu_seconds": round(seconds, 1),
        "matches": both.matches,
        "forfeits": both.forfeits,
        **{kind: [e.value, e.low, e.high] for kind, e in rate.items()},
        "win_by_seat": [[e.value, e.low, e.high] for e in (score.result_rate("win") for score in seats)],
    }


def cell(estimate: Sequence[float]) -> str:
    return "{:.3f} [{:.3f}, {:.3f}]".format(*estimate)


def page(data: dict[str, Any], matches: int, slices: int) -> str:
    """Return the tables, with the targets."""
    runs, fast, worst = data["seeds"], data["speed"], data["worst"]
    reached = [run["win"][1] >= LEAST_WINS for run in runs.values()]
    ratio = fast["training"]["ratio"]
    rows = [
        [seed, f"{run['frames']:,}", *(cell(run[kind]) for kind in ("win", "draw", "loss"))]
        + [*map(cell, run["win_by_seat"]), f"{run['cpu_seconds']:.0f}"]
        for seed, run in runs.items()
    ]
    head = ["seed", "frames", "win", "draw", "loss", "win, first seat", "win, second seat", "CPU s"]
    speeds = [
        [
            {"training": "MaskablePPO learning", "environment": "environment alone"}[what],
            *(f"{found[f'{side}_frames_per_cpu_second']:,}" for side in SIDES),
            f"{found['ratio']:.2f}",
            "{:.2f} [{:.2f}, {:.2f}]".format(*found["mean_ratio"]),
            "{:.2f} to {:.2f}".format(*found["ratio_range"]),
        ]
        for what, found in fast.items()
    ]
    return (
        f"MaskablePPO with default settings against random play, then greedily in {matches:,} matches, seats swapped, "
        f"with 95 % intervals:\n\n{table(head, rows)}\n"
        f"Worst seed {worst:.3f} ({'at least' if worst >= LEAST_WINS else 'BELOW'} {LEAST_WINS}); whole interval at "
        f"{LEAST_WINS} or more on {sum(reached)} of {len(reached)} seeds. The most that anybody can win is 0.967.\n\n"
        f"Frames per CPU-second, one thread, medians of {slices} slices; a frame is one decision of the learner:\n\n"
        + table(["", "gymposium", "bare pyspiel", "ratio", "mean ratio", "range"], speeds)
        + f"\nLearning at {ratio:.2f} of the bare environment's speed "
        f"({'at least' if ratio >= LEAST_RATIO else 'BELOW'} {LEAST_RATIO}).\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--frames", type=int, default=FRAMES, help=f"frames of learning with each seed, at most (default: {FRAMES:,})"
    )
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS, help="seeds of learning (default: 201 202 203)")
    parser.add_argument(
        "--matches", type=int, default=4000, help="matches of the evaluation after learning (default: 4000)"
    )
    parser.add_argument(
        "--slices", type=int, default=9, help="slices for measuring the speed of each side (default: 9)"
    )
    parser.add_argument("--rollouts", type=int, default=2, help=f"rollouts of {ROLLOUT} frames in a slice (default: 2)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    torch.set_num_threads(1)
    fast = speed(given.slices, given.rollouts)
    runs = {str(seed): learned(seed, given.frames, given.matches) for seed in given.seeds}
    worst = min(run["win"][0] for run in runs.values())
    made = about("gymposium", "gymposium-sb3", "open_spiel", "gymnasium", "stable-baselines3", "sb3-contrib", "torch")
    data = {"about": made, "seeds": runs, "worst": worst, "speed": fast}
    write(given.out, "classical", data, page(data, given.matches, given.slices))
    sys.exit(worst < LEAST_WINS or fast["training"]["ratio"] < LEAST_RATIO)


if __name__ == "__main__":
    main()
