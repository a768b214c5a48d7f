"""QLoRA: a LoRA on 4-bit weights learns the same as on dequantized weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train.config import Optimizer
from gymposium_train.credit.protocol import Critic
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.learner.rows import Row

from .conftest import TEMPERATURE

bitsandbytes = pytest.importorskip("bitsandbytes", reason="4-bit weights need the extra gymposium-agents[quantized]")


def attach_nonzero_lora(base: Any) -> Any:
    """A model with a LoRA that is not zero, so that every part of it has a gradient."""
    model = attach_lora(base, rank=4, alpha=8, seed=3)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1, generator=generator)
    return model


@pytest.fixture
def loaded(model_directory: Path) -> LoadedModel:
    base = load_model(model_directory, load="4bit")
    return LoadedModel(attach_nonzero_lora(base.model), base.chat)


@pytest.fixture
def dequantized_model(model_directory: Path) -> LoadedModel:
    """The dequantized numbers in float32."""
    small, whole = load_model(model_directory, load="4bit").model, load_model(model_directory)
    quantized = 0
    for name, layer in small.named_modules():
        if isinstance(layer, bitsandbytes.nn.Linear4bit):
            numbers = bitsandbytes.functional.dequantize_4bit(layer.weight.data, layer.weight.quant_state)
            there = whole.model.get_submodule(name).weight
            assert not torch.equal(numbers, there)
            with torch.no_grad():
                there.copy_(numbers)
            quantized += 1
    assert quantized == 12  # all linear layers but the output
    return LoadedModel(attach_nonzero_lora(whole.model), whole.chat)


def learner(loaded: LoadedModel, **how: Any) -> LocalLearner:
    settings = Optimizer(**{"epochs": 1, "minibatches": 1, "max_grad_norm": 1e9, **how})
    return LocalLearner(loaded.model, loaded.pad, settings, loss=Loss(critic=Critic(), temperature=TEMPERATURE))


def gradient(mine: LocalLearner, rows: list[Row]) -> tuple[torch.Tensor, dict[str, float]]:
    metrics = mine.update(mine.annotate(rows), learning_rate=0.0, entropy_weight=0.05)
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in mine.named.values())
    return torch.cat([p.grad.flatten() for p in mine.named.values() if p.grad is not None]), metrics


@pytest.mark.parametrize(
    "how",
    [{"layout": "shared"}, {"layout": "packed", "token_budget": 200}, {"layout": "padded", "checkpointing": True}],
    ids=str,
)
def test_gradients_match_dequantized_weights(
    loaded: LoadedModel, dequantized_model: LoadedModel, rows: list[Row], how: dict[str, Any]
) -> None:
    """The engine with the same bits, which sampled the rows, agrees with the learner."""
    expected, _ = gradient(learner(dequantized_model, layout="padded"), rows)
    found, metrics = gradient(learner(loaded, **how), rows)
    assert float((found - expected).norm() / expected.norm()) < 1e-5
    assert metrics["train/first_log_ratio"] <= 1e-4


def test_only_the_adapter_changes(loaded: LoadedModel, rows: list[Row]) -> None:
    before = {name: p.detach().clone() for name, p in loaded.model.named_parameters()}
    mine = learner(loaded)
    for seed in range(3):
        mine.update(mine.annotate(rows), learning_rate=1e-2, seed=seed)
    moved = {name for name, p in loaded.model.named_parameters() if not torch.equal(p, before[name])}
    assert moved == {name for name in before if "lora_" in name}
    pairs = [(row.ids[: row.spans[0].start], row.ids[row.spans[0].start :]) for row in rows]
    for learned, played in zip(mine.score(pairs), loaded.engine().score(pairs), strict=True):
        assert learned == pytest.approx(played, abs=1e-5)
