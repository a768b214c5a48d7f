"""The canary accepts an engine with the learned weights and refuses any other."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest
from gymposium_agents.engines.adapters import compute_lora_digest
from gymposium_agents.engines.canary import Agreement, Canary, EngineMismatch, Scorer, choose_tolerance
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.lora.saving import save_lora
from gymposium_agents.models.loading import LoadedModel, load_model

LEARNED = Policy("learner", 3)
RULES = "Three in a row win, whoever is first to have them; a full board is a draw. " * 3
PROMPTS = (RULES + "x . o", RULES + "x . o\nwith more behind it")
SHORT = ("x . o: Legal moves: a1, b2", "o . . x: Your bid? Cards left: 1, 3, 4")


def load_trainable(model_directory: Path, seed: int = 0, dtype: torch.dtype = torch.float32) -> LoadedModel:
    base = load_model(model_directory)
    return LoadedModel(attach_lora(base.model.to(dtype), rank=4, alpha=8, seed=seed).eval(), base.chat)


def learn(loaded: LoadedModel, seed: int = 0, by: float = 0.05) -> None:
    """Change the LoRA as an update does."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in loaded.model.named_parameters():
            if "lora_B" in name:
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=by)


def make_canary(learner: LoadedModel, dtype: str = "float32", texts: Sequence[str] = PROMPTS) -> Canary:
    return Canary([learner.chat.prompt(text) for text in texts], tolerance=choose_tolerance(dtype))


def make_scorer(learner: LoadedModel) -> Scorer:
    """Log-probabilities without an engine: one plain forward pass for each pair."""

    def score(pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[list[float]]:
        found = []
        for prompt, completion in pairs:
            with torch.no_grad():
                logits = learner.model(torch.tensor([[*prompt, *completion]])).logits[0].float()
            logprobs = torch.log_softmax(logits, -1)[len(prompt) - 1 : -1]
            found.append([float(row[token]) for row, token in zip(logprobs, completion, strict=True)])
        return found

    return score


def check_first_publish(engine: Any, learner: LoadedModel, policy: Policy = LEARNED, dtype: str = "float32") -> float:
    """The check of a first publish."""
    return make_canary(learner, dtype).check(engine, policy, make_scorer(learner)).largest


def test_engine_with_learned_weights_agrees(model_directory: Path) -> None:
    loaded = load_trainable(model_directory)
    engine = loaded.engine()
    for version in range(1, 4):
        learn(loaded, version)
        engine.weights_changed(Policy("learner", version))
        assert check_first_publish(engine, loaded, Policy("learner", version)) < 1e-5


def test_missing_update_stops_the_run(model_directory: Path) -> None:
    """The learner's weights changed, but the engine in another process answers with the old ones."""
    learner, elsewhere = load_trainable(model_directory), load_trainable(model_directory)
    engine = elsewhere.engine()
    engine.weights_changed(LEARNED)
    assert check_first_publish(engine, learner) < 1e-5  # the same weights until here
    learn(learner)
    with pytest.raises(EngineMismatch, match=r"learner-v3 was published, but the engine does not play it: .* nats"):
        check_first_publish(engine, learner)


def test_wrong_adapter_stops_the_run(model_directory: Path) -> None:
    learner, wrong = load_trainable(model_directory), load_trainable(model_directory)
    learn(learner, 1)
    learn(wrong, 2)
    engine = wrong.engine()
    engine.weights_changed(LEARNED)
    with pytest.raises(EngineMismatch, match="resume from the last checkpoint"):
        check_first_publish(engine, learner)


def test_prefixes_cached_under_old_weights_stop_the_run(model_directory: Path) -> None:
    """The engine shares the model, but does not learn that the weights changed, and keeps its cached prefixes."""
    loaded = load_trainable(model_directory)
    engine = loaded.engine()
    engine.weights_changed(LEARNED)
    check_first_publish(engine, loaded)
    learn(loaded, by=0.3)
    with pytest.raises(EngineMismatch, match="prefixes"):
        check_first_publish(engine, loaded)
    engine.weights_changed(LEARNED)
    assert check_first_publish(engine, loaded) < 1e-5


def test_single_outlier_token_is_reported_without_stopping(model_directory: Path) -> None:
    """In 16 bits, a single token of a large model may differ by more than the mean of all tokens does."""
    learner = load_trainable(model_directory)
    engine = learner.engine()
    engine.weights_changed(LEARNED)
    plain, checker = make_scorer(learner), make_canary(learner, "bfloat16", [f"{RULES}{text}" for text in range(8)])

    def score(pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], by: float = 0.5) -> list[list[float]]:
        first, *others = plain(pairs)
        return [[*first[:-1], first[-1] + by], *others]

    agreement = checker.check(engine, LEARNED, score)
    assert agreement.largest == pytest.approx(0.5, abs=1e-4)
    assert agreement.mean < 0.1
    for by in (1e3, math.nan):
        with pytest.raises(EngineMismatch, match="on average"):
            checker.check(engine, LEARNED, partial(score, by=by))


