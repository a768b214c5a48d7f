"""The learner: updates, annotation without side effects, and resuming."""

from __future__ import annotations

import copy
import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import torch
from hypothesis import given, strategies as st
from tests.agents.modeling.largest_tensor import LargestTensor

from gymposium.errors import BadOption, GymposiumError
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_agents.players.distribution import find_continuations, split_probabilities
from gymposium_train.config import DecoupledMismatch, Kl, Optimizer
from gymposium_train.credit.protocol import Critic
from gymposium_train.learner import LocalLearner, Loss, head
from gymposium_train.learner.minibatches import make_minibatches
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.learner.rows import Row, Span, fill_spans

from .conftest import TEMPERATURE

ONE_STEP = Optimizer(epochs=1, minibatches=1, max_grad_norm=1e9)


def learner(loaded: LoadedModel, settings: Optimizer = ONE_STEP, **loss: object) -> LocalLearner:
    return LocalLearner(loaded.model, loaded.pad, settings, loss=Loss(temperature=TEMPERATURE, **loss))  # type: ignore[arg-type]


def strip_legal(rows: list[Row]) -> list[Row]:
    return [Row(row.ids, tuple(replace(span, legal=()) for span in row.spans)) for row in rows]


def test_first_step_has_ratio_one(loaded: LoadedModel, rows: list[Row]) -> None:
    metrics = learner(loaded).update(rows, learning_rate=0.0)
    assert metrics["train/first_log_ratio"] <= 1e-4
    assert metrics["train/approx_kl"] == pytest.approx(0.0, abs=1e-6)
    assert metrics["train/mismatch_kl"] == pytest.approx(0.0, abs=1e-6)
    assert metrics["train/clipfrac"] == 0.0


def test_update_raises_good_and_lowers_bad_completions(loaded: LoadedModel, rows: list[Row]) -> None:
    rows = fill_spans(rows, advantage=[1.0 if row.ids[span.start] % 2 else -1.0 for row in rows for span in row.spans])
    mine = learner(loaded)

    def chances() -> tuple[float, float]:
        pairs = [(row.ids[: span.start], row.ids[span.start : span.stop]) for row in rows for span in row.spans]
        good, bad = [], []
        for (_, said), scores in zip(pairs, mine.score(pairs), strict=True):
            (good if said[0] % 2 else bad).append(scores[0])
        return sum(good) / len(good), sum(bad) / len(bad)

    before = chances()
    for _ in range(3):
        mine.update(rows, learning_rate=1e-2)
    after = chances()
    assert after[0] > before[0]
    assert after[1] < before[1]
    assert mine.policy_version == 3


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_adamw_uses_its_betas_and_decays_only_the_policy(loaded: LoadedModel, rows: list[Row], decay: float) -> None:
    settings = Optimizer(epochs=1, minibatches=1, beta1=0.5, beta2=0.8, weight_decay=decay, max_grad_norm=1e9)
    rows = fill_spans(rows, target=[1.0 for row in rows for _ in row.spans])
    mine = learner(loaded, settings, critic=Critic(learning_rate=1e-2))
    rows = mine.annotate(rows)
    theirs = {name: p.detach().clone().requires_grad_() for name, p in mine.named.items()}
    mine.update(rows, learning_rate=1e-2)
    groups = mine._stepper.optimizer.param_groups
    assert [(group["betas"], group["weight_decay"]) for group in groups] == [((0.5, 0.8), decay), ((0.5, 0.8), 0.0)]
    for name, p in theirs.items():
        p.grad = mine.named[name].grad
    torch.optim.AdamW(theirs.values(), lr=1e-2, betas=(0.5, 0.8), weight_decay=decay).step()
    for name, p in theirs.items():
        torch.testing.assert_close(mine.named[name], p)


def test_only_the_adapter_changes(loaded: LoadedModel, rows: list[Row]) -> None:
    before = {name: p.clone() for name, p in loaded.model.named_parameters()}
    learner(loaded).update(rows, learning_rate=1e-2)
    moved = {name for name, p in loaded.model.named_parameters() if not torch.equal(p, before[name])}
    assert moved
    assert all("lora_" in name for name in moved)


