"""CPU time of gymposium's solver and scorer in Inspect, beside an eval whose solver only calls `generate` as often.

Each eval runs in a separate process, which begins with a small one that is not measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from benchmarks.report import about, table

T = TypeVar("T")

MOST = 0.2
"""Greatest CPU time of gymposium, as a share of that of an eval that only generates."""
GAMES = (("kuhn_poker", 300), ("tic_tac_toe", 200), ("connect_four", 60))
"""Games, each with its number of matches against random play."""
WARM = 8
"""Number of samples before the measurement."""
FIGURES = ("alone", "own", "whole")
"""CPU seconds: of an eval that only generates; inside gymposium's functions; of the whole eval with them."""


def measure(repeats: int, tiny: bool) -> tuple[dict[str, Any], str]:
    """Return the data and the text of the result."""
    rows = [_compared(game, WARM if tiny else matches, repeats) for game, matches in GAMES]
    worst = max(row["own_share"] for row in rows)
    data = {"about": about("gymposium", "gymposium-inspect", "inspect-ai"), "most": MOST, "worst": worst, "games": rows}
    return data, format_text(data)


def format_text(data: dict[str, Any]) -> str:
    """Return the table, and whether the target was reached."""
    lines = []
    for row in data["games"]:
        each = [1e3 * median(row["cpu_seconds"][figure]) / row["generate_calls"] for figure in FIGURES]
        lines.append(
            [row["game"], str(row["matches"]), str(row["generate_calls"])]
            + [f"{value:.2f}" for value in each]
            + [f"{row['own_share']:.1%}", f"{row['whole_share']:.1%}"]
        )
    head = ["game", "matches", "calls of generate", "ms a call: generate alone", "solver and scorer", "whole eval"]
    head += ["solver and scorer / alone", "whole / alone"]
    said = "reached" if data["worst"] <= data["most"] else "MISSED"
    return table(head, lines) + (
        f"\nCPU time, medians over the pairs. Both sides ask mockllm as often in each sample. *Solver and scorer* is "
        f"the time inside gymposium's functions, in its threads and in the opponents, without `generate`. *Whole eval* "
        f"also holds what Inspect does with the conversations, the records in its log and the figures. Target: solver "
        f"and scorer take at most {data['most']:.0%} of generate alone in each game: {said}.\n"
    )


def _compared(game: str, matches: int, repeats: int) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {figure: [] for figure in FIGURES}
    calls: list[int] = []
    for _ in range(repeats):
        played = _run({"side": "gymposium", "game": game, "matches": matches})
        calls = played["calls"]
        alone = _run({"side": "generate", "calls": calls})
        if alone["calls"] != calls:
            raise RuntimeError("The sides did not ask as often.")
        for figure, found in zip(FIGURES, (alone["whole"], played["own"], played["whole"]), strict=True):
            seconds[figure].append(found)
    return {
        "game": game,
        "matches": matches,
        "generate_calls": sum(calls),
        "cpu_seconds": seconds,
        "own_share": median(one / other for one, other in zip(seconds["own"], seconds["alone"], strict=True)),
        "whole_share": median(one / other for one, other in zip(seconds["whole"], seconds["alone"], strict=True)),
    }


def _run(side: dict[str, Any]) -> Any:
    """Run one eval in a separate process and return its results."""
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


class Clock:
    """CPU seconds by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def timed(self, name: str, function: Callable[..., T]) -> Callable[..., T]:
        """Return the function wrapped so that its CPU time counts under `name`, whichever thread calls it."""

        def called(*arguments: Any) -> T:
            began = time.thread_time()
            try:
                return function(*arguments)
            finally:
                self.seconds[name] += time.thread_time() - began

        return called


@dataclass(frozen=True)
class Steps(Generic[T]):
    """Awaitable whose steps are timed under a name. Other tasks that run while it waits are not."""

    clock: Clock
    name: str
    work: Awaitable[T]

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self.work.__await__()
        step = self.clock.timed(self.name, lambda: next(steps))
        while True:
            try:
                waits_for = step()
            except StopIteration as ended:
                result: T = ended.value
                return result
            yield waits_for


def _measured(side: dict[str, Any]) -> dict[str, Any]:
    """Return the CPU seconds of one eval and those inside gymposium, and the calls of `generate` per sample."""
    from anyio import to_thread
    from inspect_ai import Task, eval as inspect_eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    from gymposium_inspect import make_samples, outcome, play, playing

    clock = Clock()

    async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
        return await to_thread.run_sync(clock.timed("threads", function), *arguments)

    vars(playing)["to_thread"] = SimpleNamespace(run_sync=in_thread)

    @solver
    def generate_only() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            for _ in range(state.metadata["calls"]):
                state = await generate(state, tool_calls="none")
            return state

        return solve

    @solver
    def timed_play() -> Solver:
        inner = play()

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            async def ask(state: TaskState, **options: Any) -> TaskState:
                return await Steps(clock, "generate", generate(state, **options))

            return await Steps(clock, "solver", inner(state, ask))

        return solve

    @scorer(metrics={"*": [mean(), stderr(cluster="seed")]}, name="outcome")
    def timed_outcome() -> Scorer:
        inner = outcome()

        async def score(state: TaskState, target: Target) -> Score | None:
            return await Steps(clock, "scorer", inner(state, target))

        return score

    def tasks() -> Iterator[Task]:
        if side["side"] == "gymposium":
            for matches in (WARM, side["matches"]):
                yield Task(
                    dataset=make_samples(side["game"], matches=matches), solver=timed_play(), scorer=timed_outcome()
                )
            return
        for calls in (side["calls"][:WARM], side["calls"]):
            dataset = [Sample("Legal moves: none", metadata={"calls": count}) for count in calls]
            yield Task(dataset=dataset, solver=generate_only())

    def first_move(messages: Sequence[Any], *_: object) -> ModelOutput:
        _, _, moves = messages[-1].text.rpartition("Legal moves: ")
        output = ModelOutput.from_content("mockllm/model", moves.partition("\n")[0].partition(", ")[0] or "none")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # otherwise they are counted
        return output

    found: dict[str, Any] = {}
    for task in tasks():
        clock.seconds.clear()
        began = time.process_time()
        [log] = inspect_eval(
            task, model=get_model("mockllm/model", custom_outputs=first_move), display="none", log_level="error"
        )
        found["whole"] = time.process_time() - began
        if log.status != "success":
            raise RuntimeError(str(log.error))
        spent = clock.seconds
        found["own"] = spent["solver"] - spent["generate"] + spent["threads"] + spent["scorer"]
        messages = [sample.messages for sample in log.samples or ()]
        found["calls"] = [sum(message.role == "assistant" for message in sample) for sample in messages]
    return found


if __name__ == "__main__":
    print(json.dumps(_measured(json.loads(sys.argv[1]))))
