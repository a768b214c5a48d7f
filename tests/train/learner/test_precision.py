"""Weights are trained in float32 whatever the compute dtype, so small updates are not rounded away."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from gymposium_agents.chat.tokens import Policy
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.lora.files import WEIGHTS
from gymposium_agents.lora.saving import save_lora
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train.config import ColdStart, DecoupledMismatch, Kl, Optimizer, Precision
from gymposium_train.credit.protocol import Critic
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.learner.precision import MasterWeights, choose_compute_type
from gymposium_train.learner.rows import Row, fill_spans
from gymposium_train.run.checkpoints import load_checkpoint, save_checkpoint
from gymposium_train.run.lessons import imitate_batches

from .conftest import TEMPERATURE

RATES = (1e-6, 1e-5)
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")


def load_full(directory: Path, precision: Precision, **settings: object) -> tuple[LoadedModel, LocalLearner]:
    """A model of which all weights are trained."""
    loaded = load_model(directory)
    loss = Loss(temperature=TEMPERATURE, critic=Critic(), kl=Kl(weight=0.1, estimator="k3"))
    return loaded, LocalLearner(loaded.model, loaded.pad, Optimizer(precision=precision, **settings), loss=loss)  # type: ignore[arg-type]


def weights(learner: LocalLearner) -> dict[str, Tensor]:
    """All weights but those of positions, of which short rows have few."""
    return {
        name: tensor.clone()
        for name, tensor in learner.tensors()
        if name.startswith("weights|") and "critic" not in name and "embed_positions" not in name
    }


def compute_changed_share(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> float:
    """The share of weights that have changed."""
    changed = sum(int((after[name] != tensor).sum()) for name, tensor in before.items())
    return changed / sum(tensor.numel() for tensor in before.values())


def resample_logprobs(loaded: LoadedModel, rows: list[Row]) -> list[Row]:
    """The rows with log-probabilities as if this model had sampled them."""
    pairs = [(row.ids[: span.start], row.ids[span.start : span.stop]) for row in rows for span in row.spans]
    return fill_spans(rows, engine=loaded.engine().score(pairs, temperature=TEMPERATURE))


@pytest.mark.parametrize("rate", RATES)
def test_bf16_changes_as_many_weights_as_fp32(model_directory: Path, rows: list[Row], rate: float) -> None:
    shares = []
    for precision in PRECISIONS:
        _, learner = load_full(model_directory, precision, epochs=1, layout="packed")
        before = weights(learner)
        for seed in range(4):
            learner.update(learner.annotate(rows), learning_rate=rate, entropy_weight=0.01, seed=seed)
        shares.append(compute_changed_share(before, weights(learner)))
    assert shares[0] > 0.95
    assert shares[1] == pytest.approx(shares[0], abs=0.01)


@pytest.mark.parametrize("rate", RATES)
def test_cold_start_changes_as_many_weights_in_bf16(model_directory: Path, rate: float) -> None:
    shares = []
    for precision in PRECISIONS:
        loaded, learner = load_full(model_directory, precision)
        before = weights(learner)
        pairs = [(loaded.chat.prompt(text), loaded.chat.reply("b2")) for text in ("x . o", "a", "b c")]
        settings = ColdStart(steps=10, learning_rate=rate)
        for _ in imitate_batches(learner, iter([pairs] * 10), settings, progress=lambda step: step / 10):
            pass
        shares.append(compute_changed_share(before, weights(learner)))
    assert shares[0] > 0.95
    assert shares[1] == pytest.approx(shares[0], abs=0.01)


def test_models_in_16_bits_train_in_float32(model_directory: Path, tmp_path: Path, rows: list[Row]) -> None:
    """For any number type of the file's weights and of the computation."""
    for precision in PRECISIONS:
        loaded = load_model(model_directory, dtype=torch.bfloat16)
        learner = LocalLearner(loaded.model, loaded.pad, Optimizer(precision=precision))
        before = weights(learner)
        assert {tensor.dtype for tensor in before.values()} == {torch.float32}
        learner.imitate([(row.prompt, (7, 8)) for row in rows[:3]], 1e-6)
        assert compute_changed_share(before, weights(learner)) > 0.95


