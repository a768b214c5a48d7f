"""A run in bfloat16 learns and saves the same as one in float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gymposium_train.backends.models import load_for_reinforcement
from gymposium_train.config.directory import RunDirectory
from gymposium_train.run.start import start_run

OVERRIDES = (
    "model.tune=full",
    "credit.kind=rae",
    "steps=2",
    "cold_start.steps=10",
    "cold_start.learning_rate=1e-6",
    "cold_start.matches=40",
    "optimizer.learning_rate=1e-6",
    "optimizer.warmup_steps=0",
    'evaluation={opponents=["random"],matches=4}',
)


def compute_changed_share(before: Path, after: Path) -> float:
    """The share of weights that differ between two model directories."""
    found = [load_file(place / "model.safetensors") for place in (before, after)]
    for tensors in found:
        tensors.pop("model.decoder.embed_positions.weight")  # short rows have few of the positions
    assert {tensor.dtype for tensors in found for tensor in tensors.values()} == {torch.float32}
    changed = sum(int((found[1][name] != tensor).sum()) for name, tensor in found[0].items())
    return changed / sum(tensor.numel() for tensor in found[0].values())


@pytest.mark.slow
def test_stages_preserve_learned_weights(quick_config: Any, tmp_path: Path) -> None:
    shares = {}
    for precision in ("fp32", "bf16"):
        config = quick_config(*OVERRIDES, f"optimizer.precision={precision}", without=("model.lora",))
        run: RunDirectory = start_run(tmp_path / precision, config)
        shares[precision] = [
            compute_changed_share(run.base, run.cold_start),
            compute_changed_share(run.cold_start, run.model),
        ]
    assert shares["fp32"][0] > 0.95
    assert shares["fp32"][1] > 0.95
    assert shares["bf16"] == pytest.approx(shares["fp32"], abs=0.01)


@pytest.mark.slow
def test_lora_trains_on_a_16_bit_base(quick_config: Any, tmp_path: Path) -> None:
    config = quick_config(
        "steps=1",
        "credit.kind=rae",
        "cold_start.steps=10",
        "cold_start.matches=40",
        "optimizer.precision=bf16",
        "engine.kind=own",
    )
    run = start_run(tmp_path / "run", config)
    weights = load_file(run.adapter / "adapter_model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    assert any(float(tensor.abs().max()) > 0 for name, tensor in weights.items() if "lora_B" in name)
    types = {name: p.dtype for name, p in load_for_reinforcement(config, run.cold_start).model.named_parameters()}
    assert {dtype for name, dtype in types.items() if "lora_" not in name} == {torch.bfloat16}


@pytest.mark.slow
def test_imitated_lora_is_merged_in_float32(quick_config: Any, tmp_path: Path) -> None:
    """Each layer changes by a matrix of the LoRA's rank; embeddings stay. The control goes on in the same way."""
    config = quick_config(
        "steps=1",
        "control=true",
        "cold_start.steps=10",
        "cold_start.matches=40",
        "cold_start.tune=lora",
        "optimizer.precision=bf16",
    )
    run = start_run(tmp_path / "run", config)
    assert not (run.cold_start / "adapter").exists()
    base, taught, control = (
        load_file(place / "model.safetensors") for place in (run.base, run.cold_start, run.control)
    )
    assert {tensor.dtype for tensor in taught.values()} == {torch.float32}
    for before, after in ((base, taught), (taught, control)):
        ranks = {
            name: int(torch.linalg.matrix_rank(after[name] - tensor, rtol=1e-3))
            for name, tensor in before.items()
            if tensor.ndim == 2 and not torch.equal(tensor, after[name])
        }
        assert len(ranks) == 12  # all linear layers but the output
        assert set(ranks.values()) == {4}
        assert not any("embed" in name for name in ranks)
