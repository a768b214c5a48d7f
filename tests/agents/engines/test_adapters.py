"""The in-process engine holds adapters by name and leaves a shared model unchanged."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from gymposium.errors import GymposiumError
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import BASE, Policy, Sampling, TokenRequest
from gymposium_agents.engines.protocol import AdapterHost
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import load_model
from gymposium_agents.models.small import make_small_model

OLD, NEW, TINY = Policy("learner", 1), Policy("learner", 2), Policy("hub.org/x%1", 0)
PAIR = ((5, 6, 7, 8), (9, 10, 11))


@pytest.fixture(scope="module")
def directories(
    model_directory: Path, adapter_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[Policy, Path]:
    """Adapters of several ranks and targets."""
    found = {OLD: adapter_directory}
    for policy, rank in ((NEW, 8), (TINY, 2)):
        model = attach_lora(load_model(model_directory).model, rank=rank, alpha=8, seed=rank)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(std=0.3, generator=torch.Generator().manual_seed(rank))
        found[policy] = tmp_path_factory.mktemp("adapters") / "one"
        model.save_pretrained(found[policy])
    return found


def compute_scores(engine: TransformersEngine, policy: Policy | None = None) -> tuple[float, ...]:
    return engine.score([PAIR], policy=policy)[0]


def state(model: Any) -> list[Any]:
    """The state of a model that a learner depends on."""
    return [
        [(name, parameter.requires_grad) for name, parameter in model.named_parameters() if "v1" not in name],
        [(name, module.training) for name, module in model.named_modules() if "v1" not in name],
    ]


def test_each_policy_answers_like_its_adapter_alone(model_directory: Path, directories: dict[Policy, Path]) -> None:
    engine = load_model(model_directory).engine()
    assert isinstance(engine, AdapterHost)
    expected = {BASE: compute_scores(engine)}
    for policy, directory in directories.items():
        engine.publish(directory, policy)
        assert engine.policy == policy
        expected[policy] = compute_scores(load_model(model_directory, directory).engine())
    assert engine.adapters == tuple(directories)
    for policy, scores in expected.items():
        assert compute_scores(engine, policy) == pytest.approx(scores, abs=1e-6)
    assert len({tuple(round(one, 3) for one in scores) for scores in expected.values()}) == 4


def test_loaded_policies_answer_by_name(model_directory: Path, directories: dict[Policy, Path]) -> None:
    engine = load_model(model_directory).engine()
    engine.publish(directories[OLD], OLD)
    old, drawn = compute_scores(engine), torch.random.get_rng_state()
    engine.load(directories[NEW], NEW)
    assert torch.equal(torch.random.get_rng_state(), drawn)  # other code may draw from it
    assert (engine.policy, engine.adapters) == (OLD, (OLD, NEW))
    assert compute_scores(engine) == old
    assert compute_scores(engine, NEW) == compute_scores(load_model(model_directory, directories[NEW]).engine())
    engine.retire(NEW)
    assert compute_scores(engine) == old


def test_one_call_may_mix_policies(model_directory: Path, directories: dict[Policy, Path]) -> None:
    engine = load_model(model_directory).engine()
    for policy, directory in directories.items():
        engine.publish(directory, policy)
    policies = [BASE, OLD, None, TINY, NEW]

    def request(number: int) -> TokenRequest:
        prompt = tuple(range(5, 9 + number % 3))
        return TokenRequest(prompt, random.Random(number), policies[number % 5])

    together = engine.generate([request(i) for i in range(20)], Sampling(1.0, 5))
    assert [c.policy for c in together] == [policies[i % 5] or TINY for i in range(20)]
    for i, completion in enumerate(together):
        (alone,) = engine.generate([request(i)], Sampling(1.0, 5))
        assert alone.ids == completion.ids


def test_engine_leaves_a_shared_learner_model_unchanged(model_directory: Path, directories: dict[Policy, Path]) -> None:
    model = attach_lora(load_model(model_directory).model, rank=4, alpha=8, seed=0).train()
    parameter = next(p for name, p in model.named_parameters() if "lora_B" in name)
    engine = TransformersEngine(model, stops=frozenset(), pad=0, policy=Policy("mine"))
    before, base = state(model), compute_scores(engine, BASE)
    assert compute_scores(engine, Policy("mine")) == base  # a new LoRA adds nothing
    engine.publish(directories[OLD], OLD)
    assert state(model) == before
    for policy in (BASE, OLD, Policy("mine")):
        compute_scores(engine, policy)
        engine.generate([TokenRequest(PAIR[0], random.Random(0), policy)], Sampling(1.0, 2))
        assert state(model) == before
        assert model.active_adapters == ["default"]
    loss = model(torch.tensor([[5, 6, 7]])).logits.float().logsumexp(-1).sum()
    loss.backward()
    assert parameter.grad is not None
    assert parameter.grad.abs().sum() > 0
    with torch.no_grad():
        parameter.add_(0.5)
    engine.weights_changed(Policy("mine", 1))
    assert engine.policy == Policy("mine", 1)
    assert engine.adapters == (Policy("mine", 1), OLD)
    assert compute_scores(engine) != pytest.approx(base, abs=1e-4)
    assert compute_scores(engine, BASE) == base
    with pytest.raises(GymposiumError, match=r"Unknown policy 'mine-v0'. The engine holds base, mine-v1, learner-v1"):
        compute_scores(engine, Policy("mine"))


def test_full_training_changes_the_base_and_every_policy(
    model_directory: Path, directories: dict[Policy, Path]
) -> None:
    model = load_model(model_directory).model
    before = state(model)
    engine = TransformersEngine(model, stops=frozenset(), pad=0)
    engine.publish(directories[OLD], OLD)
    old = compute_scores(engine, OLD)
    assert [flag for _, flag in state(model)[0] if flag] == [flag for _, flag in before[0] if flag]
    with torch.no_grad():
        plain = model(torch.tensor([PAIR[0] + PAIR[1]])).logits
        model.get_input_embeddings().weight.mul_(1.5)
        assert not torch.equal(model(torch.tensor([PAIR[0] + PAIR[1]])).logits, plain)
    engine.weights_changed(Policy("whole", 1))
    assert compute_scores(engine, OLD) != pytest.approx(old, abs=1e-4)
    assert compute_scores(engine) != pytest.approx(compute_scores(engine, OLD), abs=1e-4)
    with pytest.raises(GymposiumError, match="Unknown policy 'base'"):
        compute_scores(engine, BASE)


def test_retired_adapters_are_gone(model_directory: Path, directories: dict[Policy, Path]) -> None:
    model = load_model(model_directory).model
    names = [name for name, _ in model.named_parameters()]
    engine = TransformersEngine(model, stops=frozenset(), pad=0)
    base = compute_scores(engine)
    engine.publish(directories[OLD], OLD)
    engine.publish(directories[NEW], NEW)
    new = compute_scores(engine)
    with pytest.raises(GymposiumError, match=r"'learner-v2' is the current policy. Publish another"):
        engine.retire(NEW)
    engine.retire(OLD)
    assert engine.adapters == (NEW,)
    assert compute_scores(engine) == new
    assert compute_scores(engine, BASE) == base
    with pytest.raises(
        GymposiumError, match=r"Unknown policy 'learner-v1'. The engine holds base, learner-v2. Publish"
    ):
        engine.retire(OLD)
    engine.weights_changed(BASE)
    engine.retire(NEW)
    assert engine.adapters == ()
    assert compute_scores(engine) == base
    assert [name for name, _ in engine.model.named_parameters()] == names
    engine.publish(directories[OLD], OLD)
    assert compute_scores(engine) != pytest.approx(base, abs=1e-4)


def copy_with_config(directory: Path, to: Path, **settings: Any) -> Path:
    """A copy of an adapter with another configuration."""
    shutil.copytree(directory, to)
    file = to / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | settings), encoding="utf-8")
    return to


def test_refuses_incompatible_adapters(
    model_directory: Path, directories: dict[Policy, Path], tiny_size: SmallModel, tmp_path: Path
) -> None:
    model = load_model(model_directory).model
    engine = TransformersEngine(model, stops=frozenset(), pad=0)
    base = compute_scores(engine)
    make_small_model(tmp_path / "wide", ["b2"], seed=1, size=SmallModel(hidden=48, layers=2, heads=2, vocabulary=320))
    other = attach_lora(load_model(tmp_path / "wide").model, rank=4, alpha=8, seed=0)
    other.save_pretrained(tmp_path / "other")
    bad = {
        tmp_path / "other": "does not fit the model: it was made for another base .*wide",
        tmp_path / "nothing": "No adapter at",
        copy_with_config(directories[OLD], tmp_path / "rank", r=2): "weights of rank 4, but its adapter_config.json",
        copy_with_config(directories[OLD], tmp_path / "bias", bias="all"): "its biases are trained",
        copy_with_config(directories[OLD], tmp_path / "saved", modules_to_save=["lm_head"]): "modules_to_save: lm_head",
        copy_with_config(directories[OLD], tmp_path / "pissa", init_lora_weights="pissa"): "init_lora_weights='pissa'",
        copy_with_config(directories[OLD], tmp_path / "kind", peft_type="IA3"): "has the type 'IA3', but only LORA",
        copy_with_config(directories[OLD], tmp_path / "targets", target_modules=["nowhere"]): "does not fit the model",
    }
    fewer = copy_with_config(directories[OLD], tmp_path / "fewer")
    weights = load_file(fewer / "adapter_model.safetensors")
    weights.pop(next(iter(weights)))
    save_file(weights, fewer / "adapter_model.safetensors")
    bad[fewer] = "unmatched weights"
    for first in (True, False):
        if not first:
            engine.publish(directories[OLD], OLD)
        for directory, message in bad.items():
            with pytest.raises(GymposiumError, match=message) as raised:
                engine.publish(directory, NEW)
            assert "\n" not in str(raised.value)  # torch prints a line for each of a model's tensors
            assert engine.adapters == (() if first else (OLD,))
            assert compute_scores(engine, BASE) == base
    with pytest.raises(GymposiumError, match="already holds 'learner-v1'"):
        engine.publish(directories[OLD], OLD)
    engine.publish(directories[NEW], NEW)


def test_base_policy_refuses_a_model_with_an_adapter(model_directory: Path, adapter_directory: Path) -> None:
    with pytest.raises(GymposiumError, match="its policy cannot be base"):
        load_model(model_directory, adapter_directory).engine(BASE)
