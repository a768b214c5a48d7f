"""Gradients match the explicit loss for every split, layout and packing of a step."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st

from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.players.distribution import find_continuations
from gymposium_train.config import Bypass, DecoupledMismatch, Kl, Mismatch, Optimizer
from gymposium_train.credit.protocol import Critic
from gymposium_train.learner import LocalLearner, Loss, head
from gymposium_train.learner.rows import Row, Span, fill_spans
from gymposium_train.objective.aggregate import compute_turn_weights
from gymposium_train.objective.cispo import Cispo, CispoSettings
from gymposium_train.objective.gspo import Gspo, GspoSettings
from gymposium_train.objective.make import OBJECTIVES, make_objective
from gymposium_train.objective.pg import Pg, PgSettings

from .conftest import TEMPERATURE

ENTROPY = 0.05
CLOSE = 1e-5


def learner(loaded: LoadedModel, loss: Loss, **more: Any) -> LocalLearner:
    given = {"epochs": 1, "minibatches": 1, "max_grad_norm": 1e9, "target_kl": 0.0, **more}
    mine = LocalLearner(loaded.model, loaded.pad, Optimizer(**given), loss=replace(loss, temperature=TEMPERATURE))
    if mine.critic is not None:
        with torch.no_grad():
            mine.critic.layer.weight.normal_(std=0.1, generator=torch.Generator().manual_seed(1))
    return mine


def gradients(mine: LocalLearner) -> dict[str, torch.Tensor]:
    named = dict(mine.named)
    if mine.critic is not None:
        named |= {f"critic.{name}": p for name, p in mine.critic.named_parameters()}
    return {name: p.grad.clone() for name, p in named.items() if p.grad is not None}


def update(mine: LocalLearner, rows: list[Row], **how: Any) -> dict[str, torch.Tensor]:
    """The gradient of one optimizer step at learning rate 0."""
    mine.update(mine.annotate(rows), learning_rate=0.0, **{"entropy_weight": ENTROPY, **how})
    return gradients(mine)


def distance(found: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> float:
    """The relative distance of two gradients."""
    assert found.keys() == expected.keys()
    apart = sum(float((found[name] - expected[name]).double().square().sum()) for name in expected)
    size = sum(float(one.double().square().sum()) for one in expected.values())
    assert size > 1e-6
    return (apart / size) ** 0.5


def compute_explicit_loss(model: Any, rows: list[Row], kind: str) -> torch.Tensor:
    """The losses as in the papers, row by row and turn by turn, without shared computation. The bonus is computed from
    the probabilities of the whole vocabulary."""
    total = torch.zeros(())
    low, high = 0.8, 1.28
    for row in rows:
        logits = model(torch.tensor([row.ids])).logits[0].float() / TEMPERATURE
        for span in row.spans:
            mine = logits[span.start - 1 : span.stop - 1]
            tokens = torch.tensor(row.ids[span.start : span.stop])
            new = torch.log_softmax(mine, -1).gather(-1, tokens[:, None])[:, 0]
            ratio = (new - torch.tensor(span.engine)).exp()
            match kind:
                case "ppo":
                    loss = -torch.minimum(ratio * span.advantage, ratio.clamp(low, high) * span.advantage)
                case "gspo":
                    mean = ratio.log().mean().exp()
                    loss = -torch.minimum(mean * span.advantage, mean.clamp(low, high) * span.advantage)
                    loss = loss.expand(len(tokens))
                case "cispo":
                    loss = -ratio.clamp(low, high).detach() * span.advantage * new
                case "pg":
                    loss = -ratio.clamp(max=high).detach() * span.advantage * new
            total = total + span.weight * (loss.sum() - ENTROPY * move_entropies(mine, span).sum())
    return total


def move_entropies(logits: torch.Tensor, span: Span) -> torch.Tensor:
    """For each token of a turn the entropy of its distribution, restricted to what continues a legal reply."""
    found = []
    for probabilities, legal in zip(torch.softmax(logits, -1), span.legal, strict=True):
        mine = probabilities[[*legal]]
        mine = mine / mine.sum()
        found.append(-(mine * mine.log()).sum())
    return torch.stack(found)


@pytest.mark.parametrize(
    ("kind", "aggregate"), [*product(("ppo", "gspo", "cispo", "pg"), ("token",)), ("ppo", "turn"), ("ppo", "sequence")]
)
def test_gradient_matches_the_explicit_loss(loaded: LoadedModel, rows: list[Row], kind: Any, aggregate: Any) -> None:
    turns = [(n, span) for n, row in enumerate(rows) for span in row.spans]
    weights = compute_turn_weights([(n, len(span)) for n, span in turns], aggregate)
    # so that ratios are not 1, and some are clipped
    engine = [tuple(logprob - 0.3 for logprob in span.engine) for _, span in turns]
    rows = fill_spans(rows, weight=weights, engine=engine)
    bounds = {"clip_low": 0.2, "clip_high": 0.28} if kind == "gspo" else {}
    mine = learner(loaded, Loss(make_objective(OBJECTIVES.kinds()[kind](**bounds))))  # type: ignore[arg-type]
    found = update(mine, rows)
    loaded.model.zero_grad()
    compute_explicit_loss(loaded.model, rows, kind).backward()
    assert distance(found, gradients(mine)) < CLOSE


LOSSES = {
    "ppo with a critic": Loss(critic=Critic()),
    "gspo with k3": Loss(Gspo(GspoSettings()), kl=Kl(weight=0.3, estimator="k3")),
    "cispo with k2": Loss(Cispo(CispoSettings()), kl=Kl(weight=0.3, estimator="k2")),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("layout", ["shared", "padded", "packed"])
def test_layouts_and_splits_give_the_same_gradient(
    loaded: LoadedModel, rows: list[Row], name: str, layout: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = update(learner(loaded, LOSSES[name], layout="padded", token_budget=100_000), rows)
    monkeypatch.setattr(head, "LOGIT_BYTES", 5 * 8 * loaded.model.config.vocab_size)
    for budget in (1, 333):
        found = update(learner(loaded, LOSSES[name], layout=layout, token_budget=budget), rows)
        assert distance(found, whole) < CLOSE, budget


@given(
    order=st.permutations(range(36)), budget=st.integers(1, 600), layout=st.sampled_from(["shared", "padded", "packed"])
)
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_micro_batch_order_and_size_do_not_matter(
    loaded: LoadedModel, rows: list[Row], order: list[int], budget: int, layout: Any
) -> None:
    assert len(rows) == len(order)
    whole = update(learner(loaded, Loss(), token_budget=100_000), rows)
    found = update(learner(loaded, Loss(), layout=layout, token_budget=budget), [rows[i] for i in order])
    assert distance(found, whole) < CLOSE


@pytest.mark.parametrize(("prompts", "asked", "made"), [(6, 4, 3), (6, 3, 3), (5, 7, 6), (1, 2, 2), (6, 1, 1)])
def test_minibatch_gradients_average_to_the_full_gradient(
    loaded: LoadedModel, prompts: int, asked: int, made: int
) -> None:
    """For any number of minibatches: rows of one prompt stay together, so there may be fewer."""
    rng = random.Random(1)
    rows = []
    for n in range(8 * prompts):
        prompt = loaded.chat.prompt(f"position {n % prompts}")
        said = tuple(rng.randrange(5, 60) for _ in range(1 + n % 3))
        engine = tuple(rng.uniform(-6.0, -4.0) for _ in said)
        legal = find_continuations([said, (said[0], 3), (4,)], said)
        span = Span(len(prompt), len(prompt) + len(said), engine, legal=legal, advantage=rng.gauss(0.0, 1.0))
        rows.append(Row(prompt + said, (span,)))
    rows = fill_spans(rows, weight=[1.0 / sum(row.sampled for row in rows)] * len(rows))
    whole = update(learner(loaded, Loss()), rows)
    mine = learner(loaded, Loss(), minibatches=asked)
    parts: list[dict[str, torch.Tensor]] = []
    step = mine._stepper.step

    def noting(*args: Any) -> tuple[float, bool]:
        parts.append(gradients(mine))
        return step(*args)

    mine._stepper.step = noting  # type: ignore[method-assign]
    update(mine, rows)
    assert len(parts) == made
    mean = {name: torch.stack([part[name] for part in parts]).mean(0) for name in whole}
    assert distance(mean, whole) < CLOSE


MODES: dict[str, Mismatch] = {"bypass": Bypass(), "decoupled": DecoupledMismatch(cap=1e9)}
PLAIN = Pg(PgSettings(cap=1e9))
"""REINFORCE with importance weights that are not truncated."""


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
@pytest.mark.parametrize("mode", MODES)
def test_importance_weights_do_not_depend_on_kl_estimator(
    loaded: LoadedModel, rows: list[Row], mode: str, estimator: Any
) -> None:
    """Tokens that the engine gave twice the learner's probability have a weight of a half."""
    whole = update(learner(loaded, Loss(PLAIN)), rows, entropy_weight=0.0)
    engine = [tuple(logprob + math.log(2.0) for logprob in span.engine) for row in rows for span in row.spans]
    rows = fill_spans(rows, engine=engine)
    mine = learner(loaded, Loss(PLAIN, Kl(weight=0.1, estimator=estimator), mismatch=MODES[mode]))
    found = update(mine, rows, entropy_weight=0.0, kl_weight=0.0)
    assert distance(found, {name: 0.5 * one for name, one in whole.items()}) < CLOSE


