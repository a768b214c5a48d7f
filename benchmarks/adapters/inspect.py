"""CPU time of evals in Inspect: gymposium's solver and scorers, beside a solver that only calls `generate` as often.

Each eval runs in a process of its own, which begins with a small one that is not measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.report import about, table, write

MOST = 0.2
"""Greatest share of the eval's CPU time that gymposium may add."""
GAMES = (("kuhn_poker", 300), ("tic_tac_toe", 200), ("connect_four", 60))
"""Games, each with its number of matches against random play."""
WARM = 8
"""Number of samples before the measurement."""


def main(out: Path, repeats: int) -> bool:
    """Measures, writes `adapters-inspect`, and returns whether gymposium adds at most `MOST`."""
    rows = [_compared(game, matches, repeats) for game, matches in GAMES]
    worst = max(row["added"] for row in rows)
    data = {"about": about("gymposium", "gymposium-inspect", "inspect-ai"), "most": MOST, "worst": worst, "games": rows}
    write(out, "adapters-inspect", data, text_of(data))
    return worst <= MOST


def text_of(data: dict[str, Any]) -> str:
    """The table, and whether the target was reached."""
    lines = [
        [
            row["game"],
            str(row["matches"]),
            str(row["generate_calls"]),
            f"{1e3 * median(row['cpu_seconds']['generate']) / row['generate_calls']:.2f}",
            f"{1e3 * median(row['cpu_seconds']['gymposium']) / row['generate_calls']:.2f}",
            f"{row['added']:+.1%}",
            f"{row['added_range'][0]:+.1%} to {row['added_range'][1]:+.1%}",
        ]
        for row in data["games"]
    ]
    head = [
        "game",
        "matches",
        "calls of generate",
        "ms a call, generate alone",
        "ms a call, gymposium",
        "added",
        "pairs",
    ]
    said = "reached" if data["worst"] <= data["most"] else "MISSED"
    return table(head, lines) + (
        f"\nCPU time of the process, median of the pairs. Both sides ask mockllm as often for each sample. Target: at most "
        f"{data['most']:.0%} added in each game: {said}.\n"
    )


def _compared(game: str, matches: int, repeats: int) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {"gymposium": [], "generate": []}
    calls: list[int] = []
    for _ in range(repeats):
        played = _run({"side": "gymposium", "game": game, "matches": matches})
        calls = played["calls"]
        alone = _run({"side": "generate", "calls": calls})
        assert alone["calls"] == calls, "both sides ask as often"
        seconds["gymposium"].append(played["cpu_seconds"])
        seconds["generate"].append(alone["cpu_seconds"])
    added = sorted(ours / theirs - 1 for ours, theirs in zip(*seconds.values(), strict=True))
    return {
        "game": game,
        "matches": matches,
        "generate_calls": sum(calls),
        "cpu_seconds": seconds,
        "added": median(added),
        "added_range": [added[0], added[-1]],
    }


def _run(side: dict[str, Any]) -> Any:
    """What one eval found, in a process of its own."""
    with TemporaryDirectory() as folder:
        env = {**os.environ, "INSPECT_TRACE_FILE": str(Path(folder, "trace.log")), "INSPECT_LOG_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.adapters.inspect", json.dumps(side)],
            env=env,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


# -- in the process of one eval


def _measured(side: dict[str, Any]) -> dict[str, Any]:
    """The CPU seconds of one eval, and the calls of `generate` for each of its samples."""
    from inspect_ai import Task, eval as inspect_eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    from gymposium_inspect import match

    def first_move(messages: Sequence[Any], *_: object) -> ModelOutput:
        _, _, moves = messages[-1].text.rpartition("Legal moves: ")
        output = ModelOutput.from_content("mockllm/model", moves.partition("\n")[0].partition(", ")[0] or "none")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # otherwise they are counted
        return output

    @solver
    def generate_only() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            for _ in range(state.metadata["calls"]):
                state = await generate(state, tool_calls="none")
            return state

        return solve

    def tasks() -> Iterator[Task]:
        if side["side"] == "gymposium":
            for matches in (WARM, side["matches"]):
                yield match(side["game"], matches=matches)
            return
        for calls in (side["calls"][:WARM], side["calls"]):
            samples = [Sample("Legal moves: none", metadata={"calls": count}) for count in calls]
            yield Task(dataset=samples, solver=generate_only())

    seconds = 0.0
    for task in tasks():
        began = time.process_time()
        [log] = inspect_eval(
            task, model=get_model("mockllm/model", custom_outputs=first_move), display="none", log_level="error"
        )
        seconds = time.process_time() - began
        assert log.status == "success", log.error
    return {
        "cpu_seconds": seconds,
        "calls": [sum(message.role == "assistant" for message in sample.messages) for sample in log.samples],
    }


if __name__ == "__main__":
    print(json.dumps(_measured(json.loads(sys.argv[1]))))
