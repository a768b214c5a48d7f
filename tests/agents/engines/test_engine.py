"""The engine samples from the same distribution as transformers and reports logprobs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import DynamicCache

from gymposium.errors import GymposiumError
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest
from gymposium_agents.engines.transformers import GROWTH, PART, TransformersEngine, sample_tokens
from gymposium_agents.modeling.caches import compute_bytes_per_token
from gymposium_agents.modeling.forward import PrefilledBatch, extend_batch
from gymposium_agents.models.loading import LoadedModel, load_model

PROMPTS = ["x . o\n. . .\n. . .", "x . o\n. x .\n. . .", "card K\nmoves none", "card J\nmoves pass bet", "b2"]


def requests(loaded: LoadedModel, texts: list[str]) -> list[TokenRequest]:
    return [TokenRequest(loaded.chat.prompt(text), random.Random(i)) for i, text in enumerate(texts)]


@pytest.mark.parametrize("with_adapter", [False, True])
def test_greedy_decoding_matches_transformers(
    model_directory: Path, adapter_directory: Path, *, with_adapter: bool
) -> None:
    loaded = load_model(model_directory, adapter_directory if with_adapter else None)
    completions = loaded.engine().generate(requests(loaded, PROMPTS), Sampling(0.0, 6))
    for text, completion in zip(PROMPTS, completions, strict=True):
        prompt = torch.tensor([loaded.chat.prompt(text)])
        with torch.no_grad():
            expected = loaded.model.generate(
                input_ids=prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=6, do_sample=False
            )[0, prompt.shape[1] :]
        assert list(completion.ids) == expected.tolist()


def test_adapter_changes_the_completions(model_directory: Path, adapter_directory: Path) -> None:
    plain, tuned = load_model(model_directory), load_model(model_directory, adapter_directory)
    before, after = (m.engine().generate(requests(m, PROMPTS), Sampling(0.0, 6)) for m in (plain, tuned))
    assert [c.ids for c in before] != [c.ids for c in after]


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_logprobs_match_the_sampled_tokens(tiny: LoadedModel, temperature: float) -> None:
    asked = requests(tiny, PROMPTS * 4)
    for request, completion in zip(asked, tiny.engine().generate(asked, Sampling(temperature, 5)), strict=True):
        with torch.no_grad():
            logits = tiny.model(torch.tensor([request.prompt + completion.ids])).logits[0].float()
        scores = torch.log_softmax(logits / temperature, dim=-1)
        first = len(request.prompt) - 1
        for step, (token, logprob) in enumerate(zip(completion.ids, completion.logprobs, strict=True)):
            assert scores[first + step, token].item() == pytest.approx(logprob, abs=1e-5)


def test_batching_does_not_change_completions(tiny: LoadedModel) -> None:
    together = tiny.engine().generate(requests(tiny, PROMPTS * 3), Sampling(1.0, 5))
    alone: list[Completion] = []
    for request in requests(tiny, PROMPTS * 3):
        alone += tiny.engine().generate([request], Sampling(1.0, 5))
    assert [c.ids for c in together] == [c.ids for c in alone]


def test_samples_follow_the_distribution(tiny: LoadedModel) -> None:
    prompt = tiny.chat.prompt("x . o")
    n = 4000
    asked = [TokenRequest(prompt, random.Random(f"draw {i}")) for i in range(n)]
    counts = Counter(c.ids[0] for c in tiny.engine().generate(asked, Sampling(1.0, 1)))
    with torch.no_grad():
        probabilities = torch.softmax(tiny.model(torch.tensor([prompt])).logits[0, -1].float(), dim=-1)
    for token in probabilities.topk(10).indices.tolist():
        p = probabilities[token].item()
        assert abs(counts[token] / n - p) < 5 * (p * (1 - p) / n) ** 0.5


def test_large_vocabulary_sampling_inverts_the_cdf() -> None:
    logits = 4.0 * torch.randn(3, 2 * PART + 100, generator=torch.Generator().manual_seed(0))
    logits[0, :PART] = logits[1, PART:] = logits[2, 1:] = float("-inf")
    nodes = [row for row in (2, 0, 1) for _ in range(200)]
    asked = [TokenRequest((1,), random.Random(n)) for n in range(len(nodes))]
    batch = PrefilledBatch(logits, DynamicCache(), torch.ones(3, 1))
    tokens, _ = sample_tokens(batch, nodes, asked, Sampling(1.0, 1))
    cumulative = torch.softmax(logits.double(), dim=-1).cumsum(dim=-1)[nodes]
    draws = torch.tensor([[random.Random(n).random()] for n in range(len(nodes))], dtype=torch.float64)
    assert tokens == torch.searchsorted(cumulative, draws, right=True)[:, 0].tolist()


@pytest.mark.parametrize(
    ("logit", "temperature"), [(float("nan"), 1.0), (float("nan"), 0.0), (float("inf"), 1.0), (1.0, 1e-320)]
)
def test_probabilities_that_are_not_numbers_are_an_error(logit: float, temperature: float) -> None:
    batch = PrefilledBatch(torch.tensor([[0.0, logit, 0.0]]), DynamicCache(), torch.ones(1, 1))
    with pytest.raises(GymposiumError, match=f"at temperature={temperature:g} are not numbers"):
        sample_tokens(batch, [0], [TokenRequest((1,), random.Random(0))], Sampling(temperature, 1))


def test_replies_are_truncated_at_max_tokens(tiny: LoadedModel) -> None:
    for completion in tiny.engine().generate(requests(tiny, PROMPTS * 4), Sampling(1.0, 2)):
        assert 1 <= len(completion.ids) <= 2
        assert completion.finish_reason == ("stop" if completion.ids[-1] == tiny.chat.end else "length")
        assert tiny.chat.end not in completion.ids[:-1]


def test_completions_carry_the_policy_version(tiny: LoadedModel) -> None:
    (completion,) = tiny.engine(Policy("learner", 7)).generate(requests(tiny, ["b2"]), Sampling(0.0, 1))
    assert completion.policy == Policy("learner", 7)


def test_missing_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GymposiumError, match="There is no model at"):
        load_model(tmp_path / "nowhere")


def test_invalid_adapter_is_an_error(model_directory: Path, tmp_path: Path) -> None:
    with pytest.raises(GymposiumError, match="is not an adapter"):
        load_model(model_directory, tmp_path)


def test_context_end_truncates_replies(tiny: LoadedModel) -> None:
    engine = TransformersEngine(tiny.model, stops=frozenset(), pad=tiny.pad)
    lengths = [engine.context - 1, engine.context - 3, 10]
    asked = [TokenRequest((5,) * length, random.Random(length)) for length in lengths]
    completions = engine.generate(asked, Sampling(1.0, 5))
    assert [len(completion.ids) for completion in completions] == [1, 3, 5]
    assert {completion.finish_reason for completion in completions} == {"length"}
    with pytest.raises(GymposiumError, match="leaves no space for a reply in a context of 1024"):
        engine.generate([TokenRequest((5,) * engine.context, random.Random(0))], Sampling(1.0, 5))


def test_scores_are_logprobs_at_the_temperature(tiny: LoadedModel) -> None:
    asked = requests(tiny, PROMPTS)
    engine = tiny.engine()
    completions = engine.generate(asked, Sampling(0.7, 4))
    pairs = [(request.prompt, completion.ids) for request, completion in zip(asked, completions, strict=True)]
    for scores, completion in zip(engine.score(pairs, temperature=0.7), completions, strict=True):
        assert scores == pytest.approx(completion.logprobs, abs=1e-5)
    with pytest.raises(GymposiumError, match="need a temperature above 0"):
        engine.score(pairs, temperature=0.0)


def make_limited_engine(tiny: LoadedModel, tokens: int) -> TransformersEngine:
    """An engine that never stops a reply, whose batches may cache this number of tokens."""
    size = tokens * compute_bytes_per_token(tiny.model.config, tiny.model.dtype)
    return TransformersEngine(tiny.model, stops=frozenset(), pad=tiny.pad, cache_bytes=size)


def record_passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of tokens for which the cache has memory after each pass that extends a batch."""
    cached: list[int] = []

    def noting(model: Any, batch: Any, *others: Any) -> Any:
        logits = extend_batch(model, batch, *others)
        cached.append(len(batch.mask) * batch.cache.layers[0].places(0))
        return logits

    monkeypatch.setattr("gymposium_agents.engines.transformers.extend_batch", noting)
    return cached