def test_all_weights_can_be_trained(model_directory: Path, rows: list[Row]) -> None:
    loaded = load_model(model_directory)
    before = {name: p.clone() for name, p in loaded.model.named_parameters()}
    metrics = learner(loaded, kl=Kl(weight=0.1)).update(rows, learning_rate=1e-2)
    assert all(not torch.equal(p, before[name]) for name, p in loaded.model.named_parameters())
    assert metrics["train/grad_norm"] > 0.0


def test_critic_starts_at_zero_and_learns_its_targets(loaded: LoadedModel, rows: list[Row]) -> None:
    """Equal rows have one value, so they are given one target."""
    rows = fill_spans(rows, target=[float(sum(row.ids[: span.start]) % 7) / 7.0 for row in rows for span in row.spans])
    mine = learner(loaded, critic=Critic(learning_rate=3e-2))
    rows = mine.annotate(rows)
    assert {span.value for row in rows for span in row.spans} == {0.0}
    before = {name: p.clone() for name, p in mine.named.items()}
    for _ in range(30):
        metrics = mine.update(rows, learning_rate=ONE_STEP.learning_rate, policy_learns=False, entropy_weight=0.1)
    assert all(torch.equal(p, before[name]) for name, p in mine.named.items())  # warming up touches the head alone
    assert "train/policy_loss" not in metrics
    spans = [span for row in mine.annotate(rows) for span in row.spans]
    mean = sum(span.target for span in spans) / len(spans)
    error = sum((span.target - span.value) ** 2 for span in spans)
    assert error < 0.5 * sum((span.target - mean) ** 2 for span in spans)


def test_critic_scale_compensates_large_rewards(loaded: LoadedModel, rows: list[Row]) -> None:
    def learned(scale: float) -> tuple[list[float], object, dict[str, torch.Tensor]]:
        mine = learner(LoadedModel(copy.deepcopy(loaded.model), loaded.chat), critic=Critic(scale=scale))
        own = fill_spans(rows, target=[span.target * scale for row in rows for span in row.spans])
        for _ in range(3):
            own = mine.annotate(own)
            metrics = mine.update(own, learning_rate=ONE_STEP.learning_rate)
        return [span.value / scale for row in own for span in row.spans], metrics["train/value_loss"], dict(mine.named)

    small, large = learned(1.0), learned(512.0)  # a power of two scales exactly
    assert any(small[0])
    assert small[:2] == large[:2]
    assert all(torch.equal(small[2][name], large[2][name]) for name in small[2])


def test_values_are_predicted_at_the_start_of_replies(loaded: LoadedModel, rows: list[Row]) -> None:
    mine = learner(loaded, critic=Critic())
    assert mine.critic is not None
    with torch.no_grad():
        mine.critic.layer.weight.normal_(generator=torch.Generator().manual_seed(0))
    spans = [(row.ids[: span.start], span.value) for row in mine.annotate(rows) for span in row.spans]
    expected = mine.values_after([prompt for prompt, _ in spans])
    assert [value for _, value in spans] == pytest.approx(expected, abs=1e-5)
    assert len({round(value, 4) for value in expected}) > 4


def test_entropy_is_reported_with_and_without_a_bonus(loaded: LoadedModel, rows: list[Row]) -> None:
    """Both entropies are means over sampled tokens. Without a bonus they do not affect the gradient, and that among
    legal replies is reported only of rows that name them."""
    found, among = [], []
    with torch.no_grad():
        for row in rows:
            logits = loaded.model(torch.tensor([row.ids])).logits[0].float() / TEMPERATURE
            for span in row.spans:
                mine = logits[span.start - 1 : span.stop - 1]
                found.append(torch.distributions.Categorical(logits=mine).entropy())
                among += [
                    float(torch.distributions.Categorical(logits=one[[*legal]]).entropy()) if legal else 0.0
                    for one, legal in zip(mine, span.legal, strict=True)
                ]
    entropy, of_moves = float(torch.cat(found).mean()), sum(among) / len(among)
    plain, rewarded, bare = learner(loaded), learner(loaded), strip_legal(rows)
    without = plain.update(rows, learning_rate=0.0)
    with_bonus = rewarded.update(rows, learning_rate=0.0, entropy_weight=0.1)
    assert without["train/entropy"] == pytest.approx(entropy, rel=1e-5)
    assert without["train/entropy"] == pytest.approx(with_bonus["train/entropy"], rel=1e-6)
    assert with_bonus["train/move_entropy"] == pytest.approx(of_moves, rel=1e-5)
    assert 0.0 < of_moves < entropy
    unnamed = learner(loaded).update(bare, learning_rate=0.0)
    assert "train/move_entropy" not in unnamed
    assert unnamed["train/grad_norm"] == pytest.approx(without["train/grad_norm"], rel=1e-5)
    with pytest.raises(BadOption, match="some turns do not name them"):
        learner(loaded).update(bare, learning_rate=0.0, entropy_weight=0.1)
    assert abs(without["train/grad_norm"] - with_bonus["train/grad_norm"]) > 1e-4
    frozen = learner(loaded, critic=Critic())
    warming = frozen.update(frozen.annotate(rows), learning_rate=0.0, policy_learns=False, entropy_weight=0.1)
    assert warming["train/entropy"] == pytest.approx(entropy, rel=1e-5)