def test_micro_batch_gradients_accumulate_in_float32(model_directory: Path, rows: list[Row]) -> None:
    """The error of a sum does not grow with the number of micro-batches. The ratios are about one, far from where they
    are clipped."""
    one_step = {"epochs": 1, "minibatches": 1, "max_grad_norm": 1e9, "layout": "packed"}
    found = []
    rows = resample_logprobs(load_model(model_directory), rows)
    for precision, budget in (("fp32", 10_000), ("bf16", 10_000), ("bf16", 1)):
        loaded, learner = load_full(model_directory, precision, token_budget=budget, **one_step)
        learner.update(learner.annotate(rows), learning_rate=0.0)
        gradients = [p.grad for p in learner._stepper.named.values() if p.grad is not None]
        assert {gradient.dtype for gradient in gradients} == {torch.float32}
        if precision == "bf16":  # only masters hold gradients between passes
            assert all(p.grad is None for p in loaded.model.parameters())
        found.append(torch.cat([gradient.flatten() for gradient in gradients]))
    exact, together, one_by_one = found
    assert (together - exact).norm() < 0.05 * exact.norm()
    assert (one_by_one - exact).norm() < 0.05 * exact.norm()
    assert not torch.equal(one_by_one, one_by_one.bfloat16().float())


def test_engine_sharing_the_model_plays_learned_weights(model_directory: Path) -> None:
    loaded, learner = load_full(model_directory, "bf16")
    engine = loaded.engine(Policy("learner", 0))
    pairs = [(loaded.chat.prompt(text), loaded.chat.reply("b2")) for text in ("x . o", "a")]
    assert loaded.model.dtype == learner.dtype == torch.bfloat16
    tolerance = learner.tolerance
    before = engine.score(pairs)
    for version in range(1, 6):
        learner.imitate(pairs, 1e-2)
        engine.weights_changed(Policy("learner", version))
    for mine, theirs, earlier in zip(learner.score(pairs), engine.score(pairs), before, strict=True):
        assert mine == pytest.approx(theirs, abs=tolerance)
        assert sum(mine) - sum(earlier) > 1.0


def test_initial_ratios_are_one_in_bf16(model_directory: Path, rows: list[Row]) -> None:
    """The log-probabilities of engine and learner differ only by rounding."""
    loaded = load_model(model_directory)
    loss = Loss(temperature=TEMPERATURE, mismatch=DecoupledMismatch())
    learner = LocalLearner(loaded.model, loaded.pad, Optimizer(precision="bf16", epochs=1, minibatches=1), loss=loss)
    rows = learner.annotate(resample_logprobs(loaded, rows))
    metrics = learner.update(rows, learning_rate=0.0)
    assert metrics["train/first_log_ratio"] <= 1e-5  # to the learner's own
    assert metrics["train/mismatch_kl"] < 0.01


def test_weights_are_saved_in_training_precision(model_directory: Path, tmp_path: Path, rows: list[Row]) -> None:
    loaded, learner = load_full(model_directory, "bf16")
    learner.imitate([(row.prompt, (7, 8)) for row in rows[:3]], 1e-5)
    computed = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    with learner.in_float32():
        loaded.save(tmp_path)
    expected = {name: tensor.clone() for name, tensor in learner._stepper.named.items() if "critic" not in name}
    saved = dict(load_model(tmp_path).model.named_parameters())
    assert saved.keys() == expected.keys()
    assert all(torch.equal(saved[name], tensor) for name, tensor in expected.items())
    assert not all(torch.equal(tensor, tensor.bfloat16().float()) for tensor in expected.values())
    for name, tensor in loaded.model.state_dict().items():  # and it goes on computing as it did
        assert tensor.dtype == computed[name].dtype
        assert torch.equal(tensor, computed[name])
    for name, tensor in load_model(tmp_path, dtype=torch.bfloat16).model.state_dict().items():
        assert torch.equal(tensor, computed[name])