@pytest.mark.parametrize(
    ("estimator", "mode", "epoch"),
    [*product(("k2", "k3"), MODES, ("first", "later")), ("k1", "bypass", "first"), ("k1", "decoupled", "first")],
)
def test_off_policy_kl_term_has_the_kl_gradient(loaded: LoadedModel, estimator: Any, mode: str, epoch: str) -> None:
    """The batch has every token of the vocabulary once, weighted by another policy's probability, so its mean is the
    expectation. In a later epoch the policy is also not the one before the update."""
    prompt = loaded.chat.prompt("x . o")
    vocabulary = loaded.model.config.vocab_size
    sampler = torch.randn(vocabulary, generator=torch.Generator().manual_seed(7)).log_softmax(-1).tolist()
    at = len(prompt)
    rows = [
        Row((*prompt, token), (Span(at, at + 1, (logprob,), weight=math.exp(logprob)),))
        for token, logprob in enumerate(sampler)
    ]
    mine = learner(loaded, Loss(PLAIN, Kl(weight=1.0, estimator=estimator), mismatch=MODES[mode]))
    assert mine.reference is not None
    move(mine, 1)
    rows = mine.annotate(rows)
    if estimator == "k1":  # it comes off the reward
        rows = fill_spans(rows, advantage=[row.spans[0].reference[0] - row.spans[0].old[0] for row in rows])
    if epoch == "later":
        move(mine, 2)
    metrics = mine.update(rows, learning_rate=0.0)
    found = gradients(mine)

    def logprobs() -> torch.Tensor:
        return torch.log_softmax(loaded.model(torch.tensor([prompt])).logits[0, -1].float() / TEMPERATURE, -1)

    with mine.reference.answering(), torch.no_grad():
        reference = logprobs()
    loaded.model.zero_grad()
    policy = logprobs()
    kl = (policy.exp() * (policy - reference)).sum()
    kl.backward()  # type: ignore[no-untyped-call]
    assert distance(found, gradients(mine)) < 1e-4
    assert metrics["train/kl"] == pytest.approx(kl.item(), rel=1e-4)


