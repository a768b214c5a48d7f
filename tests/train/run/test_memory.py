"""Memory of a run: estimates, the chosen layout, and suggestions to make it fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import change_config
from gymposium_train.run import memory as room
from gymposium_train.run.memory import choose_layout, estimate_memory, find_fitting_settings


def config(model: Path, *given: str) -> TrainConfig:
    return change_config(TrainConfig(games=("tic_tac_toe",)), f'model.name="{model}"', "prompting.max_tokens=8", *given)


def limit_device_memory(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "get_device_memory", lambda device: size)


def read_layout(found: TrainConfig) -> tuple[Any, Any]:
    return found.optimizer.layout, found.optimizer.checkpointing


def test_layout_follows_model_and_memory(model_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = config(model_directory)
    assert read_layout(mine) == (None, None)
    sizes = {}
    for how in (("shared", "false"), ("packed", "false"), ("packed", "true")):
        given = change_config(mine, f"optimizer.layout={how[0]}", f"optimizer.checkpointing={how[1]}")
        sizes[how] = estimate_memory(given).total
        assert choose_layout(given) is given
    assert sizes["packed", "true"] < min(sizes["packed", "false"], sizes["shared", "false"])
    limit_device_memory(2 * max(sizes.values()), monkeypatch)
    assert read_layout(choose_layout(mine)) == ("shared", False)
    limit_device_memory(2 * max(sizes.values()) - 2, monkeypatch)
    assert read_layout(choose_layout(mine))[0] == "packed" or sizes["packed", "false"] > sizes["shared", "false"]
    limit_device_memory(1, monkeypatch)
    assert read_layout(choose_layout(mine)) == ("packed", True)
    assert read_layout(choose_layout(change_config(mine, "optimizer.checkpointing=false"))) == ("packed", False)
    assert read_layout(choose_layout(change_config(mine, "optimizer.layout=padded"))) == ("padded", True)


def test_distributed_runs_pack_and_small_models_share(model_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_layout(choose_layout(TrainConfig(games=("tic_tac_toe",)))) == ("shared", False)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert read_layout(choose_layout(TrainConfig(games=("tic_tac_toe",)))) == ("packed", False)
    assert read_layout(choose_layout(config(model_directory))) == ("packed", False)


def test_reference_and_own_engine_add_weights(model_directory: Path) -> None:
    plain = estimate_memory(config(model_directory, "model.tune=full", "kl.weight=0"))
    held = estimate_memory(config(model_directory, "model.tune=full", "kl.weight=0.1", "engine.kind=own"))
    assert (plain.reference, plain.engine) == (0, 0)
    assert held.reference == held.engine == plain.learner.trained * 4
    assert held.total == plain.total + held.reference + held.engine


def test_suggests_settings_that_fit(model_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = config(model_directory, "optimizer.layout=packed", "optimizer.checkpointing=false")
    fewer = estimate_memory(change_config(mine, "optimizer.checkpointing=true"))
    assert estimate_memory(mine).fits
    limit_device_memory(round(fewer.total / 0.9) + 1_000_000, monkeypatch)
    assert not estimate_memory(mine).fits
    found = find_fitting_settings(mine)
    assert found is not None
    settings, needed = found
    assert settings == "optimizer.checkpointing=true optimizer.layout=packed"
    assert needed.fits
    limit_device_memory(1_000, monkeypatch)
    assert find_fitting_settings(mine) is None
