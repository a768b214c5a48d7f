"""Whether a model learns on the Tinker backend as on the local one: tic-tac-toe, from one small model.

The model has imitated random play. The service is the stand-in of the tests (tests/plugins/tinker/stand_in), behind the
real SDK. Each seed does the same run on both backends. The runs have different initial LoRA weights and draw different
replies, so only means over seeds are compared.

The exit status is 1 if, after any step, the 95% interval of the mean paired difference excludes 0. A test checks that
gradients and steps are equal to 1e-5.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from scipy.stats import t as student

from benchmarks.report import RESULTS, about, table, write
from gymposium_train import train
from gymposium_train.config.reading import build_config

CONTEXT = 256
RANK, ALPHA = 16, 32
"""The LoRA on both sides. The stand-in's alpha is fixed."""
BACKENDS = ("local", "tinker")
Point = dict[str, float]
"""A point of a curve: its step, the mean return and the half width of its 95% interval."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backends", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=20, help="steps of reinforcement learning (default: 20)")
    parser.add_argument("--every", type=int, default=5, help="steps between two points (default: 5)")
    parser.add_argument("--matches", type=int, default=300, help="matches of each point (default: 300)")
    parser.add_argument("--imitation", type=int, default=400, help="steps of the cold start (default: 400)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    torch.set_num_threads(1)
    facts = about("gymposium", "gymposium-train", "gymposium-tinker", "tinker", "torch", "transformers", "peft")
    found: dict[str, dict[str, list[Point]]] = {}
    for seed in given.seeds:
        with tempfile.TemporaryDirectory() as place:
            found[str(seed)] = _run_seed(seed, given, Path(place))
        data = {"about": facts, "matches": given.matches, "seeds": found}
        write(given.out, "backends", data, _text(found, given.matches))
    raise SystemExit(not all(abs(mean) <= half for mean, half in _differences(found).values()))


def _run_seed(seed: int, given: argparse.Namespace, place: Path) -> dict[str, list[Point]]:
    """Return the curve of each backend for one seed."""
    taught = {
        "games": ["tic_tac_toe"],
        "seed": seed,
        "steps": 0,
        "cold_start": {"steps": given.imitation, "keep": "all", "failed": 0.0},
        "evaluation": {"opponents": ["random"], "matches": 2, "every": 0},
    }
    model = train(build_config(taught), out=place / "taught").cold_start
    curves = {}
    for backend in BACKENDS:
        with _served(model) as url:
            chosen: dict[str, Any] = {"backend": {"kind": backend}, "engine": {"kind": "shared"}}
            lora: dict[str, Any] = {"rank": RANK, "alpha": ALPHA}
            if backend == "tinker":
                chosen, lora = {"backend": {"kind": backend, "base_url": url}}, {"rank": RANK}
            config = {
                "games": ["tic_tac_toe"],
                "seed": seed,
                "steps": given.steps,
                "model": {"name": str(model), "tune": "lora", "lora": lora},
                "credit": {"kind": "grpo"},
                "kl": {"weight": 0.0},
                "legality": {"weight": 0.0},
                "prompting": {"temperature": 1.0},
                "rollout": {"groups": 8, "group_size": 8, "growth": 1.0},
                "optimizer": {"epochs": 1, "minibatches": 4, "target_kl": 0.0, "learning_rate": 2e-3},
                "evaluation": {
                    "opponents": ["random"],
                    "matches": 2,
                    "every": given.every,
                    "curve_matches": given.matches,
                },
                "checkpoints": {"every": given.steps, "best": False},
                **chosen,
            }
            run = train(build_config(config), out=place / backend)
        curves[backend] = [
            _point(entry, given.matches) for entry in run.metrics() if "eval/tic_tac_toe/random/return" in entry
        ]
    return curves


@contextmanager
def _served(model: Path) -> Iterator[str]:
    """Yield the address of a stand-in that trains this model."""
    from tests.plugins.tinker.stand_in.app import KEY
    from tests.plugins.tinker.stand_in.running import running
    from tests.plugins.tinker.stand_in.service import StandIn

    os.environ |= {"TINKER_API_KEY": KEY, "TINKER_TELEMETRY": "0"}
    with running(StandIn({str(model): CONTEXT})) as server:
        yield server.url


def _point(entry: dict[str, Any], matches: int) -> Point:
    value, win, loss = (entry[f"eval/tic_tac_toe/random/{name}"] for name in ("return", "win", "loss"))
    deviation = math.sqrt(max(0.0, win + loss - value**2))
    return {"step": entry["step"], "return": value, "interval": 1.96 * deviation / math.sqrt(matches)}


def _differences(found: dict[str, dict[str, list[Point]]]) -> dict[int, tuple[float, float]]:
    """Return the mean difference of the backends over the seeds after each step, and the half width of its 95%
    interval, which one seed does not have."""
    each: dict[int, list[float]] = {}
    for curves in found.values():
        for here, there in zip(*(curves[backend] for backend in BACKENDS), strict=True):
            each.setdefault(int(here["step"]), []).append(there["return"] - here["return"])
    return {step: (mean(of_step), _half_width(of_step)) for step, of_step in each.items()}


def _half_width(values: list[float]) -> float:
    if len(values) == 1:
        return math.inf
    return float(student.ppf(0.975, len(values) - 1)) * stdev(values) / math.sqrt(len(values))


def _text(found: dict[str, dict[str, list[Point]]], matches: int) -> str:
    means = []
    for step, (difference, half) in _differences(found).items():
        returns = [
            mean(point["return"] for curves in found.values() for point in curves[backend] if point["step"] == step)
            for backend in BACKENDS
        ]
        within = "yes" if abs(difference) <= half else "no"
        means.append((str(step), *(f"{value:+.3f}" for value in returns), f"{difference:+.3f} ± {half:.3f}", within))
    rows: list[Sequence[str]] = []
    for seed, curves in found.items():
        for here, there in zip(*(curves[backend] for backend in BACKENDS), strict=True):
            spelled = [f"{point['return']:+.3f} ± {point['interval']:.3f}" for point in (here, there)]
            rows.append((seed, f"{here['step']:.0f}", *spelled))
    return (
        f"Mean return of greedy play against random play in tic-tac-toe. The service is the stand-in of the tests. "
        f"Means over {len(found)} seeds, and the mean paired difference with its 95 % interval:\n\n"
        + table(("step", *BACKENDS, "difference", "0 is in the interval"), means)
        + f"\nEach seed: {matches} matches a point, whose 95 % intervals do not hold the chance of training.\n\n"
        + table(("seed", "step", *BACKENDS), rows)
    )


if __name__ == "__main__":
    main()