def move(mine: LocalLearner, seed: int) -> None:
    """Change the policy a little."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in mine.named.values():
            parameter += 0.05 * torch.randn(parameter.shape, generator=generator)


@pytest.mark.parametrize("layout", ["padded", "packed"])
def test_gradient_checkpointing_changes_only_memory(loaded: LoadedModel, rows: list[Row], layout: Any) -> None:
    plain = update(learner(loaded, Loss(critic=Critic())), rows)
    saved: list[int] = []

    def noting(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.numel())
        return tensor

    kept = {}
    for checkpointing in (False, True):
        saved.clear()
        mine = learner(loaded, Loss(critic=Critic()), layout=layout, checkpointing=checkpointing)
        with torch.autograd.graph.saved_tensors_hooks(noting, lambda tensor: tensor):
            assert distance(update(mine, rows), plain) < CLOSE
        kept[checkpointing] = sum(saved)
    assert kept[True] < kept[False] / 2
    assert not loaded.model.is_activation_checkpointing


@pytest.mark.parametrize("checkpointing", [False, True])
def test_dropout_is_disabled(loaded: LoadedModel, rows: list[Row], checkpointing: bool) -> None:
    """The engine plays without dropout, so the learner must learn without it."""
    plain = update(learner(loaded, Loss(), layout="padded"), rows)
    for layer in loaded.model.get_decoder().layers:
        layer.self_attn.attention_dropout = 0.5
    mine = learner(loaded, Loss(), layout="padded", checkpointing=checkpointing)
    assert distance(update(mine, rows), plain) < CLOSE
    assert not any(layer.training for layer in loaded.model.get_decoder().layers)
