"""A run that is killed at any moment and resumed matches an uninterrupted one."""

from __future__ import annotations

import json
import multiprocessing
import random
from collections.abc import Callable, Iterator
from itertools import islice
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from gymposium.records import Problem, read_records
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory
from gymposium_train.run.start import resume_run, start_run

SELF_PLAY = (
    "stages=[{opponents={random=1.0, self=1.0, past=2.0}}]",
    "credit.kind=rae",
    "rollout.groups=4",
    "pool.every=1",
    "kl.weight=0.01",
    "kl.refresh=2",
    "sft.weight=0.1",
    "sft.batch=8",
)
"""Past versions, a moving mean, a moving reference, a cold start that goes on: all that a LoRA's run must remember."""
CRITIC = ('games=["kuhn_poker", "tic_tac_toe"]', "credit.kind=gae", "model.tune=full", "optimizer.learning_rate=1e-4")
"""A value head with an optimizer of its own, and all weights."""


FILTERS = (
    "rollout.replace_tied=3",
    "rollout.groups=4",
    "rollout.group_size=2",
    "overlong.mode=penalize",
    "prompting.max_tokens=4",
)
"""Groups that replace tied ones, and rewards that depend on lengths."""


@pytest.fixture(scope="module")
def children() -> Any:
    """Processes that have imported everything already, so that most of their time is the run."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["gymposium_train.run", "peft", "bitsandbytes", "transformers.models.qwen3.modeling_qwen3"]
    )
    return context


def draw_moments(run: RunDirectory, rng: random.Random) -> Iterator[tuple[str, Callable[[], bool]]]:
    """The moments of the kills from the beginning of a run to its end, each with its name and the condition to wait
    for."""

    def grown(file: Path, most: int) -> Callable[[], bool]:
        """The condition that a file has a random number of bytes more than now."""
        wanted = size(file) + rng.randint(1, most)
        return lambda: size(file) >= wanted

    def saving() -> Callable[[], bool]:
        """The condition that there is one more checkpoint than now, complete or not."""
        before = len([*run.checkpoints.glob("*step-*")])
        return lambda: len([*run.checkpoints.glob("*step-*")]) > before

    yield "random matches", grown(run.matches("cold_start"), 20_000)
    yield "the small model", lambda: is_begun(run.base)
    yield "imitation", grown(run.metrics_file, 1_500)
    yield "the cold start's end", lambda: is_begun(run.cold_start)
    yield "a measure", grown(run.matches("eval"), 4_000)
    yield "a match of the first step", grown(run.matches("train"), 9_000)
    yield "a checkpoint", saving()
    yield "a step's metrics", grown(run.metrics_file, 1_500)
    yield "a point of the curve", grown(run.matches("eval"), 2_000)
    yield "the result", lambda: is_begun(run.adapter) or is_begun(run.model)


def is_begun(directory: Path) -> bool:
    """True if a process is writing it, or has just done so."""
    return directory.exists() or any(directory.parent.glob(f".{directory.name}.*.partial"))


def size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def run_and_kill(process: BaseProcess, reached: Callable[[], bool]) -> bool:
    """Start a process and kill it without warning when a condition holds. False if it ended before."""
    process.start()
    while process.is_alive() and not reached():
        process.join(timeout=0.001)
    process.kill()
    process.join()
    return process.exitcode != 0


def start_process(children: Any, run: RunDirectory, config: TrainConfig) -> BaseProcess:
    """A process that begins or resumes the run."""
    if run.config_file.exists():
        return children.Process(target=resume_run, args=(run.path,))
    return children.Process(target=start_run, args=(run.path, config))


def finish(process: BaseProcess) -> None:
    process.start()
    process.join()
    assert process.exitcode == 0


def drop_times(data: Any) -> Any:
    """Metrics or results without times."""
    if isinstance(data, list):
        return [drop_times(one) for one in data]
    if isinstance(data, dict):
        return {k: drop_times(v) for k, v in data.items() if "seconds" not in k and not k.startswith("perf/")}
    return data


def records(file: Path) -> list[dict[str, Any]]:
    """Every complete record by its id; lines that a kill cut off were reported, and stay."""
    found = [record for _, record in read_records(file) if not isinstance(record, Problem)]
    return sorted(({"id": r.id, "events": r.events, "returns": r.returns} for r in found), key=lambda one: one["id"])


@pytest.mark.parametrize(
    ("overrides", "without", "every"),
    [
        pytest.param(SELF_PLAY, (), 10, id="self-play, the tenth moment"),
        pytest.param(FILTERS, (), 5, id="filters, every fifth moment", marks=pytest.mark.slow),
        pytest.param(SELF_PLAY, (), 1, id="self-play", marks=pytest.mark.slow),
        pytest.param(CRITIC, ("model.lora",), 1, id="critic", marks=pytest.mark.slow),
    ],
)
def test_repeatedly_killed_run_ends_with_the_same_numbers(
    overrides: tuple[str, ...], without: tuple[str, ...], every: int, children: Any, quick_config: Any, tmp_path: Path
) -> None:
    config = quick_config(*overrides, without=without)
    whole, run = RunDirectory(tmp_path / "whole"), RunDirectory(tmp_path / "killed")
    finish(start_process(children, whole, config))
    rng = random.Random(5)
    chosen = islice(draw_moments(run, rng), every - 1, None, every)
    hit = [name for name, reached in chosen if run_and_kill(start_process(children, run, config), reached)]
    assert len(hit) == 10 // every, hit
    finish(start_process(children, run, config))

    result = "adapter/adapter_model.safetensors" if config.model.tune == "lora" else "model/model.safetensors"
    assert (run.path / result).read_bytes() == (whole.path / result).read_bytes()
    assert drop_times(sorted(run.metrics(), key=place)) == drop_times(sorted(whole.metrics(), key=place))
    assert drop_times(run.results()) == drop_times(whole.results())
    assert run.results()["train_cpu_seconds"] > 0
    for name in ("cold_start", "train", "eval"):
        assert records(run.matches(name)) == records(whole.matches(name))
    assert read_kept_groups(run.samples_file) == read_kept_groups(whole.samples_file)
    if overrides == FILTERS:
        assert sum(m.get("rollout/groups_replaced", 0) for m in run.metrics()) > 0
        assert all("rollout/reward/overlong" in m for m in run.metrics() if m["stage"] == "train")
    assert {step for step, _ in read_kept_groups(run.samples_file)} == {1, config.steps}


def read_kept_groups(file: Path) -> dict[tuple[int, int], str]:
    """The last complete line of each kept group."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.endswith("}]}"):
            group = json.loads(line)
            found[group["step"], group["group"]] = line
    return found


def place(entry: dict[str, Any]) -> tuple[str, int]:
    return entry["stage"], entry["step"]
