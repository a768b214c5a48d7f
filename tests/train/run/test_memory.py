"""Memory of a run: estimates, the chosen layout, and suggestions to make it fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import LoadedModel, load_skeleton
from gymposium_train.backends.models import load_run_model
from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import change_config
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.run import memory as room
from gymposium_train.run.memory import LearningDevices, estimate_memory
from gymposium_train.run.passes import choose_parallel, choose_passes, find_fitting_settings


def config(model: Path, *given: str) -> TrainConfig:
    return change_config(TrainConfig(games=("tic_tac_toe",)), f'model.name="{model}"', "prompting.max_tokens=8", *given)


def limit_device_memory(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "get_device_memory", lambda device: size)


def read_layout(found: TrainConfig) -> tuple[Any, Any]:
    return found.optimizer.layout, found.optimizer.checkpointing


@pytest.mark.slow
def test_layout_follows_model_and_memory(model_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = config(model_directory)
    assert read_layout(mine) == (None, None)
    sizes = {}
    for how in (("shared", "false"), ("packed", "false"), ("packed", "true")):
        given = change_config(mine, f"optimizer.layout={how[0]}", f"optimizer.checkpointing={how[1]}")
        sizes[how] = estimate_memory(given).total
        complete = change_config(given, "optimizer.token_budget=4096")
        assert choose_passes(complete) is complete
    assert sizes["packed", "true"] < min(sizes["packed", "false"], sizes["shared", "false"])
    limit_device_memory(2 * max(sizes.values()), monkeypatch)
    assert read_layout(choose_passes(mine)) == ("shared", False)
    limit_device_memory(2 * max(sizes.values()) - 2, monkeypatch)
    assert read_layout(choose_passes(mine))[0] == "packed" or sizes["packed", "false"] > sizes["shared", "false"]
    limit_device_memory(1, monkeypatch)
    assert read_layout(choose_passes(mine)) == ("packed", True)
    assert read_layout(choose_passes(change_config(mine, "optimizer.checkpointing=false"))) == ("packed", False)
    assert read_layout(choose_passes(change_config(mine, "optimizer.layout=padded"))) == ("padded", True)


def test_distributed_runs_pack_and_small_models_share(model_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_layout(choose_passes(TrainConfig(games=("tic_tac_toe",)))) == ("shared", False)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert read_layout(choose_passes(TrainConfig(games=("tic_tac_toe",)))) == ("packed", False)
    assert read_layout(choose_passes(config(model_directory))) == ("packed", False)


def test_reference_and_own_engine_add_weights(model_directory: Path) -> None:
    plain = estimate_memory(config(model_directory, "model.tune=full", "kl.weight=0"))
    held = estimate_memory(config(model_directory, "model.tune=full", "kl.weight=0.1", "engine.kind=own"))
    assert (plain.reference, plain.engine) == (0, 0)
    assert held.reference == held.engine == plain.learner.trained * 4
    assert held.total == plain.total + held.reference + held.engine


@pytest.mark.parametrize("tune", ["lora", "full"])
def test_averaged_reference_is_kept_in_float32(model_directory: Path, tune: str) -> None:
    """The estimate is what the learner holds."""
    settings = (f"model.tune={tune}", "model.lora.rank=4", "kl.weight=0.1", "kl.refresh=1", "optimizer.precision=bf16")
    for share, size in (("1.0", 2), ("0.1", 4)):
        mine = config(model_directory, *settings, f"kl.refresh_share={share}")
        estimated = estimate_memory(mine)
        assert estimated.reference == size * estimated.learner.trained
        loaded = load_run_model(mine, model_directory)
        if tune == "lora":
            loaded = LoadedModel(attach_lora(loaded.model, rank=4, alpha=8, seed=1), loaded.chat)
        learner = LocalLearner(loaded.model, loaded.pad, mine.optimizer, loss=Loss.from_config(mine))
        assert learner.reference is not None
        held = sum(weights.nbytes for weights in learner.reference.weights.values())
        assert held == estimated.reference


@pytest.mark.slow
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


GIB = 2**30


def find_passes(found: TrainConfig) -> tuple[Any, Any, Any]:
    optimizer = found.optimizer
    return optimizer.layout, optimizer.checkpointing, optimizer.token_budget


@pytest.mark.slow
def test_gpus_pack_rows_and_size_passes_from_memory(model_directory: Path) -> None:
    mine = config(model_directory)
    packed = change_config(mine, "optimizer.layout=packed")
    needed = estimate_memory(packed, devices=LearningDevices(True, GIB))
    spare = needed.learner.activations + needed.learner.logits

    def passes(memory: int, *given: str, is_gpu: bool = True) -> tuple[Any, Any, Any]:
        return find_passes(choose_passes(change_config(mine, *given), LearningDevices(is_gpu, memory)))

    assert passes(1_000 * GIB) == ("packed", False, 65_536)
    assert passes(1_000 * GIB, is_gpu=False) == ("shared", False, 4_096)
    assert passes(1_000 * GIB, "optimizer.token_budget=500") == ("packed", False, 500)
    assert passes(1) == ("packed", True, 1_024)
    layout, checkpointing, tokens = passes(2 * (needed.resting + max(4 * spare, needed.cache)))
    assert (layout, checkpointing) == ("packed", False)
    assert 4_096 < tokens <= 65_536
    chosen = change_config(packed, f"optimizer.token_budget={tokens}")
    most = needed.resting + max(4.2 * spare, needed.cache)
    assert estimate_memory(chosen, devices=LearningDevices(True, GIB)).total <= most


def test_memory_of_a_vllm_server_is_left_out(model_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_device_memory(80 * GIB, monkeypatch)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    share = 'engine.arguments=["--gpu-memory-utilization", "0.4"]'
    for given, memory in ((("engine.kind=own",), 80), (("engine.kind=vllm", share), 48)):
        found = LearningDevices.find(change_config(TrainConfig(games=("tic_tac_toe",)), *given, "model.tune=lora"))
        assert found == LearningDevices(True, memory * GIB, 1)
    apart = ("engine.kind=vllm", share, 'engine.devices=["1"]', "model.tune=lora")
    assert LearningDevices.find(change_config(TrainConfig(games=("tic_tac_toe",)), *apart)).memory == 80 * GIB


def test_small_models_with_a_lora_are_replicated(model_directory: Path) -> None:
    size = sum(p.numel() * p.element_size() for p in load_skeleton(model_directory).parameters())

    def parallel(memory: float, *given: str, processes: int = 2) -> Any:
        devices = LearningDevices(True, round(memory), processes)
        return choose_parallel(config(model_directory, *given), devices).optimizer.parallel

    assert parallel(5 * size, "model.tune=lora") == "replicate"
    assert parallel(3 * size, "model.tune=lora") == "shard"
    assert parallel(5 * size, "model.tune=full") == "shard"
    assert parallel(3 * size, "model.tune=lora", "optimizer.parallel=replicate") == "replicate"
    assert parallel(5 * size, "model.tune=lora", processes=1) is None


@pytest.mark.slow
def test_processes_share_the_memory_of_a_sharded_model(model_directory: Path) -> None:
    mine = config(model_directory, "model.tune=full", "kl.weight=0.1", "optimizer.layout=packed")
    alone, two, eight = (estimate_memory(mine, 100, LearningDevices(True, GIB, n)) for n in (1, 2, 8))
    assert (two.learner.gradients, two.learner.optimizer) == (
        alone.learner.gradients // 2,
        alone.learner.optimizer // 2,
    )
    assert two.reference == alone.reference // 2
    assert two.learner.weights == alone.learner.weights // 2 + two.learner.gathered
    assert eight.total < two.total
    assert two.learner.activations == alone.learner.activations
    copied = change_config(mine, "optimizer.parallel=replicate")
    assert estimate_memory(copied, 100, LearningDevices(True, GIB, 2)).total == alone.total
