"""The main job on several seeds: what a language model learns of a game, beside its cold start and a control.

Runs `gymposium train --control` once for each seed, one after the other, and gathers the results. The seeds
are fixed here, before any run; none of them served to choose a setting.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, about, table, write

SEEDS = (101, 102, 103)
LEAST = 0.80
"""Wins against random play that every seed must reach, in the run's own evaluation."""
SHARP = 6_000
"""Games of the sharper evaluation behind a run, against random play: a thousand leave intervals of 0.05."""


COMMAND = [sys.executable, "-m", "gymposium.cli.main"]


def train(game: str, seed: int, run: Path, options: list[str]) -> None:
    """One run."""
    command = [*COMMAND, "train", "--game", game, "--opponent", "random", "--control"]
    subprocess.run([*command, "--seed", str(seed), "--out", str(run), *options], check=True)


def measure(game: str, run: Path) -> dict[str, Any]:
    """A run's results, and under `sharp` the wins of its three models in more games."""
    results: dict[str, Any] = json.loads((run / "results.json").read_text(encoding="utf-8"))
    models = {
        "cold start": f"lm:{run / 'cold_start'}",
        "grpo": f"lm:{run / 'cold_start'}@{run / 'adapter'}",
        "control": f"lm:{run / 'control'}",
    }
    sharp = {}
    for what, player in models.items():
        command = [*COMMAND, "eval", player, "--game", game, "--opponents", "random", "-n", str(SHARP), "--json"]
        record = ["--record", str(run / "matches" / "sharp.jsonl")]
        done = subprocess.run([*command, *record], capture_output=True, text=True, check=True)
        sharp[what] = json.loads(done.stdout)["games"][0]["opponents"]["random"]["results"]["win"]
    return {**results, "sharp": sharp}


def wins(results: dict[str, Any], what: str, opponent: str = "random") -> list[float]:
    """`[value, low, high]`."""
    found: list[float] = results["evaluations"][what][opponent]["results"]["win"]
    return found


def cell(estimate: list[float]) -> str:
    return "{:.3f} [{:.3f}, {:.3f}]".format(*estimate)


def is_clear(wins: dict[str, list[float]]) -> bool:
    """Whether GRPO's interval lies above those of the cold start and the control."""
    return wins["grpo"][1] > max(wins["cold start"][2], wins["control"][2])


def seeds_of(clear: dict[int, bool]) -> str:
    """On which seeds something holds, in words."""
    good = [str(seed) for seed, holds in clear.items() if holds]
    return "on every seed" if len(good) == len(clear) else f"only on {', '.join(good) or 'none'}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Options behind -- go to gymposium train as they are.",
    )
    parser.add_argument("--game", default="tic_tac_toe")
    parser.add_argument("--runs", type=Path, default=Path("runs/learning"), help="where the runs go")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--measure-only", action="store_true", help="measure runs that stand there already")
    parser.add_argument("options", nargs="*", help="further options of gymposium train")
    given = parser.parse_args()
    found = {}
    for seed in SEEDS:
        run = given.runs / f"seed-{seed}"
        if not given.measure_only:
            train(given.game, seed, run, given.options)
        found[seed] = measure(given.game, run)
    rows = []
    for seed, results in found.items():
        spent = [f"{results[f'{stage}_cpu_seconds']:.0f}" for stage in ("cold_start", "grpo", "control")]
        measured = [cell(wins(results, what)) for what in ("cold start", "grpo", "control")]
        against_search = [cell(wins(results, what, "mcts-100")) for what in ("cold start", "grpo")]
        sharp = [cell(results["sharp"][what]) for what in ("cold start", "grpo", "control")]
        rows.append([str(seed), *measured, *sharp, *against_search, "/".join(spent)])
    three = ["cold start", "after GRPO", "control"]
    head = ["seed", *three, *(f"{name}, {SHARP:,} games" for name in three)]
    head += ["cold start, mcts-100", "after GRPO, mcts-100", "CPU s: cold start/GRPO/control"]
    last = next(iter(found.values()))
    matches = {name: score["matches"] for name, score in last["evaluations"]["grpo"].items()}
    optima = "; ".join(f"{kind} {o['win']:.4f}" for kind, o in last["optima"].items())
    anchors = (
        f"\nWins with 95 % intervals, greedy play, seats swapped: {matches['random']} games against random, "
        f"{matches['mcts-100']} against mcts-100. Anchors against random: random play "
        f"{cell(wins(last, 'anchor random'))}, mcts-100 {cell(wins(last, 'anchor mcts-100'))}; exact: {optima}.\n"
    )
    worst = min(wins(results, "grpo")[0] for results in found.values())
    clear = {seed: is_clear(results["sharp"]) for seed, results in found.items()}
    own = {seed: is_clear({what: wins(results, what) for what in results["sharp"]}) for seed, results in found.items()}
    verdict = (
        f"\nWorst seed {worst:.3f} ({'at least' if worst >= LEAST else 'BELOW'} {LEAST}); interval clear of those of "
        f"cold start and control in {SHARP:,} games: {seeds_of(clear)}; "
        f"in {matches['random']:,} games: {seeds_of(own)}.\n"
    )
    data = {
        "about": about("gymposium", "gymposium-train", "open_spiel", "torch", "transformers", "peft"),
        "seeds": {str(seed): results for seed, results in found.items()},
        "worst": worst,
        "clear_of_cold_start_and_control": {"sharp": clear, "own": own},
    }
    write(given.out, "learning", data, table(head, rows) + anchors + verdict)
    sys.exit(worst < LEAST or not all(clear.values()))


if __name__ == "__main__":
    main()