def test_legality_loss_applies_only_to_annotated_turns(loaded: LoadedModel, rows: list[Row]) -> None:
    plain, mine, bare = learner(loaded), learner(loaded, legality=1.0), strip_legal(rows)
    without = plain.update(rows, learning_rate=0.0)
    assert "train/illegality" not in without
    first = mine.update(rows, learning_rate=3e-3)
    assert abs(first["train/grad_norm"] - without["train/grad_norm"]) > 1e-3
    assert mine.update(rows, learning_rate=3e-3)["train/illegality"] < first["train/illegality"]
    assert "train/illegality" not in mine.update(bare, learning_rate=0.0)


def test_distillation_in_an_update_is_the_cross_entropy_at_taught_places(loaded: LoadedModel, rows: list[Row]) -> None:
    def teach(span: Span) -> Span:
        return replace(
            span,
            taught=tuple(
                tuple(2 * n / len(ids) / (len(ids) + 1) for n in range(1, len(ids) + 1)) for ids in span.legal
            ),
        )

    rows = [Row(row.ids, (*row.spans[:-1], teach(row.spans[-1]))) for row in rows]  # only the last turn is taught
    untaught = [Row(row.ids, tuple(replace(span, taught=()) for span in row.spans)) for row in rows]
    expected = 0.0
    with torch.no_grad():
        for row in rows:
            logits = loaded.model(torch.tensor([row.ids])).logits[0].float() / TEMPERATURE
            last = row.spans[-1]
            for place, ids, odds in zip(range(last.start, last.stop), last.legal, last.taught, strict=True):
                scores = logits[place - 1].log_softmax(-1)
                expected -= sum(p * float(scores[token]) for token, p in zip(ids, odds, strict=True))
    found = learner(loaded).update(rows, learning_rate=0.0, distillation_weight=1.0)
    assert found["train/distillation"] == pytest.approx(expected / sum(row.sampled for row in rows), rel=1e-4)
    plain, unweighted = (learner(loaded).update(some, learning_rate=0.0) for some in (untaught, rows))
    assert "train/distillation" not in plain
    assert unweighted["train/grad_norm"] == pytest.approx(plain["train/grad_norm"], rel=1e-5)
    assert abs(found["train/grad_norm"] - plain["train/grad_norm"]) > 1e-3
    mine = learner(loaded)
    metrics = [mine.update(rows, learning_rate=1e-2, distillation_weight=10.0) for _ in range(4)]
    assert metrics[-1]["train/distillation"] < metrics[0]["train/distillation"]


def test_imitation_with_legality_raises_unseen_legal_replies(model_directory: Path) -> None:
    loaded = load_model(model_directory)
    chat = loaded.chat
    prompt, shown, other = chat.prompt("x . o"), chat.reply("b2"), chat.reply("a1")
    one = Demonstration(prompt, shown, find_continuations([shown, other], shown))

    def likelier(weight: float) -> float:
        mine = learner(load_model(model_directory), legality=weight)
        before = mine.score([(prompt, other)])[0][0]
        for _ in range(3):
            mine.imitate([one], 1e-3)
        return mine.score([(prompt, other)])[0][0] - before

    assert likelier(2.0) > likelier(0.0)


def teach(prompt: tuple[int, ...], odds: dict[tuple[int, ...], float], reply: tuple[int, ...]) -> Demonstration:
    return Demonstration(prompt, reply, find_continuations(odds, reply), split_probabilities(odds, reply))


