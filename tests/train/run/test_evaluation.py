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

OPEN = []
MADE = []


def make(start, settings):
    from gymposium_agents.models.loading import load_model

    engine = load_model(start.model, trust=start.trust).engine()
    note = {"model": start.model, "adapters": [], "replies": 0, "dtype": start.dtype, "for_run": start.is_for_run}
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

    engine.publish, engine.generate = noted_publish, noted_generate
    engine.close = lambda: OPEN.remove(engine)
    return engine


@hookimpl
def gymposium_engines():
    yield EngineSpec(
        name="noted", summary="Notes its models.", entry_point="noted_engine:make",
        settings="gymposium.util.settings:NoSettings",
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
    before, training, after, control = plugin.MADE
    assert plugin.OPEN == []
    assert [made["model"] for made in plugin.MADE] == [str(run.cold_start)] * 3 + [str(run.control)]
    assert [made["adapters"] for made in (before, after, control)] == [[], [str(run.adapter)], []]
    assert training["adapters"]
    assert all(made["replies"] > 0 and made["for_run"] for made in plugin.MADE)
    assert {0, 1, 2, 3} <= {*released}  # before each engine is made
    evaluations = run.results()["evaluations"]
    assert {"cold start", "trained", "control"} <= evaluations.keys()


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
