"""Evaluations before and after training, and of the control, use the run's engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gymposium.games.registry import load_game
from gymposium.players.random import RandomPlayer
from gymposium.plugins.host import host
from gymposium_train.config.reading import build_config
from gymposium_train.config.writing import config_to_data
from gymposium_train.run import measures
from gymposium_train.run.start import start_run

PLUGIN = """
from gymposium import EngineSpec, hookimpl
from gymposium.util.settings import NoSettings

REPLACES = True
OPEN = []
MADE = []


def make(start, settings):
    from safetensors.torch import load_file

    from gymposium_agents.models.loading import load_model

    engine = load_model(start.model, trust=start.trust).engine()
    note = {"model": start.model, "adapters": [], "weights": [], "replies": 0, "for_run": start.is_for_run}
    MADE.append(note)
    OPEN.append(engine)
    assert len(OPEN) == 1, "two engines at the same time"
    load, publish, generate = engine.load, engine.publish, engine.generate

    def noted_publish(directory, policy):
        note["adapters"].append(str(directory))
        publish(directory, policy)

    def noted_generate(requests, sampling):
        note["replies"] += len(requests)
        return generate(requests, sampling)

    def replace_weights(directory, policy):
        note["weights"].append(str(policy))
        engine.model.load_state_dict(load_file(directory / "model.safetensors"), strict=False)  # tied ones once
        engine.weights_changed(policy)

    engine.publish, engine.generate = noted_publish, noted_generate
    if REPLACES:
        engine.replace_weights = replace_weights
    engine.close = lambda: OPEN.remove(engine)
    return engine


@hookimpl
def gymposium_engines():
    yield EngineSpec(
        name="noted", summary="Notes its models.", entry_point="noted_engine:make",
        settings="gymposium.util.settings:NoSettings", all_weights=True,
    )
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "noted_engine.py").write_text(PLUGIN)
    host().load_file(tmp_path / "noted_engine.py")
    yield sys.modules["noted_engine"]
    sys.modules.pop("noted_engine")
    host.cache_clear()


def test_run_is_evaluated_by_its_engine(
    plugin: Any, tmp_path: Path, quick_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: released.append(len(plugin.MADE)))
    config = quick_config("steps=1", "cold_start.steps=20", "control=true", "evaluation.every=1")
    data = {**config_to_data(config), "engine": {"kind": "noted"}}
    run = start_run(tmp_path / "run", build_config(data))
    shared, control = plugin.MADE
    assert plugin.OPEN == []
    assert [made["model"] for made in plugin.MADE] == [str(run.cold_start), str(run.control)]
    *published, result = shared["adapters"]
    assert len(published) == 2
    assert all(path.startswith(str(run.path / "versions")) for path in published)
    assert (result, control["adapters"]) == (str(run.adapter), [])
    assert all(made["replies"] > 0 and made["for_run"] for made in plugin.MADE)
    assert {0, 1} <= {*released}  # before each engine is made
    evaluations = run.results()["evaluations"]
    assert {"cold start", "trained", "control"} <= evaluations.keys()


@pytest.mark.parametrize("replaces", [True, False])
def test_run_of_all_weights_is_evaluated_by_its_engine(
    plugin: Any, tmp_path: Path, quick_config: Any, monkeypatch: pytest.MonkeyPatch, *, replaces: bool
) -> None:
    """An engine whose weights cannot be replaced is made again."""
    monkeypatch.setattr(plugin, "REPLACES", replaces)
    config = quick_config(
        "steps=1", "cold_start.steps=5", "control=true", "evaluation.every=0", without=("evaluation.curve_matches",)
    )
    data = config_to_data(config)
    data = {**data, "engine": {"kind": "noted"}, "model": {"small": data["model"]["small"], "tune": "full"}}
    run = start_run(tmp_path / "run", build_config(data))
    assert plugin.OPEN == []
    after = [] if replaces else [run.model]
    assert [made["model"] for made in plugin.MADE] == [*map(str, [run.cold_start, *after, run.control])]
    published = ["learner", "learner", "learner.model"] if replaces else []
    assert [name.rpartition("-")[0] for name in plugin.MADE[0]["weights"]] == published
    assert {"cold start", "trained", "control"} <= run.results()["evaluations"].keys()
    assert not (run.path / "versions" / ".weights").exists()


def test_evaluations_follow_the_schedule_of_the_engine(quick_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `streaming`, no match waits for the slowest reply of another."""
    given: dict[str, Any] = {}

    def evaluate(*players: Any, **options: Any) -> Any:
        given.update(options)
        return SimpleNamespace(overall=SimpleNamespace(as_dict=dict))

    monkeypatch.setattr(measures, "evaluate_player", evaluate)
    config = quick_config("engine.kind=own", "engine.schedule=streaming")
    game = load_game("kuhn_poker")
    run: Any = SimpleNamespace(config=config, games=(game,))
    measures._evaluate_player(run, RandomPlayer(), game, "random", 2, "trained", lambda played: None)
    assert given["schedule"] == "streaming"
