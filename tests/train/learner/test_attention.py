"""Attention in packed sequences matches each sequence alone, without a mask for the whole row."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.agents.modeling.largest_tensor import LargestTensor
from torch import Tensor
from transformers import AutoModelForCausalLM, Gemma3TextConfig, LlamaConfig, MistralConfig, Qwen3Config

from gymposium.errors import BadOption
from gymposium_train.config import Optimizer
from gymposium_train.learner import LocalLearner
from gymposium_train.learner.trunk import Trunk

SIZE: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 4096,
    "bos_token_id": None,
    "eos_token_id": 1,
    "pad_token_id": 0,
    "initializer_range": 0.2,
}
CONFIGS = {
    "grouped heads": LlamaConfig(**SIZE),
    "one head each": LlamaConfig(**SIZE | {"num_key_value_heads": 4}),
    "normed heads": Qwen3Config(**SIZE),
    "windows": MistralConfig(**SIZE, sliding_window=5),
    "some windows": Gemma3TextConfig(
        **SIZE, sliding_window=5, layer_types=["sliding_attention", "full_attention"], query_pre_attn_scalar=8
    ),
}
LENGTHS = (7, 7, 7, 1, 12, 3)


def make_model(kind: str) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return AutoModelForCausalLM.from_config(CONFIGS[kind]).eval()  # type: ignore[no-untyped-call]


def gradients(model: Any, states: Tensor) -> list[Tensor]:
    weights = torch.linspace(0.5, 1.5, states.numel()).reshape(states.shape)
    learned = [p for p in model.get_decoder().parameters() if p.requires_grad]
    return list(torch.autograd.grad((states * weights).sum(), learned))


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("kind", CONFIGS)
def test_packed_states_and_gradients_match_single_sequences(kind: str, checkpointing: bool) -> None:
    model = make_model(kind)
    ids = torch.randint(0, 64, (sum(LENGTHS),), generator=torch.Generator().manual_seed(1))
    alone = torch.cat([model.get_decoder()(part[None], use_cache=False)[0][0] for part in ids.split(LENGTHS)])
    expected = gradients(model, alone)
    trunk = Trunk(model)
    assert trunk.pack("auto")
    assert trunk.attention == "blocks"
    if checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": False})
        model.train()
    states = trunk.packed(ids, LENGTHS)
    torch.testing.assert_close(states, alone, rtol=1e-5, atol=1e-5)
    for mine, other in zip(gradients(model, states), expected, strict=True):
        assert (mine - other).norm() <= 1e-6 * other.norm()


@pytest.mark.parametrize("kind", CONFIGS)
def test_model_is_otherwise_unchanged(kind: str) -> None:
    """An engine may share it: padded batches, caches, generation."""
    model, plain = make_model(kind), make_model(kind)
    assert Trunk(model).pack("auto")
    prompts = torch.tensor([[0, 0, 5, 6, 7, 8, 9, 10], [3, 4, 5, 6, 7, 8, 9, 11]])
    mask = (prompts > 0).long()
    asked = {"input_ids": prompts, "attention_mask": mask, "max_new_tokens": 6, "do_sample": False}
    assert torch.equal(model.generate(**asked), plain.generate(**asked))
    assert model.config.to_diff_dict() == plain.config.to_diff_dict()  # what would be saved


@pytest.mark.parametrize("kind", ["grouped heads", "windows"])
def test_memory_does_not_grow_quadratically_with_row_length(kind: str) -> None:
    trunk = Trunk(make_model(kind))
    sizes = {}
    for attention in ("blocks", "dense"):
        assert trunk.pack(attention)
        with LargestTensor() as largest:
            trunk.packed(torch.arange(2048) % 64, (512, 512, 512, 512)).sum().backward()
        sizes[attention] = largest.nbytes
    assert sizes["blocks"] == 2048 * 48 * 4  # the widest layer's activations
    assert sizes["dense"] >= 2048 * 2048


@pytest.mark.parametrize(
    ("wanted", "device", "dtype", "capability", "expected"),
    [
        ("auto", "cuda", torch.bfloat16, (9, 0), "varlen"),
        ("auto", "cuda", torch.bfloat16, (7, 5), "blocks"),
        ("auto", "cuda", torch.float32, (9, 0), "blocks"),
        ("auto", "cpu", torch.bfloat16, None, "blocks"),
        ("varlen", "cuda", torch.bfloat16, (8, 6), "varlen"),
        ("blocks", "cuda", torch.bfloat16, (9, 0), "blocks"),
        ("dense", "cuda", torch.bfloat16, (9, 0), "dense"),
    ],
)
def test_attention_follows_the_learning_device(
    wanted: Any, device: str, dtype: torch.dtype, capability: Any, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on a copy in CPU memory, which checks the architecture without FlashAttention."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    trunk = Trunk(make_model("grouped heads"))
    assert trunk.pack(wanted, device=torch.device(device), dtype=dtype)
    assert trunk.attention == expected


def test_unsupported_attention_is_refused() -> None:
    with pytest.raises(BadOption, match=r"model.attention = varlen needs .* head size 8 and dtype float32 on cpu"):
        LocalLearner(make_model("grouped heads"), 0, Optimizer(layout="packed"), attention="varlen")


def test_attention_is_chosen_for_the_number_type_of_the_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    """All weights are loaded in float32 and computed in bfloat16."""
    asked: list[torch.dtype] = []

    def choose(model: Any, wanted: Any, device: torch.device, dtype: torch.dtype) -> str:
        asked.append(dtype)
        return "blocks"

    monkeypatch.setattr("gymposium_train.learner.trunk.choose_attention", choose)
    LocalLearner(make_model("grouped heads"), 0, Optimizer(layout="packed", precision="bf16"))
    assert asked == [torch.bfloat16]
