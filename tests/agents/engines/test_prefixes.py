"""Shared prompt prefixes are computed once, and results do not depend on the cache."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, strategies as st
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen3_5ForCausalLM,
    Qwen3_5TextConfig,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from gymposium.errors import GymposiumError
from gymposium_agents.chat.tokens import BASE, Policy, Sampling, TokenRequest
from gymposium_agents.engines.prefixes import BLOCK, plan_groups
from gymposium_agents.engines.transformers import TransformersEngine, unwrap_peft
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import load_model

Tokens = tuple[int, ...]
SIZE: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "initializer_range": 0.15,
    "bos_token_id": None,
    "eos_token_id": 1,
    "pad_token_id": 0,
}
WINDOW = 24
FAMILIES = {
    "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(**SIZE)),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZE)),
    "mistral": lambda: MistralForCausalLM(MistralConfig(**SIZE, sliding_window=WINDOW)),
    "gemma3": lambda: Gemma3ForCausalLM(
        Gemma3TextConfig(
            **SIZE,
            sliding_window=WINDOW,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            query_pre_attn_scalar=8,
        )
    ),
}


def make(family: str, *, lora: bool = False, eager: bool = False) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model: Any = FAMILIES[family]().eval()
        if eager:
            model.set_attn_implementation("eager")
        if lora:
            model = attach_lora(model, rank=4, alpha=8, seed=0)
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    torch.nn.init.normal_(parameter, std=0.1)
    return model


def find_engine(model: Any, **options: Any) -> TransformersEngine:
    policy = Policy("learner") if hasattr(model, "peft_config") else None
    return TransformersEngine(model, stops=frozenset(), pad=0, policy=policy, **options)


def texts(seed: int, rules: int, count: int, longest: int = 40) -> list[Tokens]:
    """Prompts of one game: common rules of a given number of tokens, then different tokens."""
    rng = random.Random(seed)
    head = tuple(rng.choices(range(2, 64), k=rules))
    return [head + tuple(rng.choices(range(2, 64), k=rng.randrange(5, longest))) for _ in range(count)]


def make_requests(prompts: list[Tokens], policy: Policy | None = None) -> list[TokenRequest]:
    return [TokenRequest(prompt, random.Random(f"{i}"), policy) for i, prompt in enumerate(prompts)]


def score_alone(model: Any, prompt: Tokens, completion: Tokens) -> list[float]:
    """Log-probabilities by one pass over each sequence, without sharing and without a cache."""
    with torch.no_grad():
        logits = unwrap_peft(model)(torch.tensor([prompt + completion]), use_cache=False).logits[0].float()
    scores = torch.log_softmax(logits, dim=-1)
    return [scores[len(prompt) - 1 + n, token].item() for n, token in enumerate(completion)]


@contextmanager
def count_tokens(model: Any) -> Iterator[list[int]]:
    """The number of tokens in each forward pass of the model."""
    seen: list[int] = []
    embeddings = unwrap_peft(model).get_input_embeddings()
    hook = embeddings.register_forward_hook(lambda module, given, out: seen.append(given[0].numel()))
    try:
        yield seen
    finally:
        hook.remove()


MIXED = [*texts(1, 200, 12), *texts(2, 150, 9), *texts(3, 0, 3), texts(4, 300, 1)[0], texts(5, 0, 1, 7)[0]]
"""Two games, prompts of no game, a long one and a short one."""


@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_logprobs_match_separate_passes(family: str, *, lora: bool) -> None:
    model = make(family, lora=lora)
    engine = find_engine(model)
    for _ in range(2):  # before and after the prefixes are cached
        for request, completion in zip(
            make_requests(MIXED), engine.generate(make_requests(MIXED), Sampling(1.0, 6)), strict=True
        ):
            expected = score_alone(model, request.prompt, completion.ids)
            assert completion.logprobs == pytest.approx(expected, abs=1e-5)
    pairs = [(prompt, (5, 6, 7)) for prompt in MIXED]
    for (prompt, completion_ids), scores in zip(pairs, engine.score(pairs), strict=True):
        assert scores == pytest.approx(score_alone(model, prompt, completion_ids), abs=1e-5)


def test_sliding_windows_match_in_eager_attention() -> None:
    model = make("gemma3", eager=True)
    (completion,) = find_engine(model).generate(make_requests(MIXED[:1]), Sampling(1.0, 6))
    assert completion.logprobs == pytest.approx(score_alone(model, MIXED[0], completion.ids), abs=1e-5)


def test_refuses_stateful_layers() -> None:
    sizes = {**SIZE, "layer_types": ["linear_attention", "linear_attention", "full_attention"]}
    model = Qwen3_5ForCausalLM(Qwen3_5TextConfig(**sizes)).eval()
    with pytest.raises(GymposiumError, match=r"not linear_attention. Use a vLLM server"):
        find_engine(model).generate(make_requests(MIXED[:2]), Sampling(1.0, 2))


def test_rules_are_computed_once_per_weights() -> None:
    model = make("qwen3", lora=True)
    engine = find_engine(model)
    rules = 6 * BLOCK

    def turn(seed: int) -> int:
        prompts = [texts(1, rules, 1, 6)[0][:rules] + p for p in texts(seed, 0, 16, 20)]
        with count_tokens(model) as seen:
            engine.generate(make_requests(prompts), Sampling(1.0, 1))
        return sum(seen) - 16 * (max(map(len, prompts)) - rules)

    assert [turn(1), turn(2), turn(3)] == [rules, 0, 0]
    engine.weights_changed(Policy("learner", 1))
    assert [turn(4), turn(5)] == [rules, 0]


def test_games_in_one_batch_use_their_own_rules() -> None:
    model = make("qwen3")
    engine = find_engine(model)
    prompts = [*texts(1, 200, 10), *texts(2, 230, 10), *texts(3, 260, 10)]
    engine.generate(make_requests(prompts), Sampling(1.0, 1))
    with count_tokens(model) as seen:
        engine.generate(make_requests(prompts), Sampling(1.0, 1))
    assert sum(seen) < 30 * (40 + BLOCK)
    assert max(seen) <= 10 * (40 + BLOCK)


def test_single_match_reuses_its_own_prefix() -> None:
    model = make("qwen3")
    engine = find_engine(model)
    talk = texts(1, 300, 1)[0]
    engine.generate(make_requests([talk[:200]]), Sampling(1.0, 1))
    with count_tokens(model) as seen:
        engine.generate(make_requests([talk[:260]]), Sampling(1.0, 1))
    assert sum(seen) < 60 + BLOCK


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("lora", [False, True])
def test_cached_prefixes_do_not_change_results(family: str, *, lora: bool) -> None:
    """A run that was killed and resumed computes the same results."""
    model = make(family, lora=lora)
    first, second, small = find_engine(model), find_engine(model), find_engine(model, prefix_tokens=4 * BLOCK)
    first.generate(make_requests(MIXED[::2]), Sampling(1.0, 3))
    first.generate(make_requests(MIXED[:1]), Sampling(1.0, 3))
    known = first.generate(make_requests(MIXED), Sampling(1.0, 6))
    fresh = second.generate(make_requests(MIXED), Sampling(1.0, 6))
    assert [(c.ids, c.logprobs) for c in known] == [(c.ids, c.logprobs) for c in fresh]
    again = second.generate(make_requests(MIXED), Sampling(1.0, 6))
    assert [(c.ids, c.logprobs) for c in again] == [(c.ids, c.logprobs) for c in fresh]
    pairs = [(prompt, (5, 6)) for prompt in MIXED]
    assert first.score(pairs) == find_engine(model).score(pairs)
    # with a smaller cache the plan differs, and so does the rounding
    for one, other in zip(small.generate(make_requests(MIXED), Sampling(1.0, 6)), fresh, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_cache_memory_is_bounded() -> None:
    engine = find_engine(make("llama"), prefix_tokens=8 * BLOCK)
    for seed in range(4):
        engine.generate(make_requests(texts(seed, 100, 8)), Sampling(1.0, 1))
        assert 3 * BLOCK <= len(engine._prefixes) <= 8 * BLOCK
    # longer than the whole cache, so it is not cached
    engine.generate(make_requests(texts(9, 40 * BLOCK // 4, 8)), Sampling(1.0, 1))
    assert len(engine._prefixes) <= 8 * BLOCK


def test_base_and_adapter_do_not_share_prefixes(adapter_directory: Path, model_directory: Path) -> None:
    model = load_model(model_directory, adapter_directory).model
    engine = TransformersEngine(model, stops=frozenset(), pad=0, policy=Policy("tuned"))
    prompts = texts(1, 100, 6)
    scores = {
        policy: engine.score([(prompt, (5, 6)) for prompt in prompts], policy=policy)
        for policy in (BASE, Policy("tuned"))
    }
    plain = load_model(model_directory).model
    for prompt, base, tuned in zip(prompts, scores[BASE], scores[Policy("tuned")], strict=True):
        assert base == pytest.approx(score_alone(plain, prompt, (5, 6)), abs=1e-5)
        assert tuned == pytest.approx(score_alone(model, prompt, (5, 6)), abs=1e-5)
        assert base != pytest.approx(tuned, abs=1e-3)


prompts_of_ids = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 150), st.lists(st.integers(2, 5), min_size=1, max_size=30)).map(
        lambda one: tuple([one[0]] * one[1] + one[2])
    ),
    min_size=1,
    max_size=20,
    unique=True,
)


@given(prompts=prompts_of_ids, capacity=st.integers(0, 400), shuffled=st.randoms(use_true_random=False))
def test_plan_covers_each_prompt_once_after_its_prefix(
    prompts: list[Tokens], capacity: int, shuffled: random.Random
) -> None:
    groups = plan_groups(prompts, capacity)
    assert sorted(prompt for group in groups for prompt in group.prompts) == sorted(prompts)
    for group in groups:
        assert group.prefix % BLOCK == 0
        assert group.prefix < min(map(len, group.prompts))
        assert all(a[: group.prefix] == b[: group.prefix] for a, b in pairwise(group.prompts))
    assert sum({g.prompts[0][: g.prefix]: g.prefix for g in groups}.values()) <= capacity
    again = prompts[:]
    shuffled.shuffle(again)
    assert plan_groups(again, capacity) == groups
