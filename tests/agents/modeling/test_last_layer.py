"""A last layer that runs only at some places has the hidden states, caches and gradients of the whole layer."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    DynamicCache,
    GPT2Config,
    LlamaConfig,
    LlamaForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    PreTrainedConfig,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from gymposium_agents.modeling.last_layer import select_places

SIZE: dict[str, Any] = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
GROUPED = {**SIZE, "intermediate_size": 24, "num_key_value_heads": 2, "max_position_embeddings": 64}
OPT = OPTConfig(**SIZE, ffn_dim=24, word_embed_proj_dim=16, max_position_embeddings=64)
MODELS: list[tuple[type[Any], PreTrainedConfig]] = [
    (OPTForCausalLM, OPT),
    (LlamaForCausalLM, LlamaConfig(**GROUPED)),
    (Qwen2ForCausalLM, Qwen2Config(**GROUPED)),
    (Qwen3ForCausalLM, Qwen3Config(**GROUPED, head_dim=8)),
    (Qwen3ForCausalLM, Qwen3Config(**GROUPED, head_dim=8, layer_types=["full_attention", "sliding_attention"])),
]
PLACES = torch.tensor([[1, 5], [3, 3], [0, 8]])


@pytest.fixture(params=MODELS, ids=lambda one: one[1].model_type)
def model(request: pytest.FixtureRequest) -> Any:
    kind, config = request.param
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()):
        config = deepcopy(config)
        config.sliding_window = 4
    torch.manual_seed(0)
    return kind(config).eval()


def run(model: Any, *, places: Tensor | None, mask: Tensor | None = None, cached: int = 0) -> Tensor:
    """The hidden states of three rows of nine tokens at `places`, after `cached` tokens."""
    ids = torch.randint(3, 50, (3, 9 + cached), generator=torch.Generator().manual_seed(1))
    cache = DynamicCache()
    if cached:
        model(input_ids=ids[:, :cached], past_key_values=cache)
    found = model.get_decoder()(
        input_ids=ids[:, cached:],
        attention_mask=mask,
        past_key_values=cache,
        use_cache=True,
        **({} if places is None else select_places(model, places)),
    )
    states: Tensor = found.last_hidden_state
    return states


@pytest.mark.parametrize("cached", [0, 4])
@pytest.mark.parametrize("padded", [False, True])
def test_states_and_gradients_match_the_whole_layer(model: Any, cached: int, *, padded: bool) -> None:
    mask = torch.ones(3, 9 + cached, dtype=torch.long) if padded else None
    if mask is not None:
        mask[1, :2] = 0  # a left-padded row
    found, gradients = [], []
    for places in (None, PLACES):
        states = run(model, places=places, mask=mask, cached=cached)
        states = states[torch.arange(3)[:, None], PLACES] if places is None else states
        model.zero_grad()
        states.square().sum().backward()  # type: ignore[no-untyped-call]
        found.append(states)
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(found[1], found[0], atol=2e-6, rtol=1e-5)
    for here, there in zip(*gradients, strict=True):
        torch.testing.assert_close(here, there, atol=1e-4, rtol=1e-4)


def test_feed_forward_runs_at_the_places_only(model: Any) -> None:
    layer = model.get_decoder().layers[-1]
    norm = layer.final_layer_norm if hasattr(layer, "final_layer_norm") else layer.post_attention_layernorm
    seen: list[int] = []
    norm.register_forward_hook(lambda module, inputs, output: seen.append(output.numel() // output.shape[-1]))
    run(model, places=PLACES)
    run(deepcopy(model), places=None)
    assert seen == [6, 27]


GPT2: Any = GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=4)
AFTER: Any = OPTConfig(**SIZE, ffn_dim=24, word_embed_proj_dim=16, do_layer_norm_before=False)
AUTO: Any = AutoModelForCausalLM
OTHERS: dict[str, Any] = {
    "gpt2": lambda: AUTO.from_config(GPT2).eval(),
    "norms after": lambda: AUTO.from_config(AFTER).eval(),
    "in training": lambda: AUTO.from_config(OPT).train(),
    "eager attention": lambda: AUTO.from_config(OPT, attn_implementation="eager").eval(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_run_the_whole_layer(name: str) -> None:
    model = OTHERS[name]()
    assert select_places(model, PLACES) == {}
    assert run(model, places=PLACES).shape == (3, 9, 16)
