"""Memory estimates count the tensors that an update actually allocates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM

from gymposium_agents.engines.transformers import unwrap_peft
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import load_model, load_skeleton
from gymposium_train.config import Optimizer
from gymposium_train.learner import LocalLearner
from gymposium_train.learner.memory import _measure_peak, estimate_learner_memory
from gymposium_train.learner.rows import Row, Span

from .test_attention import CONFIGS

PROMPT, REPLY, ROWS = 40, 8, 6


def make(*, lora: bool = False, dtype: torch.dtype = torch.float32) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = LlamaForCausalLM(CONFIGS["grouped heads"]).eval().to(dtype)
    return attach_lora(model, rank=4, alpha=8, seed=0).to(dtype) if lora else model


def rows() -> list[Row]:
    span = Span(PROMPT, PROMPT + REPLY, (-1.0,) * REPLY, advantage=1.0, weight=1.0 / ROWS / REPLY)
    return [Row((n, *range(1, PROMPT + REPLY)), (span,)) for n in range(ROWS)]


@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.parametrize(
    "how",
    [
        {"layout": "packed"},
        {"layout": "packed", "checkpointing": True},
        {"layout": "padded", "precision": "bf16"},
        {"layout": "shared"},
    ],
    ids=str,
)
def test_estimates_match_allocated_tensors(how: dict[str, Any], lora: bool) -> None:
    dtype = torch.bfloat16 if how.get("precision") else torch.float32
    settings = Optimizer(epochs=1, minibatches=1, token_budget=ROWS * (PROMPT + REPLY), **how)
    found = estimate_learner_memory(lambda: make(lora=lora, dtype=dtype), settings, prompt=PROMPT, reply=REPLY)
    learner = LocalLearner(make(lora=lora, dtype=dtype), 0, settings)
    learner.update(rows(), learning_rate=1e-3)
    with _measure_peak() as peak:
        learner.update(rows(), learning_rate=1e-3)
    made = found.activations + found.logits
    if not lora or how["layout"] != "shared":  # gradients are made anew
        made += found.gradients
    assert 0.8 * peak() <= made <= 1.25 * peak()
    trained = [*learner._stepper.named.values()]
    assert found.trained == sum(p.numel() for p in trained)
    assert found.gradients == sum(p.numel() * 4 for p in trained)
    state = learner._stepper.optimizer.state
    assert found.optimizer == sum(s[name].numel() * 4 for s in state.values() for name in ("exp_avg", "exp_avg_sq"))
    held = {p.data_ptr(): p.numel() * p.element_size() for p in [*unwrap_peft(learner.model).parameters(), *trained]}
    assert found.weights == sum(held.values())


@pytest.mark.parametrize("tune", ["lora", "full"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_estimates_count_experts(moe_directory: Path, tune: str, dtype: torch.dtype) -> None:
    """PyTorch has no fake product of experts in float32."""

    def make_experts() -> Any:
        model = load_skeleton(moe_directory, dtype=dtype)
        return attach_lora(model, rank=4, alpha=8, seed=0).to(dtype) if tune == "lora" else model

    settings = Optimizer(layout="packed", token_budget=ROWS * (PROMPT + REPLY))
    found = estimate_learner_memory(make_experts, settings, prompt=PROMPT, reply=REPLY)
    parameters = dict(load_model(moe_directory).model.named_parameters())
    total = sum(p.numel() for p in parameters.values())
    experts = sum(p.numel() for name, p in parameters.items() if ".experts." in name)
    assert found.trained < experts if tune == "lora" else found.trained == total
    # each token goes through two experts, whose products are kept: twice 16 and 32 numbers
    assert found.activations > 2 * ROWS * (PROMPT + REPLY) * 2 * (2 * 16 + 32) * dtype.itemsize


def test_estimates_count_4_bit_weights() -> None:
    settings = Optimizer(layout="packed", token_budget=64)
    found, small = (
        estimate_learner_memory(lambda: make(lora=True), settings, prompt=40, reply=8, four_bits=bits)
        for bits in (False, True)
    )
    linear = sum(m.weight.numel() for m in make().get_decoder().modules() if isinstance(m, torch.nn.Linear))
    assert found.weights - small.weights == pytest.approx(linear * (4 - 0.53), rel=1e-3)
