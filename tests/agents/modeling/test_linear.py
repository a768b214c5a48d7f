"""Linear layers for processors with slow MKL match `nn.Linear`, and the engine uses them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from gymposium_agents.chat.tokens import Policy, Sampling, TokenRequest
from gymposium_agents.modeling import linear
from gymposium_agents.modeling.linear import FastLinear
from gymposium_agents.models.loading import load_model

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="PyTorch was built without oneDNN")


class OperatorRecorder(TorchDispatchMode):
    """Notes the names of the operators that run."""

    names: frozenset[str] = frozenset()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names |= {func.name()}
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("bias", [False, True])
def test_products_match_nn_linear(*, bias: bool) -> None:
    torch.manual_seed(0)
    layer = FastLinear(96, 200, bias=bias)
    states = torch.randn(3, 400, 96)
    with torch.inference_mode(), OperatorRecorder() as used:
        found = layer(states)
    assert "mkldnn::_linear_pointwise" in used.names
    expected = nn.functional.linear(states, layer.weight, layer.bias)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_gradients_flow_outside_inference_mode() -> None:
    layer = FastLinear(96, 200)
    layer(torch.randn(1200, 96)).sum().backward()
    assert layer.weight.grad is not None


def test_engine_uses_fast_linear_layers(
    model_directory: Path, adapter_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [TokenRequest((3, 4, 5 + n), random.Random(n)) for n in range(4)]

    def sampled() -> list[float]:
        engine = load_model(model_directory, adapter_directory).engine(Policy("learner"))
        return [lp for one in engine.generate(requests, Sampling(0.0, 4)) for lp in one.logprobs]

    with monkeypatch.context() as patch:
        patch.setattr(linear, "is_mkl_slow", lambda: False)
        expected = sampled()
    monkeypatch.setattr(linear, "is_mkl_slow", lambda: True)
    monkeypatch.setattr(linear, "WORTH_ONEDNN", 1)
    with OperatorRecorder() as used:
        assert sampled() == pytest.approx(expected, abs=1e-5)
    assert "mkldnn::_linear_pointwise" in used.names
    assert "aten::linear" not in used.names  # the layers of the LoRA are among them