def test_oversized_batches_defer_replies(tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, tokens = Sampling(1.0, 40), 400
    whole = make_limited_engine(tiny, 10**6).generate(requests(tiny, PROMPTS * 4), asked)
    monkeypatch.setattr("gymposium_agents.engines.transformers.GROWTH", 16)
    cached = record_passes(monkeypatch)
    parts = make_limited_engine(tiny, tokens).generate(requests(tiny, PROMPTS * 4), asked)
    assert [c.ids for c in parts] == [c.ids for c in whole]
    for part, other in zip(parts, whole, strict=True):
        assert part.logprobs == pytest.approx(other.logprobs, abs=1e-5)
    assert 0.5 * tokens < max(cached) <= tokens
    assert len(cached) > 39  # the passes of one batch


def test_memory_for_long_replies_is_not_preallocated(tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies that turn out short are all sampled in one batch, however long they might have been."""
    cached = record_passes(monkeypatch)
    longest = max(len(request.prompt) for request in requests(tiny, PROMPTS))
    engine = make_limited_engine(tiny, (longest + GROWTH) * len(PROMPTS) * 4)
    asked = [replace(request, watch=lambda token: True) for request in requests(tiny, PROMPTS * 4)]
    assert {len(c.ids) for c in engine.generate(asked, Sampling(1.0, 900))} == {1}
    assert cached == []
    engine.generate(requests(tiny, PROMPTS * 4), Sampling(1.0, 3))
    assert len(cached) == 2
