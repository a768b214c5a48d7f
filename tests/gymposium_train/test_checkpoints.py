"""Checkpoints: whole or not at all, and what was saved is what comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gymposium_agents.durable import MARK
from gymposium_agents.loading import LoadedModel, load_model
from gymposium_agents.lora.attach import attach_lora, load_lora
from gymposium_train.checkpoints import broken_checkpoints, complete_checkpoints, load_checkpoint, save_checkpoint
from gymposium_train.learner import Learner


def fresh(model_directory: Path, seed: int) -> tuple[LoadedModel, Learner]:
    base = load_model(model_directory)
    loaded = LoadedModel(attach_lora(base.model, rank=4, alpha=8, seed=seed), base.chat)
    return loaded, Learner(loaded.model, loaded.pad, token_budget=4096)


def teach(loaded: LoadedModel, learner: Learner, steps: int) -> None:
    pair = (loaded.chat.prompt("x . o"), loaded.chat.reply("b2"))
    for _ in range(steps):
        learner.imitate([pair], 1e-2)


def test_going_on_from_a_checkpoint_is_never_having_stopped(model_directory: Path, tmp_path: Path) -> None:
    loaded, learner = fresh(model_directory, seed=1)
    teach(loaded, learner, 3)
    saved = save_checkpoint(tmp_path, learner, {"step": 3, "cpu_seconds": 1.5})
    teach(loaded, learner, 2)

    other, again = fresh(model_directory, seed=2)
    state = load_checkpoint(saved, again)
    assert state == {"step": 3, "cpu_seconds": 1.5, "policy_version": 3}
    teach(other, again, 2)
    assert again.policy_version == learner.policy_version == 5
    for name, parameter in learner.named.items():
        assert torch.equal(again.named[name], parameter), name


def test_the_adapter_in_it_loads_as_any_adapter(model_directory: Path, tmp_path: Path) -> None:
    loaded, learner = fresh(model_directory, seed=1)
    teach(loaded, learner, 2)
    saved = save_checkpoint(tmp_path, learner, {"step": 2})
    ids = torch.tensor([loaded.chat.prompt("x . o")])
    with torch.no_grad():
        expected = loaded.model.eval()(ids).logits
        found = load_lora(load_model(model_directory).model, saved).eval()(ids).logits
    torch.testing.assert_close(found, expected)


def test_a_half_written_one_is_named_and_passed_over(model_directory: Path, tmp_path: Path) -> None:
    _, learner = fresh(model_directory, seed=1)
    whole = save_checkpoint(tmp_path, learner, {"step": 1})
    (tmp_path / "step-00002").mkdir()
    (tmp_path / ".step-00003.partial").mkdir()
    assert complete_checkpoints(tmp_path) == [whole]
    assert [p.name for p in broken_checkpoints(tmp_path)] == [".step-00003.partial", "step-00002"]
    again = save_checkpoint(tmp_path, learner, {"step": 2})  # writes over what was broken
    assert complete_checkpoints(tmp_path) == [whole, again]


def test_two_are_kept(model_directory: Path, tmp_path: Path) -> None:
    _, learner = fresh(model_directory, seed=1)
    for step in (1, 2, 10):
        save_checkpoint(tmp_path, learner, {"step": step})
    assert [p.name for p in complete_checkpoints(tmp_path)] == ["step-00002", "step-00010"]


def test_nothing_is_pickled(model_directory: Path, tmp_path: Path) -> None:
    _, learner = fresh(model_directory, seed=1)
    saved = save_checkpoint(tmp_path, learner, {"step": 1})
    assert {p.suffix for p in saved.iterdir()} <= {".safetensors", ".json", ".md", ""}
    assert (saved / MARK).is_file()


def test_what_the_adapter_needs_and_is_missing_is_an_error(model_directory: Path, tmp_path: Path) -> None:
    _, learner = fresh(model_directory, seed=1)
    saved = save_checkpoint(tmp_path, learner, {"step": 1})
    (saved / "adapter_model.safetensors").unlink()
    with pytest.raises(FileNotFoundError):
        load_checkpoint(saved, learner)