def test_engine_reporting_another_policy_stops_the_run(model_directory: Path) -> None:
    loaded = load_trainable(model_directory)

    class Elsewhere:
        """An engine that serves another version and reports it."""

        def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
            completions = loaded.engine().generate([TokenRequest(r.prompt, r.rng) for r in requests], sampling)
            return [Completion(c.ids, c.logprobs, c.finish_reason, Policy("learner", 2)) for c in completions]

    with pytest.raises(EngineMismatch, match="learner-v3 was published, but the engine answered as learner-v2"):
        check_first_publish(Elsewhere(), loaded)


class Servers:
    """An engine over several engines, one for each server."""

    def __init__(self, **engines: Any) -> None:
        self.engines = engines

    def each_server(self, ask: Callable[[Any], Any]) -> dict[str, Any]:
        return {name: ask(engine) for name, engine in self.engines.items()}


def test_outdated_server_is_named(model_directory: Path) -> None:
    learner, elsewhere = load_trainable(model_directory), load_trainable(model_directory)
    here, behind = learner.engine(), elsewhere.engine()
    servers, check = Servers(here=here, behind=behind), make_canary(learner)
    for version in (1, 2):
        policy = Policy("learner", version)
        learn(learner, version)
        learn(elsewhere, version)
        here.weights_changed(policy)
        behind.weights_changed(policy)
        agreement = check.check(servers, policy, make_scorer(learner))
        assert agreement.largest < 1e-5
        assert agreement.correlation is None if version == 1 else agreement.correlation > 0.99
    learn(learner, 3)
    for engine in (here, behind):
        engine.weights_changed(LEARNED)
    with pytest.raises(EngineMismatch, match="the server at behind does not play it"):
        check.check(servers, LEARNED, make_scorer(learner))


def test_changes_are_compared_per_server(model_directory: Path) -> None:
    """Updates that one server loses show in its changes, before they show in 16 bits otherwise."""
    learner, elsewhere = load_trainable(model_directory), load_trainable(model_directory)
    here, behind = learner.engine(), elsewhere.engine()
    servers, check = Servers(here=here, behind=behind), make_canary(learner, "bfloat16")

    def update(version: int) -> None:
        policy = Policy("learner", version)
        learn(learner, version, by=0.03)
        here.weights_changed(policy)
        behind.weights_changed(policy)
        check.check(servers, policy, make_scorer(learner))

    with pytest.raises(EngineMismatch, match="the server at behind did not change like the learner"):
        [*map(update, range(1, 20))]


@pytest.mark.parametrize("place", [0, 1])
def test_any_nan_stops_the_run(model_directory: Path, place: int) -> None:
    loaded = load_trainable(model_directory)
    engine = loaded.engine()
    engine.weights_changed(LEARNED)

    def broken(pairs: Sequence[Any]) -> list[list[float]]:
        found = [[0.0 for _ in completion] for _, completion in pairs]
        found[place][-1] = float("nan")
        return found

    prompts = [loaded.chat.prompt(text) for text in ("x", "o")]
    with pytest.raises(EngineMismatch, match="nan nats"):
        Canary(prompts, tolerance=1e9).check(engine, LEARNED, broken)


def test_check_is_deterministic_and_leaves_rng_state_alone(model_directory: Path) -> None:
    loaded = load_trainable(model_directory)
    engine = loaded.engine()
    engine.weights_changed(LEARNED)
    torch_before, python_before = torch.get_rng_state(), random.getstate()
    first = check_first_publish(engine, loaded)
    assert check_first_publish(engine, loaded) == first
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert random.getstate() == python_before


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_lost_update_exceeds_16_bit_tolerance(model_directory: Path, dtype: str) -> None:
    learner, elsewhere = (load_trainable(model_directory, dtype=getattr(torch, dtype)) for _ in range(2))
    engine = elsewhere.engine()
    engine.weights_changed(LEARNED)
    assert check_first_publish(engine, learner, dtype=dtype) <= choose_tolerance(dtype)
    learn(learner, by=0.3)
    with pytest.raises(EngineMismatch):
        check_first_publish(engine, learner, dtype=dtype)


