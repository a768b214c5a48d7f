"""Parameter counts computed without torch match the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.small import make_small_config


@pytest.mark.parametrize(
    "size",
    [
        SmallModel(),
        SmallModel(hidden=64, layers=1, heads=2, feed_forward=100, vocabulary=300),
        SmallModel(prose=True, layers=3),
    ],
)
@pytest.mark.parametrize("some", [False, True])
def test_parameter_counts_match_the_built_model(size: SmallModel, some: bool) -> None:
    targets = ("q_proj", "down_proj" if size.prose else "fc2") if some else None
    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(make_small_config(size, 300))  # type: ignore[no-untyped-call]
        assert sum(parameter.numel() for parameter in model.parameters()) == size.parameters(300)
        tuned = attach_lora(model, rank=4, alpha=8, seed=0, targets=targets)
    trained = sum(parameter.numel() for parameter in tuned.parameters() if parameter.requires_grad)
    assert trained == size.lora_parameters(4, targets)
