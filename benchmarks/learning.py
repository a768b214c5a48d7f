"""The main job on several seeds: what a language model learns of a game, beside its cold start and a control.

Runs `gymposium train --control` once for each seed, one after the other, and gathers the results. The seeds
are fixed here, before any run; none of them served to choose a setting.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, about, table, write

SEEDS = (101, 102, 103)
LEAST = 0.80
"""Wins against random play that every seed must reach."""


def train(game: str, seed: int, run: Path, options: list[str]) -> dict[str, Any]:
    """Results of one run and its wall-clock seconds."""
    started = time.monotonic()
    command = [sys.executable, "-m", "gymposium.cli.main", "train", "--game", game, "--opponent", "random"]
    subprocess.run([*command, "--control", "--seed", str(seed), "--out", str(run), *options], check=True)
    results: dict[str, Any] = json.loads((run / "results.json").read_text(encoding="utf-8"))
    return {**results, "wall_seconds": round(time.monotonic() - started)}


def wins(results: dict[str, Any], what: str, opponent: str = "random") -> list[float]:
    """`[value, low, high]`."""
    found: list[float] = results["evaluations"][what][opponent]["results"]["win"]
    return found


def cell(estimate: list[float]) -> str:
    return "{:.3f} [{:.3f}, {:.3f}]".format(*estimate)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Options behind -- go to gymposium train as they are.",
    )
    parser.add_argument("--game", default="tic_tac_toe")
    parser.add_argument("--runs", type=Path, default=Path("runs/learning"), help="where the runs go; must be new")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("options", nargs="*", help="further options of gymposium train")
    given = parser.parse_args()
    found = {seed: train(given.game, seed, given.runs / f"seed-{seed}", given.options) for seed in SEEDS}
    rows = []
    for seed, results in found.items():
        spent = [f"{results[f'{stage}_cpu_seconds']:.0f}" for stage in ("cold_start", "grpo", "control")]
        measured = [cell(wins(results, what)) for what in ("cold start", "grpo", "control")]
        against_search = [cell(wins(results, what, "mcts-100")) for what in ("cold start", "grpo")]
        rows.append([str(seed), *measured, *against_search, "/".join(spent), f"{results['wall_seconds']:.0f}"])
    head = ["seed", "cold start", "after GRPO", "control", "cold start, mcts-100", "after GRPO, mcts-100"]
    head += ["CPU s: cold start/GRPO/control", "wall s"]
    last = next(iter(found.values()))
    matches = {name: score["matches"] for name, score in last["evaluations"]["grpo"].items()}
    optima = "; ".join(f"{kind} {o['win']:.4f}" for kind, o in last["optima"].items())
    anchors = (
        f"\nWins with 95 % intervals, greedy play, seats swapped: {matches['random']} games against random, "
        f"{matches['mcts-100']} against mcts-100. Anchors against random: random play "
        f"{cell(wins(last, 'anchor random'))}, mcts-100 {cell(wins(last, 'anchor mcts-100'))}; exact: {optima}.\n"
    )
    worst = min(wins(results, "grpo")[0] for results in found.values())
    clear = all(
        wins(results, "grpo")[1] > max(wins(results, what)[2] for what in ("cold start", "control"))
        for results in found.values()
    )
    verdict = (
        f"\nWorst seed {worst:.3f} ({'at least' if worst >= LEAST else 'BELOW'} {LEAST}); intervals clear of "
        f"cold start and control on every seed: {'yes' if clear else 'NO'}.\n"
    )
    data = {
        "about": about("gymposium", "gymposium-train", "open_spiel", "torch", "transformers", "peft"),
        "seeds": {str(seed): results for seed, results in found.items()},
        "worst": worst,
        "clear_of_cold_start_and_control": clear,
    }
    write(given.out, "learning", data, table(head, rows) + anchors + verdict)
    sys.exit(worst < LEAST or not clear)


if __name__ == "__main__":
    main()
