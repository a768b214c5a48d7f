"""Settings for a pretrained model, tried one at a time: the basis of its defaults.

SmolLM2-135M-Instruct (from Q4_1) imitates moves of search in tic-tac-toe, as in `benchmarks.pretrained`, and then
learns by reinforcement for a few steps of about 64 matches. Each trial changes one thing. The model plays greedily
against random play before and after, and the table shows the difference.

The seeds are not those of `benchmarks.pretrained`. Each run is kept when it ends, and an interrupted one resumes,
so the same command resumes after Ctrl-C. (One trial takes five minutes of one core, and imitation three a seed.)

    python -m benchmarks.pretrained_settings              all trials
    python -m benchmarks.pretrained_settings start gae    these two, on all seeds
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.pretrained import BOARD, TASKS, VERSIONS, demonstrated, fetched, program
from benchmarks.report import RESULTS, KeptRows, Row, table

SEEDS = (10, 11, 12)
"""Seeds, fixed before any run that is kept."""
TASK = TASKS["tic_tac_toe"]
STEPS, MATCHES = 8, 400
START = {
    "credit.kind": "grpo",
    "rollout.groups": "8",
    "rollout.group_size": "8",
    "optimizer.learning_rate": "2e-4",
    "optimizer.epochs": "1",
    "optimizer.minibatches": "4",
    "kl.weight": "0",
}
"""What the trials change."""
TRIALS: dict[str, dict[str, str]] = {
    "start": {},
    "rate 5e-5": {"optimizer.learning_rate": "5e-5"},
    "rate 1e-4": {"optimizer.learning_rate": "1e-4"},
    "rate 5e-4": {"optimizer.learning_rate": "5e-4"},
    "1 minibatch": {"optimizer.minibatches": "1"},
    "2 epochs": {"optimizer.epochs": "2"},
    "16 groups of 4": {"rollout.groups": "16", "rollout.group_size": "4"},
    "4 groups of 16": {"rollout.groups": "4", "rollout.group_size": "16"},
    "KL 0.05": {"kl.weight": "0.05"},
    "gae": {"credit.kind": "gae"},
}
COMMON = (*BOARD, "optimizer.precision=bf16", "evaluation.every=0", f"evaluation.matches={MATCHES}")


def imitated(seed: int, model: Path, runs: Path) -> Row:
    """Run imitation and measure it."""
    path = runs / f"imitated-{seed}"
    data = f'cold_start.data=["{demonstrated(TASK, runs)}"]'
    settings = (*COMMON, "cold_start.steps=40", "steps=0")
    results = _trained(path, ("--model", model, "--seed", str(seed)), (data, *settings))
    return {
        "seed": seed,
        "trial": None,
        "settings": settings,
        "score": _score(results, "cold start"),
        "cpu_seconds": results["cold_start_cpu_seconds"],
    }


def tried(name: str, seed: int, runs: Path) -> Row:
    """Train the imitated model by reinforcement, and measure it."""
    path = runs / f"{name.replace(' ', '-')}-{seed}"
    settings = (*COMMON, f"steps={STEPS}", *(f"{key}={value}" for key, value in {**START, **TRIALS[name]}.items()))
    results = _trained(path, ("--model", runs / f"imitated-{seed}" / "cold_start", "--seed", str(seed)), settings)
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if line["stage"] == "train"]
    return {
        "seed": seed,
        "trial": name,
        "settings": settings,
        "score": _score(results, "trained"),
        "rewards": [step["rollout/reward"] for step in steps],
        "kl": [step["train/approx_kl"] for step in steps],
        "cpu_seconds": results["train_cpu_seconds"],
    }


def _trained(path: Path, given: Sequence[str | Path], settings: Sequence[str]) -> dict[str, Any]:
    """Start or resume a run, and return its results."""
    print(f"[{path.name}] begins", flush=True)
    begun = ("--resume", path) if (path / "config.json").exists() else ("--game", TASK.game, "--out", path, *given)
    new = () if begun[0] == "--resume" else settings
    program("train", *begun, *new, log=path.with_suffix(".log"), statuses=(0, 3))  # 3: nothing was learned
    results: dict[str, Any] = json.loads((path / "results.json").read_text(encoding="utf-8"))
    return results


def _score(results: dict[str, Any], who: str) -> dict[str, Any]:
    score = results["evaluations"][who][TASK.game]["random"]
    return {name: score[name] for name in ("return", "results", "readings", "matches")}


def text(rows: Sequence[Row]) -> str:
    """Return the table, as Markdown."""
    before = {row["seed"]: _wins(row) for row in rows if row["trial"] is None}
    lines = []
    for name in TRIALS:
        done = [row for row in rows if row["trial"] == name]
        if done:
            gains = [_wins(row) - before[row["seed"]] for row in done]
            lines.append(
                [
                    name,
                    f"{fmean(gains):+.3f}",
                    ", ".join(f"{gain:+.3f}" for gain in gains),
                    f"{min(row['score']['readings']['move'][0] for row in done):.3f}",
                    f"{max(max(row['kl']) for row in done):.4f}",
                    f"{fmean(row['cpu_seconds'] for row in done):,.0f}",
                ]
            )
    settings = ", ".join(f"`{name}={value}`" for name, value in START.items())
    wins = ", ".join(f"{seed}: {share:.3f}" for seed, share in before.items())
    head = ["trial", "wins, change", "by seed", "least share of legal replies", "largest KL of a step", "CPU s"]
    return (
        f"start: {settings}; a LoRA, {STEPS} steps, {MATCHES} matches against random play before and after.\n\n"
        f"Wins after imitation, by seed: {wins}.\n\n{table(head, lines)}"
    )


def _wins(row: Row) -> float:
    share: float = row["score"]["results"]["win"][0]
    return share


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pretrained_settings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"all by default: {', '.join(TRIALS)}")
    parser.add_argument("--model", type=Path, help="directory of the model, as gymposium model fetch makes it")
    parser.add_argument("--runs", type=Path, default=Path("gymposium-runs/pretrained-settings"), help="folder for runs")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    if unknown := [name for name in given.trials if name not in TRIALS]:
        parser.error(f"no such trial: {', '.join(unknown)}. Choose from {', '.join(TRIALS)}")
    given.runs.mkdir(parents=True, exist_ok=True)
    model, kept = fetched(given.model), KeptRows(given.out, "pretrained_settings", VERSIONS, text)
    for seed in SEEDS:
        for name in (None, *(given.trials or TRIALS)):
            if {"seed": seed, "trial": name} in kept:
                continue
            if name is None:
                kept.add(imitated(seed, model, given.runs))
                continue
            if not (given.runs / f"imitated-{seed}" / "cold_start").exists():  # measured before, elsewhere
                imitated(seed, model, given.runs)
            kept.add(tried(name, seed, given.runs))
    kept.show()


if __name__ == "__main__":
    main()
