"""Trunk plus head reproduce the model's logits, or the model is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    CohereConfig,
    Gemma2Config,
    GPT2Config,
    GraniteConfig,
    LlamaConfig,
    OPTConfig,
    OPTForCausalLM,
)

from gymposium.errors import GymposiumError
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.config import Optimizer
from gymposium_train.learner import LocalLearner, layouts
from gymposium_train.learner.layouts import WORTH_SHARING
from gymposium_train.learner.trunk import Trunk

SMALL: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "bos_token_id": None,
    "eos_token_id": 1,
    "pad_token_id": 0,
}
CONFIGS = {
    "plain": LlamaConfig(**SMALL, tie_word_embeddings=False),
    "capped": Gemma2Config(**SMALL, final_logit_softcapping=0.05),
    "scaled": CohereConfig(**{k: v for k, v in SMALL.items() if k != "head_dim"}, logit_scale=3.0),
    "divided": GraniteConfig(**{k: v for k, v in SMALL.items() if k != "head_dim"}, logits_scaling=0.25),
    "no mask by positions": OPTConfig(
        vocab_size=96,
        hidden_size=16,
        word_embed_proj_dim=16,
        ffn_dim=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        dropout=0.0,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
        init_std=0.2,
    ),
    "other names": GPT2Config(vocab_size=96, n_positions=64, n_embd=16, n_layer=1, n_head=2, eos_token_id=1),
}
PAIRS = [((5, 6, 7), (8, 9)), ((5, 6, 11), (12, 1)), ((5, 3), (4,))]


def make_model(kind: str) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(CONFIGS[kind]).eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for parameter in model.get_output_embeddings().parameters():
            parameter.mul_(20.0)  # so that a cap or a scale makes a difference
    return model


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("layout", ["shared", "padded", "packed"])
def test_scores_match_the_model(kind: str, layout: Any) -> None:
    model = make_model(kind)
    expected = []
    for prompt, said in PAIRS:
        with torch.no_grad():
            scores = torch.log_softmax(model(torch.tensor([prompt + said])).logits[0].float(), dim=-1)
        expected.append([float(scores[len(prompt) + n - 1, token]) for n, token in enumerate(said)])
    found = LocalLearner(model, 0, Optimizer(layout=layout)).score(PAIRS)
    assert found == [pytest.approx(one, abs=1e-4) for one in expected]


@pytest.mark.parametrize(("rules", "passes"), [(20, 1), (200, 3)])
def test_prefixes_are_shared_if_that_saves_enough_tokens(
    rules: int, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "WORTH_SHARING", WORTH_SHARING)
    model = make_model("plain")
    pairs = [((*(1 + place % 90 for place in range(rules)), 1 + n, 2), (3, 4)) for n in range(8)]
    learner = LocalLearner(model, 0, Optimizer(layout="shared"))
    runs: list[Any] = []
    model.model.register_forward_hook(lambda *found: runs.append(found))
    shared = learner.score(pairs)
    assert len(runs) == passes
    padded = LocalLearner(model, 0, Optimizer(layout="padded")).score(pairs)
    for one, other in zip(shared, padded, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_detects_architectures_that_support_packing(dtype: torch.dtype) -> None:
    trunks = {kind: Trunk(make_model(kind).to(dtype)) for kind in CONFIGS}
    assert {kind for kind, trunk in trunks.items() if trunk.pack("dense")} == CONFIGS.keys() - {"no mask by positions"}
    assert all(trunk.pack("auto") for trunk in trunks.values())
    # transformers runs an architecture with capped attention scores by its own implementation, without blocks
    assert {kind for kind, trunk in trunks.items() if trunk.attention == "dense"} == {"capped"}


def test_refuses_architectures_with_extra_steps(loaded: LoadedModel) -> None:
    def doubled(module: Any, inputs: Any, out: Any) -> Any:
        out.logits = 2.0 * out.logits
        return out

    base = loaded.model.get_base_model()
    assert isinstance(base, OPTForCausalLM)
    base.register_forward_hook(doubled)
    with pytest.raises(GymposiumError, match="operations between its hidden states and its output layer"):
        LocalLearner(loaded.model, loaded.pad, Optimizer())
