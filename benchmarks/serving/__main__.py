"""Measure `gymposium serve`: exact tokens, its cost, and learning through the URL alone.

Parts:
  exact     50 matches and 50 mail tasks by the real openai client, against the learner's log-probabilities
  cost      CPU time beside the engine, sizes of batches, 200 sessions at once, the first token of a stream
  vllm      the first token of a stream that a vLLM server samples; for an environment such as `tox run -e vllm` makes
  learning  an agent in a separate process, beside `gymposium train` with as many matches and steps

The models are directories, such as the cold start of a run: `gymposium train --game tic_tac_toe` and
`python -m benchmarks.learning mail` make them. Rows of `learning` are written as they are done; a finished row is
not measured again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.report import RESULTS, about, table, write
from benchmarks.serving import cost, exact, learning

SEEDS = (1, 2, 3)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.serving", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=["exact", "cost", "vllm", "learning"], metavar="PART")
    parser.add_argument("--game-model", type=Path, required=True, help="a model that plays tic-tac-toe")
    parser.add_argument("--mail-model", type=Path, required=True, help="a model that answers questions of mail")
    parser.add_argument("--work", type=Path, default=Path("runs/serving"), help="folder for runs (runs/serving)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    models = {"tic_tac_toe": given.game_model.absolute(), "mail": given.mail_model.absolute()}
    file = given.out / "serving.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def keep() -> None:
        found["about"] = about("gymposium", "gymposium-agents", "gymposium-train", "openai", "starlette", "torch")
        write(given.out, "serving", found, format_text(found), quiet=True)

    if "exact" in given.parts:
        found["exact"] = [
            exact.measured(models["tic_tac_toe"], "tic_tac_toe", 50),
            exact.measured(models["mail"], exact.MAIL, 50),
        ]
        keep()
    if "cost" in given.parts:
        sizes = ((64, 16), (200, 200))
        found["cost"] = [cost.measured(models["tic_tac_toe"], sessions, at_once) for sessions, at_once in sizes]
        found["streams"] = cost.first_tokens(models["tic_tac_toe"])
        keep()
    if "vllm" in given.parts:
        found["streams of vLLM"] = cost.first_tokens_of_vllm(models["mail"])
        keep()
    if "learning" in given.parts:
        rows = found.setdefault("learning", [])
        given.work.mkdir(parents=True, exist_ok=True)
        for name, task in learning.TASKS.items():
            for seed in SEEDS:
                for arm, run in (("train", learning.trained), ("serve", learning.through_url)):
                    if not any((row["task"], row["seed"], row["arm"]) == (name, seed, arm) for row in rows):
                        out = given.work.absolute() / f"{name}-{arm}-{seed}"
                        rows.append({"task": name, "seed": seed, "arm": arm, **run(task, models[name], seed, out)})
                        print(rows[-1], flush=True)
                        keep()
    keep()
    print(format_text(found))


def format_text(found: dict[str, Any]) -> str:
    """Return the tables of all parts that were measured."""
    text = ""
    for part, title in (("exact", "Tokens of the openai client"), ("cost", "Cost")):
        for row in found.get(part, ()):
            text += f"## {title}: {row.get('game') or row['sessions']}\n\n"
            text += table(["figure", "value"], [[name, _shown(value)] for name, value in row.items()]) + "\n"
    for part, title in (("streams", "First token of a stream, behind the engine's"), ("streams of vLLM",) * 2):
        if part in found:
            text += f"## {title[0].upper()}{title[1:]}\n\n"
            text += table(["figure", "value"], [[name, _shown(value)] for name, value in found[part].items()]) + "\n"
    if rows := found.get("learning"):
        text += "## Learning\n\n"
        lines = [
            [
                *(row["task"], row["arm"], str(row["seed"])),
                *(_shown(row["results"].get("win") or "-"), _shown(row["return"]), f"{row['cpu']:.0f}"),
            ]
            for row in rows
        ]
        text += table(["task", "by", "seed", "win", "return", "CPU s"], lines) + "\n"
        means = [
            [name, arm, f"{mean(row['return'][0] for row in rows if (row['task'], row['arm']) == (name, arm)):.3f}"]
            for name, arm in dict.fromkeys((row["task"], row["arm"]) for row in rows)
        ]
        text += table(["task", "by", "mean return"], means) + "\n"
    return text


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list):
        return " ".join("-" if one is None else f"{one:.3f}" for one in value)
    return str(value)


if __name__ == "__main__":
    main()