class Pair:
    """A learner, and an engine with another model, to which the learner's LoRA is copied at each publish."""

    def __init__(self, model_directory: Path, dtype: str, publishes: Callable[[int], bool] = lambda version: True):
        self.learner, elsewhere = (load_trainable(model_directory, dtype=getattr(torch, dtype)) for _ in range(2))
        self.engine = elsewhere.engine()
        self.canary = make_canary(self.learner, dtype, SHORT)
        self._publishes = publishes
        self._theirs = dict(elsewhere.model.named_parameters())
        self._trained = {name: p for name, p in self.learner.model.named_parameters() if p.requires_grad}
        learn(self.learner, by=0.1)  # a LoRA after some learning
        self.publish(0)

    def publish(self, version: int) -> Agreement:
        if version == 0 or self._publishes(version):
            with torch.no_grad():
                for name, parameter in self._trained.items():
                    self._theirs[name].copy_(parameter)
        policy = Policy("learner", version)
        self.engine.weights_changed(policy)
        return self.canary.check(self.engine, policy, make_scorer(self.learner))

    def step(self, version: int, by: float) -> None:
        """An update like AdamW's: every weight changes by about the same amount, in a direction that persists for
        some steps."""
        generator = torch.Generator().manual_seed(version // 4)
        with torch.no_grad():
            for parameter in self._trained.values():
                parameter.add_(torch.randn(parameter.shape, generator=generator).sign(), alpha=by)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("versions", [40, pytest.param(140, marks=pytest.mark.slow)])
def test_healthy_publishes_raise_no_alarm(model_directory: Path, dtype: str, versions: int) -> None:
    """Updates in each number type, with large and small steps, and versions without any change."""
    pair = Pair(model_directory, dtype)
    rates = (1e-3, 1e-5, 1e-4, 0.0, 1e-6)
    found = []
    for version in range(1, versions + 1):
        pair.step(version, rates[version // 4 % len(rates)])
        found.append(pair.publish(version).correlation)
    compared = [correlation for correlation in found if correlation is not None]
    assert len(compared) > versions // 14
    assert min(compared) > 0.4


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_lost_later_updates_are_detected_by_changes(model_directory: Path, dtype: str) -> None:
    lost = 6
    pair = Pair(model_directory, dtype, publishes=lambda version: version < lost)
    for version in range(1, lost):
        pair.step(version, 2e-3)
        pair.publish(version)
    pair.canary._tolerance = math.inf  # in float32 the other check finds it as well

    def publish_on() -> None:
        for version in range(lost, lost + 3):
            pair.step(version, 2e-3)
            pair.publish(version)

    with pytest.raises(EngineMismatch, match="was published, but the engine did not change like the learner"):
        publish_on()


def test_unchanged_learner_has_no_correlation(model_directory: Path) -> None:
    pair = Pair(model_directory, "bfloat16")
    assert [pair.publish(version).correlation for version in range(1, 4)] == [None] * 3


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_digest_detects_a_lost_first_update(model_directory: Path, tmp_path: Path, dtype: str) -> None:
    """The digest differs after a change that no other check finds."""
    learner = load_trainable(model_directory, dtype=getattr(torch, dtype))
    found = make_canary(learner, dtype)
    told = partial(compute_lora_digest, learner.model)
    base = load_model(model_directory)
    engine = LoadedModel(base.model.to(getattr(torch, dtype)), base.chat).engine()
    for version in (1, 2):
        learn(learner, version)
        save_lora(learner.model, tmp_path / str(version))
        engine.publish(tmp_path / str(version), Policy("learner", version))
        found.check(engine, Policy("learner", version), make_scorer(learner), told)
    learn(learner, 3, by=1e-7)
    engine.publish(tmp_path / "2", Policy("learner", 3))
    with pytest.raises(EngineMismatch, match="learner-v3 was published, but the engine holds other weights"):
        found.check(engine, Policy("learner", 3), make_scorer(learner), told)
