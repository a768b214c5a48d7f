"""The learner: sharing work and cutting for memory change nothing; it moves the policy as it should."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, strategies as st

from gymposium.errors import GymposiumError
from gymposium_agents.loading import LoadedModel, load_model
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.tokens import Sampling, TokenRequest
from gymposium_train.config import Grpo
from gymposium_train.learner import MAX_BAD_STEPS, Learner, minibatches
from gymposium_train.objective import entropy, ppo_clip
from gymposium_train.rows import Row

ONE_STEP = Grpo(epochs=1, minibatches=1, max_grad_norm=1e9)


@pytest.fixture
def loaded(model_directory: Path) -> LoadedModel:
    base = load_model(model_directory)
    return LoadedModel(attach_lora(base.model, rank=4, alpha=8, seed=3), base.chat)


def rows_of(loaded: LoadedModel, n: int = 24) -> list[Row]:
    """Rows that the engine sampled, many with equal prompts and some with equal completions."""
    rng = random.Random(5)
    prompts = [loaded.chat.prompt(text) for text in ("x . o", ". . .", "card K", "card J\nmoves pass")]
    asked = [TokenRequest(prompts[i % 4], random.Random(i)) for i in range(n)]
    completions = loaded.engine().generate(asked, Sampling(1.0, 3))
    rows = [
        Row(r.prompt, c.ids, c.logprobs, rng.choice([-1.0, 0.5, 1.0])) for r, c in zip(asked, completions, strict=True)
    ]
    return rows + rows[:5]


def learner(loaded: LoadedModel, budget: int = 4096) -> Learner:
    return Learner(loaded.model, loaded.pad, token_budget=budget, max_grad_norm=1e9)


def gradients(mine: Learner) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in mine.named.items() if p.grad is not None}


def naive_loss(model: Any, rows: list[Row], weight: float) -> torch.Tensor:
    """Row by row, nothing shared: the loss as it is written in the papers."""
    total, tokens = torch.zeros(()), sum(len(row.completion) for row in rows)
    for row in rows:
        logits = model(torch.tensor([row.prompt + row.completion])).logits[0].float()
        logits = logits[len(row.prompt) - 1 : -1]
        new = torch.log_softmax(logits, -1).gather(-1, torch.tensor(row.completion)[:, None]).T
        old, advantage = torch.tensor([row.logprobs]), torch.tensor([[row.advantage]])
        total = total + ppo_clip(new, old, advantage, 0.2, 0.28).sum() - weight * entropy(logits).sum()
    return total / tokens


@pytest.mark.parametrize("budget", [1, 60, 4096])
def test_the_gradient_is_that_of_the_loss_written_out(loaded: LoadedModel, budget: int) -> None:
    rows, mine = rows_of(loaded), learner(loaded, budget)
    mine.reinforce(rows, ONE_STEP, learning_rate=0.0, entropy_weight=0.05, seed=0)
    found = gradients(mine)
    mine.optimizer.zero_grad()
    naive_loss(loaded.model, rows, 0.05).backward()
    expected = gradients(mine)
    assert found.keys() == expected.keys()
    assert any(g.abs().max() > 1e-4 for g in expected.values())
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, atol=2e-5, rtol=1e-3)


def test_at_first_the_ratio_is_one(loaded: LoadedModel) -> None:
    metrics = learner(loaded).reinforce(rows_of(loaded), ONE_STEP, learning_rate=0.0, entropy_weight=0.0, seed=0)
    assert metrics["approx_kl"] == pytest.approx(0.0, abs=1e-6)
    assert metrics["clipfrac"] == 0.0


def test_it_makes_good_completions_likelier_and_bad_ones_less(loaded: LoadedModel) -> None:
    rows = rows_of(loaded)
    for row in rows:
        row.advantage = 1.0 if row.completion[0] % 2 else -1.0

    def chances() -> tuple[float, float]:
        good, bad = [], []
        with torch.no_grad():
            for row in rows:
                scores = torch.log_softmax(loaded.model(torch.tensor([row.prompt])).logits[0, -1].float(), -1)
                (good if row.advantage > 0 else bad).append(scores[row.completion[0]].item())
        return sum(good) / len(good), sum(bad) / len(bad)

    before = chances()
    mine = learner(loaded)
    for _ in range(3):
        mine.reinforce(rows, ONE_STEP, learning_rate=1e-2, entropy_weight=0.0, seed=0)
    after = chances()
    assert after[0] > before[0]
    assert after[1] < before[1]
    assert mine.policy_version == 3


@given(prompts=st.lists(st.integers(0, 5), min_size=1, max_size=40), parts=st.integers(1, 5), seed=st.integers(0, 9))
def test_minibatches_hold_every_row_once_and_equal_prompts_together(prompts: list[int], parts: int, seed: int) -> None:
    rows = [Row((p,), (1,), (0.0,), float(i)) for i, p in enumerate(prompts)]
    found = list(minibatches(rows, parts, random.Random(seed)))
    assert 1 <= len(found) <= parts
    assert sorted(row.advantage for batch in found for row in batch) == list(range(len(rows)))
    held = [{row.prompt for row in batch} for batch in found]
    assert sum(map(len, held)) == len({row.prompt for row in rows})


def test_only_the_adapter_moves(loaded: LoadedModel) -> None:
    before = {name: p.clone() for name, p in loaded.model.named_parameters()}
    learner(loaded).reinforce(rows_of(loaded), ONE_STEP, learning_rate=1e-2, entropy_weight=0.0, seed=0)
    moved = {name for name, p in loaded.model.named_parameters() if not torch.equal(p, before[name])}
    assert moved
    assert all("lora_" in name for name in moved)


def test_imitation_weighs_repeated_pairs_and_lowers_the_loss(model_directory: Path) -> None:
    loaded = load_model(model_directory)
    mine = learner(loaded)
    one, two = loaded.chat.prompt("x . o"), loaded.chat.prompt(". . .")
    pairs = [(one, loaded.chat.reply("b2")), (one, loaded.chat.reply("b2")), (two, loaded.chat.reply("a1"))]
    with torch.no_grad():
        expected = 0.0
        for prompt, completion in pairs:
            scores = torch.log_softmax(loaded.model(torch.tensor([prompt + completion])).logits[0].float(), -1)
            for offset, token in enumerate(completion):
                expected -= scores[len(prompt) - 1 + offset, token].item()
    first = mine.imitate(pairs, 1e-3)["loss"]
    assert first == pytest.approx(expected / sum(len(c) for _, c in pairs), rel=1e-4)
    for _ in range(20):
        last = mine.imitate(pairs, 1e-2)["loss"]
    assert last < first / 2


def test_a_gradient_that_is_not_finite_is_skipped_and_then_stops_the_run(loaded: LoadedModel) -> None:
    rows, mine = rows_of(loaded), learner(loaded)
    rows[0].advantage = float("nan")
    before = {name: p.clone() for name, p in mine.named.items()}
    for _ in range(MAX_BAD_STEPS - 1):
        mine.reinforce(rows, ONE_STEP, learning_rate=1e-2, entropy_weight=0.0, seed=0)
    assert all(torch.equal(p, before[name]) for name, p in mine.named.items())
    with pytest.raises(GymposiumError, match="not finite"):
        mine.reinforce(rows, ONE_STEP, learning_rate=1e-2, entropy_weight=0.0, seed=0)


def test_a_model_with_nothing_to_train_is_refused(model_directory: Path) -> None:
    loaded = load_model(model_directory)
    loaded.model.requires_grad_(False)
    with pytest.raises(GymposiumError, match="no trainable parameters"):
        learner(loaded)