def test_imitating_drawn_replies_estimates_the_cross_entropy_with_the_teacher(model_directory: Path) -> None:
    chat = load_model(model_directory).chat
    prompt, replies = chat.prompt("x . o"), [chat.reply(move) for move in ("a1", "a2", "b2")]
    odds = dict(zip(replies, (0.5, 0.2, 0.3), strict=True))
    plain = learner(load_model(model_directory))
    scores = plain.score([(prompt, reply) for reply in replies])
    expected = -sum(p * sum(score) for p, score in zip(odds.values(), scores, strict=True))
    estimates = [plain.imitate([teach(prompt, odds, reply)], 0.0)["train/sft_loss"] * len(reply) for reply in replies]
    assert sum(p * one for p, one in zip(odds.values(), estimates, strict=True)) == pytest.approx(expected, rel=1e-4)


def test_imitation_approaches_the_teachers_distribution(model_directory: Path) -> None:
    chat = load_model(model_directory).chat
    prompt, replies = chat.prompt("x . o"), [chat.reply(move) for move in ("a1", "b2", "c3")]
    odds = dict(zip(replies, (0.6, 0.4, 0.0), strict=True))
    mine = learner(load_model(model_directory), legality=1.0)
    untaught = Demonstration(chat.prompt("o . x"), replies[2])
    for step in range(60):
        mine.imitate([teach(prompt, odds, replies[step % 2]), untaught], 3e-3)
    found = [math.exp(sum(score)) for score in mine.score([(prompt, reply) for reply in replies])]
    assert found == pytest.approx([0.6, 0.4, 0.0], abs=0.1)
    assert math.exp(sum(mine.score([(untaught.prompt, untaught.completion)])[0])) > 0.9


@pytest.mark.parametrize("layout", ["shared", "padded"])
def test_imitating_a_conversation_equals_imitating_its_replies(model_directory: Path, layout: str) -> None:
    """A reply between the two keeps them apart, and then each is computed for itself."""
    chat = load_model(model_directory).chat
    first, reply = chat.prompt("x . o"), chat.reply("b2")
    one = Demonstration(first, reply, find_continuations([reply, chat.reply("a1")], reply))
    next_one = Demonstration(first + reply + chat.prompt("x o o"), chat.reply("c3"))
    other = Demonstration(chat.prompt(". . ."), chat.reply("a1"))

    def found(*demonstrations: Demonstration) -> dict[str, float]:
        settings = ONE_STEP.model_copy(update={"layout": layout})
        return learner(load_model(model_directory), settings, legality=0.5).imitate(demonstrations, 1e-3)

    together, apart = found(one, next_one, other), found(one, other, next_one)
    assert together == pytest.approx(apart, rel=1e-4)


@pytest.mark.parametrize("correction", ["truncate", "mask"])
def test_decoupled_correction_accounts_for_engine_error(loaded: LoadedModel, rows: list[Row], correction: str) -> None:
    """The engine reports half of each token's probability, while ratios are taken against the learner's own numbers."""
    halved = [tuple(logprob - math.log(2.0) for logprob in span.engine) for row in rows for span in row.spans]
    rows = fill_spans(rows, engine=halved)
    bypassing = learner(loaded).update(rows, learning_rate=0.0)
    assert bypassing["train/first_log_ratio"] == pytest.approx(math.log(2.0), abs=1e-4)
    mismatch = DecoupledMismatch(correction=correction, cap=1.5)  # type: ignore[arg-type]
    mine = learner(loaded, mismatch=mismatch)
    decoupled = mine.update(mine.annotate(rows), learning_rate=0.0)
    assert decoupled["train/first_log_ratio"] <= 1e-4
    assert decoupled["train/mismatch_kl"] == pytest.approx(bypassing["train/mismatch_kl"])
    plain = learner(loaded, mismatch=DecoupledMismatch(cap=100.0))
    doubled = plain.update(plain.annotate(rows), learning_rate=0.0)["train/grad_norm"]
    ratio = {"truncate": 1.5 / 2.0, "mask": 0.0}[correction]
    assert decoupled["train/grad_norm"] == pytest.approx(ratio * doubled, rel=1e-3)