def test_resumes_from_a_checkpoint_bit_for_bit(model_directory: Path, tmp_path: Path, rows: list[Row]) -> None:
    pairs = [(row.prompt, (7, 8)) for row in rows[:3]]
    _, learner = load_full(model_directory, "bf16")
    learner.imitate(pairs, 1e-3)
    learner.refresh_reference()
    saved = save_checkpoint(tmp_path, learner, {"step": 1}, keep=1)
    learner.imitate(pairs, 1e-5)

    _, again = load_full(model_directory, "bf16")
    load_checkpoint(saved, again)
    again.imitate(pairs, 1e-5)
    assert again.score(pairs) == learner.score(pairs)
    expected = dict(learner.tensors())
    for name, tensor in again.tensors():
        assert tensor.dtype == expected[name].dtype, name
        assert torch.equal(tensor, expected[name]), name


def test_moving_average_is_not_rounded(model_directory: Path, rows: list[Row]) -> None:
    """In bfloat16, a hundredth of a small step would be rounded away."""
    loaded = load_model(model_directory)
    loss = Loss(temperature=TEMPERATURE, kl=Kl(weight=0.1, refresh=1, refresh_share=0.01))
    learner = LocalLearner(loaded.model, loaded.pad, Optimizer(precision="bf16"), loss=loss)
    assert learner.reference is not None
    before = {name: p.detach().clone() for name, p in learner._masters.named.items()}
    learner.update(learner.annotate(rows), learning_rate=1e-4)
    learner.refresh_reference(0.01)
    computed = {name: p.detach().clone() for name, p in learner.named.items()}
    learner.annotate(rows)  # the model then holds the rounded current weights again
    for name, master in learner._masters.named.items():
        torch.testing.assert_close(learner.reference.weights[name], 0.99 * before[name] + 0.01 * master.detach())
        assert torch.equal(learner.named[name], computed[name])
    assert any(not torch.equal(learner.reference.weights[name], before[name]) for name in before)


def test_lora_computes_in_base_dtype_and_trains_in_float32(
    model_directory: Path, tmp_path: Path, rows: list[Row]
) -> None:
    base = load_model(model_directory, dtype=torch.bfloat16)
    model = attach_lora(base.model, rank=4, alpha=8, seed=0)
    learner = LocalLearner(model, base.pad, Optimizer(precision="bf16"))
    before = weights(learner)
    learner.imitate([(row.prompt, (7, 8)) for row in rows[:3]], 1e-6)
    types = {name: p.dtype for name, p in model.named_parameters()}
    assert set(types.values()) == {torch.bfloat16}
    assert {p.dtype for p in learner._stepper.named.values()} == {torch.float32}
    after = weights(learner)
    assert compute_changed_share({name: tensor for name, tensor in before.items() if "lora_B" in name}, after) > 0.95
    save_lora(model, tmp_path / "played")  # what an engine gets: what the learner computes with
    learner.save_state(tmp_path / "learned")
    for name, learned in load_file(tmp_path / "learned" / WEIGHTS).items():
        played = load_file(tmp_path / "played" / WEIGHTS)[name]
        assert torch.equal(played, learned.bfloat16().float())
        assert torch.equal(played, learned) == ("lora_A" in name)  # whose gradient is 0 in the first step
    assert learner.dtype == torch.bfloat16


def test_float32_modules_of_an_architecture_stay(model_directory: Path) -> None:
    model = load_model(model_directory).model
    model._keep_in_fp32_modules_strict = {"self_attn_layer_norm", "layers.*.fc1"}
    masters = MasterWeights(dict(model.named_parameters()))
    masters.compute_in(torch.bfloat16, model)
    kept = {name for name, p in model.named_parameters() if p.dtype == torch.float32}
    assert kept == {name for name in masters.named if "self_attn_layer_norm" in name or "fc1" in name}
    assert all(p.dtype == torch.float32 for p in masters.named.values())
    assert isinstance(masters.named["model.decoder.final_layer_norm.weight"], nn.Parameter)


def test_cpu_computes_in_float32_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_compute_type("auto") == choose_compute_type("fp32") == torch.float32
    assert choose_compute_type("bf16") == torch.bfloat16
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for has, expected in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, has=has: has)
        assert choose_compute_type("auto") == expected
