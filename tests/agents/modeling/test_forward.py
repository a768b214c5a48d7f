"""Shared passes produce the same logits, log-probabilities and gradients as separate passes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies as st
from tests.agents.modeling.largest_tensor import LargestTensor

from gymposium_agents.engines.transformers import unwrap_peft
from gymposium_agents.modeling.forward import WORTH_A_GROUP, compute_completion_logits, split_into_chunks
from gymposium_agents.models.loading import LoadedModel, load_model

Pair = tuple[tuple[int, ...], tuple[int, ...]]

pairs_of_ids = st.lists(
    st.tuples(
        st.lists(st.integers(3, 40), min_size=1, max_size=9).map(tuple),
        st.lists(st.integers(3, 40), min_size=1, max_size=4).map(tuple),
    ),
    min_size=1,
    max_size=8,
    unique=True,
)


def plain_logprobs(model: object, prompt: tuple[int, ...], completion: tuple[int, ...]) -> torch.Tensor:
    """The logits of one sequence, with nothing shared."""
    ids = torch.tensor([prompt + completion])
    scores = torch.log_softmax(model(ids).logits[0].float(), dim=-1)  # type: ignore[operator]
    where = range(len(prompt) - 1, len(prompt) + len(completion) - 1)
    return torch.stack([scores[position, token] for position, token in zip(where, completion, strict=True)])


@settings(max_examples=40)
@given(pairs=pairs_of_ids)
def test_logits_match_separate_passes(tiny: LoadedModel, pairs: list[Pair]) -> None:
    with torch.no_grad():
        logits, tokens, mask = compute_completion_logits(tiny.model, pairs, tiny.pad)
        scores = torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[..., 0]
        for row, (prompt, completion) in enumerate(pairs):
            assert mask[row].sum() == len(completion)
            expected = plain_logprobs(tiny.model, prompt, completion)
            torch.testing.assert_close(scores[row, : len(completion)], expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("lora", [False, True])
def test_gradients_match_separate_passes(model_directory: Path, adapter_directory: Path, *, lora: bool) -> None:
    rng = random.Random(4)
    head = tuple(rng.choices(range(3, 40), k=6))
    pairs = [
        (head + tuple(rng.choices(range(3, 40), k=rng.randrange(1, 5))), tuple(rng.choices(range(3, 40), k=k)))
        for k in (1, 2, 3, 2, 1)
    ]
    pairs.append((pairs[0][0], (5, 6)))  # the same prompt once more
    model = load_model(model_directory, adapter_directory if lora else None).model
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not lora or "lora" in name)

    def gradients(loss: torch.Tensor) -> list[torch.Tensor]:
        model.zero_grad()
        loss.backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    logits, tokens, mask = compute_completion_logits(unwrap_peft(model), pairs, 0)
    shared = (torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[..., 0] * mask).sum()
    mine = gradients(shared)
    theirs = gradients(sum(plain_logprobs(model, p, c).sum() for p, c in pairs))  # type: ignore[arg-type]
    assert len(mine) == len(theirs) > 0
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=2e-4, rtol=1e-3)


def test_frozen_head_is_not_copied_per_row(model_directory: Path) -> None:
    """`linear` of a slice of the hidden states and weights without gradients copies the weights for each row."""
    model = load_model(model_directory).model.requires_grad_(False)
    head = model.get_output_embeddings().weight
    pairs = [((3, 4, 5 + n), (6,)) for n in range(8)]
    with torch.no_grad(), LargestTensor() as largest:
        compute_completion_logits(model, pairs, 0)
    assert largest.elements <= head.numel()


@given(pairs=pairs_of_ids, budget=st.integers(1, 60))
def test_chunks_cover_every_pair_once_within_budget(pairs: list[Pair], budget: int) -> None:
    chunks = list(split_into_chunks(pairs, budget))
    assert sorted(i for chunk in chunks for i in chunk) == list(range(len(pairs)))
    for chunk in chunks:
        prompts = {pairs[i][0] for i in chunk}
        size = len(prompts) * max(map(len, prompts)) + len(chunk) * max(len(pairs[i][1]) for i in chunk)
        assert size <= budget or len(chunk) == 1


@given(
    prompts=st.lists(st.integers(1, 400), min_size=1, max_size=80),
    completions=st.lists(st.integers(1, 100), min_size=80, max_size=80),
)
def test_chunks_need_little_padding(prompts: list[int], completions: list[int]) -> None:
    pairs = [((n, *[0] * length), (1,) * completions[n]) for n, length in enumerate(prompts)]
    for chunk in split_into_chunks(pairs, 100_000):
        for lengths in ([len(pairs[i][0]) for i in chunk], [len(pairs[i][1]) for i in chunk]):
            padding = len(lengths) * max(lengths) - sum(lengths)
            assert padding < max(WORTH_A_GROUP, sum(lengths) / 8) + max(lengths)