def test_turns_with_engine_mismatch_are_masked(loaded: LoadedModel, rows: list[Row]) -> None:
    """If the engine's numbers are wrong in one turn, the rest is learned from as if that turn had no weight."""
    wrong = [
        tuple(logprob - math.log(3.0) for logprob in span.engine) if span is row.spans[0] else span.engine
        for row in rows
        for span in row.spans
    ]
    rows = fill_spans(rows, engine=wrong)
    weights = [0.0 if span is row.spans[0] else span.weight for row in rows for span in row.spans]

    def norm(rows: list[Row], **how: object) -> float:
        mine = learner(loaded, mismatch=DecoupledMismatch(cap=100.0, **how))  # type: ignore[arg-type]
        return mine.update(mine.annotate(rows), learning_rate=0.0)["train/grad_norm"]

    with_all, without = norm(rows, turns=4.0), norm(rows, turns=2.0)
    assert without == pytest.approx(norm(fill_spans(rows, weight=weights)), rel=1e-4)
    assert with_all > 1.1 * without


def test_reference_is_the_initial_policy(loaded: LoadedModel, rows: list[Row]) -> None:
    mine = learner(loaded, kl=Kl(weight=0.1, estimator="k1"))
    rows = mine.annotate(rows)
    assert all(span.reference == pytest.approx(span.old, abs=1e-6) for row in rows for span in row.spans)
    first = [span.reference for row in rows for span in row.spans]
    mine.update(rows, learning_rate=1e-2)
    again = [span for row in mine.annotate(rows) for span in row.spans]
    assert [span.reference for span in again] == [pytest.approx(one, abs=1e-6) for one in first]
    assert max(abs(a - b) for span in again for a, b in zip(span.old, span.reference, strict=True)) > 1e-2
    assert mine.reference is not None
    mine.reference.refresh()
    rows = mine.annotate(rows)
    assert all(span.reference == pytest.approx(span.old, abs=1e-6) for row in rows for span in row.spans)


def test_reference_may_be_a_moving_average(loaded: LoadedModel, rows: list[Row]) -> None:
    mine = learner(loaded, kl=Kl(weight=0.1, estimator="k1", refresh=1, refresh_share=0.25))
    assert mine.reference is not None
    expected = {name: p.detach().clone() for name, p in mine.named.items()}
    for _ in range(2):
        mine.update(mine.annotate(rows), learning_rate=1e-2)
        mine.refresh_reference(0.25)
        for name, p in mine.named.items():
            expected[name] = 0.75 * expected[name] + 0.25 * p.detach()
            torch.testing.assert_close(mine.reference.weights[name], expected[name])
    own = [span for row in mine.annotate(rows) for span in row.spans]
    with torch.no_grad():
        for name, p in mine.named.items():
            p.copy_(expected[name])
    averaged = [span for row in mine.annotate(rows) for span in row.spans]
    assert [span.reference for span in own] == [pytest.approx(span.old, abs=1e-5) for span in averaged]
    assert max(abs(a - b) for span in own for a, b in zip(span.old, span.reference, strict=True)) > 1e-3


def test_kl_weight_may_change_between_steps(loaded: LoadedModel, rows: list[Row]) -> None:
    def moved(weight: float | None) -> torch.Tensor:
        mine = learner(loaded, kl=Kl(weight=0.5))
        own = mine.annotate(rows)
        reference = [tuple(logprob - 1.0 for logprob in span.reference) for row in own for span in row.spans]
        mine.update(fill_spans(own, reference=reference), learning_rate=0.0, kl_weight=weight)
        return torch.cat([p.grad.flatten() for p in mine.named.values() if p.grad is not None])

    none, half = moved(0.0), moved(0.5)
    torch.testing.assert_close(moved(None), half)
    torch.testing.assert_close(moved(1.0) - none, 2.0 * (half - none), atol=1e-5, rtol=1e-3)
    assert (half - none).abs().max() > 1e-3


def test_imitation_weighs_repeated_pairs_and_lowers_the_loss(model_directory: Path) -> None:
    loaded = load_model(model_directory)
    mine = learner(loaded)
    one, two = loaded.chat.prompt("x . o"), loaded.chat.prompt(". . .")
    pairs = [(one, loaded.chat.reply("b2")), (one, loaded.chat.reply("b2")), (two, loaded.chat.reply("a1"))]
    expected = -sum(map(math.fsum, mine.score(pairs)))
    first = mine.imitate(pairs, 1e-3)["train/sft_loss"]
    assert first == pytest.approx(expected / sum(len(said) for _, said in pairs), rel=1e-4)
    for _ in range(20):
        last = mine.imitate(pairs, 1e-2)["train/sft_loss"]
    assert last < first / 2


def test_imitation_adds_its_gradient_to_reinforcement(loaded: LoadedModel, rows: list[Row]) -> None:
    pairs = [(loaded.chat.prompt("x . o"), loaded.chat.reply("b2"))]

    def grads(weight: float | None) -> torch.Tensor:
        mine = learner(loaded)
        mine.update(rows, learning_rate=0.0, auxiliary_sft=None if weight is None else iter([(weight, pairs)]))
        return torch.cat([p.grad.flatten() for p in mine.named.values() if p.grad is not None])

    alone, none = learner(loaded), grads(None)
    alone.imitate(pairs, 0.0)
    imitated = torch.cat([p.grad.flatten() for p in alone.named.values() if p.grad is not None])
    torch.testing.assert_close(grads(0.7) - none, 0.7 * imitated, atol=1e-5, rtol=1e-3)


def test_critic_warmup_does_not_change_the_policy(loaded: LoadedModel, rows: list[Row]) -> None:
    pairs = [(loaded.chat.prompt("x . o"), loaded.chat.reply("b2"))]
    mine = learner(loaded, critic=Critic())
    rows = mine.annotate(rows)
    before = {name: p.clone() for name, p in mine.named.items()}
    mine.update(rows, learning_rate=1e-2, policy_learns=False, auxiliary_sft=iter([(1.0, pairs)] * 4))
    assert all(torch.equal(p, before[name]) for name, p in mine.named.items())


def test_non_finite_gradients_are_skipped_then_stop_the_run(
    loaded: LoadedModel, rows: list[Row], tmp_path: Path
) -> None:
    rows[0] = fill_spans(rows[:1], advantage=[float("nan")])[0]
    settings = Optimizer(epochs=1, minibatches=1, max_bad_steps=3)
    mine = LocalLearner(
        loaded.model, loaded.pad, settings, loss=Loss(temperature=TEMPERATURE), dumps=tmp_path / "dumps"
    )
    before = {name: p.clone() for name, p in mine.named.items()}
    for _ in range(2):
        assert mine.update(rows, learning_rate=1e-2)["train/skipped"] == 1.0
    assert all(torch.equal(p, before[name]) for name, p in mine.named.items())
    assert mine.policy_version == 0
    with pytest.raises(GymposiumError, match="not finite in 3 consecutive"):
        mine.update(rows, learning_rate=1e-2)
    dumps = sorted((tmp_path / "dumps").iterdir())
    assert len(dumps) == 3
    dump = json.loads(dumps[0].read_text(encoding="utf-8"))
    assert len(dump["rows"]) == len(rows)
    assert dump["parameters"]


def test_target_kl_ends_the_update_early(loaded: LoadedModel, rows: list[Row]) -> None:
    settings = Optimizer(epochs=4, minibatches=1)
    for target, steps in ((1e-5, 1), (0.0, 4)):  # the first step is taken by a policy that has not moved
        mine = learner(loaded, settings.model_copy(update={"target_kl": target}))
        mine.update(rows, learning_rate=1e-2)
        assert mine.policy_version == steps


def test_resumes_from_its_tensors_bit_for_bit(model_directory: Path, rows: list[Row]) -> None:
    def fresh() -> LocalLearner:
        return learner(load_model(model_directory), critic=Critic(), kl=Kl(weight=0.1))

    def go_on(mine: LocalLearner, steps: range) -> list[dict[str, float]]:
        return [mine.update(mine.annotate(rows), learning_rate=1e-3, entropy_weight=0.01, seed=step) for step in steps]

    straight = fresh()
    expected = go_on(straight, range(4))[2:]
    stopped = fresh()
    go_on(stopped, range(2))
    resumed = fresh()
    resumed.load({name: tensor.clone() for name, tensor in stopped.tensors()})
    assert go_on(resumed, range(2, 4)) == expected
    assert resumed.policy_version == straight.policy_version
    there = dict(straight.tensors())
    assert dict(resumed.tensors()).keys() == there.keys()
    assert all(torch.equal(tensor, there[name]) for name, tensor in resumed.tensors())


def test_refuses_tensors_of_another_learner(loaded: LoadedModel, model_directory: Path) -> None:
    other = dict(learner(load_model(model_directory)).tensors())
    with pytest.raises(GymposiumError, match="does not match this learner"):
        learner(loaded).load(other)
    with pytest.raises(GymposiumError, match="reference policy"):
        learner(loaded, kl=Kl(weight=0.1)).load(dict(learner(loaded).tensors()))


def test_no_tensor_is_as_large_as_vocabulary_times_prompt_length(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor as large as vocabulary times sampled tokens, if there are many."""
    monkeypatch.setattr(head, "LOGIT_BYTES", 16 * 8 * 320)
    said, sizes = 64, []
    for length in (40, 400):
        legal = ((1, 2, 3),) * said
        span = Span(length, length + said, (-1.0,) * said, legal=legal, weight=1.0)
        row = Row(tuple(range(10, 10 + length + said)), (span,))
        row = Row(tuple(i % 300 for i in row.ids), row.spans)
        for layout in ("shared", "padded", "packed"):
            mine = learner(loaded, ONE_STEP.model_copy(update={"layout": layout}))
            with LargestTensor() as largest:
                mine.update([row], learning_rate=0.0, entropy_weight=0.1)
            sizes.append(largest.elements)
            assert largest.elements < 320 * length
    assert max(sizes) < 320 * 400


@given(prompts=st.lists(st.integers(0, 5), min_size=1, max_size=40), parts=st.integers(1, 5), seed=st.integers(0, 9))
def test_minibatches_cover_rows_once_and_keep_prompts_together(prompts: list[int], parts: int, seed: int) -> None:
    rows = [Row((p, 1), (Span(1, 2, (0.0,), advantage=float(i)),)) for i, p in enumerate(prompts)]
    found = make_minibatches(rows, parts, random.Random(seed))
    assert 1 <= len(found) <= parts
    assert sorted(row.spans[0].advantage for batch in found for row in batch) == list(range(len(rows)))
    most = math.ceil(len(rows) / parts)
    for prompt in set(prompts):
        holding = sum(any(row.prompt == (prompt,) for row in batch) for batch in found)
        assert holding <= math.ceil(prompts.count(prompt) / most)


@pytest.mark.parametrize("tune", ["lora", "full"])
def test_mixture_of_experts_learns_and_resumes(
    moe_directory: Path, rows: list[Row], tmp_path: Path, tune: Literal["lora", "full"]
) -> None:
    def make() -> LocalLearner:
        base = load_model(moe_directory)
        model = attach_lora(base.model, rank=4, alpha=8, seed=3) if tune == "lora" else base.model
        return learner(LoadedModel(model, base.chat), Optimizer(layout="packed"), critic=Critic())

    mine, other = make(), make()
    before = {name: p.detach().clone() for name, p in mine.named.items()}
    mine.update(mine.annotate(rows), learning_rate=1e-3)
    moved = {name.rpartition("layers.")[2] for name, p in mine.named.items() if not torch.equal(p, before[name])}
    assert ({"0.mlp.gate.weight", "1.mlp.experts.gate_up_proj", "1.mlp.experts.down_proj"} <= moved) == (tune == "full")
    assert any("q_proj" in name for name in moved)
    mine.save_state(tmp_path)
    assert (tmp_path / "adapter_config.json").is_file() == (tune == "lora")
    other.load_state(tmp_path)
    pairs = [(row.ids[:-1], row.ids[-1:]) for row in rows[:4]]
    assert other.score(pairs) == mine.score(pairs)


def test_weights_without_the_optimizer_are_restored(model_directory: Path, rows: list[Row], tmp_path: Path) -> None:
    def make() -> LocalLearner:
        return learner(load_model(model_directory), Optimizer(), critic=Critic(), kl=Kl(weight=0.1, estimator="k3"))

    mine, other = make(), make()
    mine.update(mine.annotate(rows), learning_rate=1e-3)
    (tmp_path / "weights").mkdir()
    (tmp_path / "state").mkdir()
    mine.save_state(tmp_path / "weights", weights_only=True)
    mine.save_state(tmp_path / "state")
    small, large = (sum(f.stat().st_size for f in (tmp_path / name).iterdir()) for name in ("weights", "state"))
    assert small < 0.3 * large  # the state has two moments and the reference
    other.load_state(tmp_path / "weights", weights_only=True)
    pairs = [(row.ids[:-1], row.ids[-1:]) for row in rows[:4]]
    assert other.score(pairs) == mine.score(pairs)
    assert other.policy_version == mine.policy_version
    with pytest.raises(GymposiumError, match="only one of them has a reference policy"):
        other.load_state(tmp_path / "weights")
