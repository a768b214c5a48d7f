"""Checkpoints are complete or missing, and restore what was saved."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event, current_thread, main_thread

import pytest
import torch
from safetensors.torch import load_file, save_file

from gymposium.errors import GymposiumError
from gymposium.util.durable import MARK
from gymposium_agents.lora.attach import attach_lora, load_lora
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train.config import Kl, Optimizer
from gymposium_train.config.directory import RunDirectory
from gymposium_train.credit.protocol import Critic
from gymposium_train.learner import LocalLearner, Loss, tensor_files
from gymposium_train.run.checkpoints import (
    CheckpointKeeper,
    list_complete_checkpoints,
    load_checkpoint,
    remove_incomplete_checkpoints,
    save_checkpoint,
)

LOSS = Loss(kl=Kl(weight=0.1), critic=Critic())
"""With a reference and a critic: more to remember than weights."""


def make_learner(model_directory: Path, seed: int, loss: Loss = LOSS) -> tuple[LoadedModel, LocalLearner]:
    base = load_model(model_directory)
    loaded = LoadedModel(attach_lora(base.model, rank=4, alpha=8, seed=seed), base.chat)
    return loaded, LocalLearner(loaded.model, loaded.pad, Optimizer(), loss=loss)


def teach(loaded: LoadedModel, learner: LocalLearner, steps: int) -> None:
    pair = (loaded.chat.prompt("x . o"), loaded.chat.reply("b2"))
    for _ in range(steps):
        learner.imitate([pair], 1e-2)


def test_resuming_from_a_checkpoint_matches_an_uninterrupted_run(model_directory: Path, tmp_path: Path) -> None:
    loaded, learner = make_learner(model_directory, seed=1)
    teach(loaded, learner, 3)
    state = {"step": 3, "cpu_seconds": 1.5, "training": {"who": {"stage": 1}, "credit": {"x seat 0": 0.1 + 0.2}}}
    saved = save_checkpoint(tmp_path, learner, state, keep=2)
    teach(loaded, learner, 2)

    other, again = make_learner(model_directory, seed=2)
    assert load_checkpoint(saved, again) == state
    teach(other, again, 2)
    assert again.policy_version == learner.policy_version == 5
    expected = dict(learner.tensors())
    assert dict(again.tensors()).keys() == expected.keys()
    for name, tensor in again.tensors():
        assert torch.equal(tensor, expected[name]), name


def test_refuses_the_checkpoint_of_another_learner(model_directory: Path, tmp_path: Path) -> None:
    _, learner = make_learner(model_directory, seed=1)
    saved = save_checkpoint(tmp_path, learner, {"step": 1}, keep=2)
    _, other = make_learner(model_directory, seed=1, loss=Loss())
    with pytest.raises(GymposiumError, match=r"does not match this learner"):
        load_checkpoint(saved, other)


DAMAGE: dict[str, Callable[[dict[str, torch.Tensor]], object]] = {
    "an unknown kind": lambda tensors: tensors.update({"none|x": torch.zeros(1)}),
    "an optimizer of nothing": lambda tensors: tensors.update({"optimizer|none|step": torch.tensor(1.0)}),
    "no counts": lambda tensors: [tensors.pop(key) for key in [*tensors] if key.startswith("counts|")],
    "a count that is no number": lambda tensors: tensors.update({"counts|policy_version": torch.tensor(float("nan"))}),
    "counts of many": lambda tensors: tensors.update({"counts|policy_version": torch.zeros(3)}),
    "weights of another shape": lambda tensors: tensors.update(
        {key: torch.zeros(1, 1) for key in tensors if key.startswith("weights|")}
    ),
    "an optimizer of another shape": lambda tensors: tensors.update(
        {key: torch.zeros(7) for key in tensors if key.startswith("optimizer|")}
    ),
}
"""Checkpoints that another has made."""


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_refuses_foreign_tensors(
    model_directory: Path, tmp_path: Path, damage: Callable[[dict[str, torch.Tensor]], object]
) -> None:
    loaded, learner = make_learner(model_directory, seed=1)
    teach(loaded, learner, 1)
    saved = save_checkpoint(tmp_path, learner, {"step": 1}, keep=2)
    tensors = load_file(saved / "learner-00001.safetensors")
    damage(tensors)
    save_file(tensors, saved / "learner-00001.safetensors")
    with pytest.raises(GymposiumError, match=r"Cannot read|does not match this learner"):
        load_checkpoint(saved, make_learner(model_directory, seed=1)[1])


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, Path.touch, lambda path: path.write_bytes(b"x" * 99)])
def test_pipes_and_garbage_for_tensors_are_refused_at_once(
    model_directory: Path, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    _, learner = make_learner(model_directory, seed=1)
    saved = save_checkpoint(tmp_path, learner, {"step": 1}, keep=2)
    (saved / "learner-00001.safetensors").unlink()
    with pytest.raises(GymposiumError, match=r"Cannot read .* Remove"):
        load_checkpoint(saved, learner)
    make(saved / "learner-00001.safetensors")
    with pytest.raises(GymposiumError, match=r"Cannot read .* Remove"):
        load_checkpoint(saved, learner)


def test_checkpoint_adapter_loads_like_any_adapter(model_directory: Path, tmp_path: Path) -> None:
    loaded, learner = make_learner(model_directory, seed=1)
    teach(loaded, learner, 2)
    saved = save_checkpoint(tmp_path, learner, {"step": 2}, keep=2)
    ids = torch.tensor([loaded.chat.prompt("x . o")])
    with torch.no_grad():
        expected = loaded.model.eval()(ids).logits
        found = load_lora(load_model(model_directory).model, saved).eval()(ids).logits
    torch.testing.assert_close(found, expected)


def test_full_training_saves_all_weights(model_directory: Path, tmp_path: Path) -> None:
    loaded = load_model(model_directory)
    learner = LocalLearner(loaded.model, loaded.pad, Optimizer())
    teach(loaded, learner, 1)
    saved = save_checkpoint(tmp_path, learner, {"step": 1}, keep=2)
    assert not (saved / "adapter_config.json").exists()
    other = load_model(model_directory)
    again = LocalLearner(other.model, other.pad, Optimizer())
    load_checkpoint(saved, again)
    for name, weights in loaded.model.state_dict().items():
        assert torch.equal(other.model.state_dict()[name], weights), name


def test_incomplete_checkpoints_are_reported_and_removed(model_directory: Path, tmp_path: Path) -> None:
    _, learner = make_learner(model_directory, seed=1)
    whole = save_checkpoint(tmp_path, learner, {"step": 1}, keep=2)
    (tmp_path / "step-00002").mkdir()
    (tmp_path / ".step-00003.partial").mkdir()
    assert list_complete_checkpoints(tmp_path) == [whole]
    assert [p.name for p in remove_incomplete_checkpoints(tmp_path)] == [".step-00003.partial", "step-00002"]
    (tmp_path / "step-00002").mkdir()
    again = save_checkpoint(tmp_path, learner, {"step": 2}, keep=2)  # writes over what was broken
    assert list_complete_checkpoints(tmp_path) == [whole, again]


def test_foreign_directories_are_left_alone(tmp_path: Path) -> None:
    for name in ("step-abc", "step-", "step-1e5", "step-٣", "step-1\n", "step-x9"):
        (tmp_path / name).mkdir()
        (tmp_path / name / MARK).touch()
    (tmp_path / "step-00007").touch()
    assert list_complete_checkpoints(tmp_path) == []
    assert [path.name for path in remove_incomplete_checkpoints(tmp_path)] == ["step-00007"]
    assert len([*tmp_path.iterdir()]) == 6


def test_newest_checkpoints_are_kept(model_directory: Path, tmp_path: Path) -> None:
    _, learner = make_learner(model_directory, seed=1)
    for step in (1, 2, 10, 100_000):
        save_checkpoint(tmp_path, learner, {"step": step}, keep=3)
    assert [p.name for p in list_complete_checkpoints(tmp_path)] == ["step-00002", "step-00010", "step-100000"]


def test_one_older_checkpoint_can_be_kept(model_directory: Path, tmp_path: Path) -> None:
    _, learner = make_learner(model_directory, seed=1)
    save_checkpoint(tmp_path, learner, {"step": 1}, keep=2)
    for step in (2, 3, 4):
        save_checkpoint(tmp_path, learner, {"step": step}, keep=2, besides=1)
    assert [p.name for p in list_complete_checkpoints(tmp_path)] == ["step-00001", "step-00003", "step-00004"]
    save_checkpoint(tmp_path, learner, {"step": 5}, keep=2)
    assert [p.name for p in list_complete_checkpoints(tmp_path)] == ["step-00004", "step-00005"]


def test_rollback_restores_the_last_healthy_checkpoint(model_directory: Path, tmp_path: Path) -> None:
    loaded, learner = make_learner(model_directory, seed=1)
    run = RunDirectory(tmp_path)
    with CheckpointKeeper(run, learner, keep=2) as keeper:
        assert keeper.healthy == 0, "that of the untrained policy, in a new run"
        for step in range(4):
            keeper.save({"step": step})
            teach(loaded, learner, 1)
            keeper.note_healthy(min(step, 1))
        assert keeper.healthy == 1, "the newest one known to be healthy"
        keeper.collect()
        assert list_names(run) == ["step-00001", "step-00002", "step-00003"]
        assert keeper.roll_back() == {"step": 1}
    assert list_names(run) == ["step-00001"]
    assert learner.policy_version == 5, "4 versions were published before"
    assert CheckpointKeeper(run, learner, keep=2).healthy == 1


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Threads sync files only after this event is set. The main thread syncs a small adapter at once."""
    event = Event()

    def sync_later(path: Path) -> None:
        assert current_thread() is main_thread() or event.wait(60.0)

    monkeypatch.setattr("gymposium.util.durable.sync_path", sync_later)
    return event


def test_training_continues_while_a_checkpoint_is_synced(
    model_directory: Path, tmp_path: Path, slow_disk: Event
) -> None:
    """The checkpoint has the state of the time when it was saved, and the next one waits for it."""
    loaded, learner = make_learner(model_directory, seed=1)
    run = RunDirectory(tmp_path)
    reported: list[Path] = []
    with CheckpointKeeper(run, learner, keep=2, report=reported.append) as keeper:
        teach(loaded, learner, 1)
        expected = {name: tensor.clone() for name, tensor in learner.tensors()}
        keeper.save({"step": 1})
        teach(loaded, learner, 1)
        keeper.note_healthy(1)
        keeper.collect(wait=False)
        assert (list_names(run), reported, keeper.healthy) == ([], [], 1)
        slow_disk.set()
        keeper.save({"step": 2})
        assert reported == [run.checkpoints / "step-00001"]
    assert reported == [*list_complete_checkpoints(run.checkpoints)]
    load_checkpoint(reported[0], learner)
    for name, tensor in learner.tensors():
        assert torch.equal(tensor, expected[name]), name


def test_failed_sync_is_raised_and_keeps_older_checkpoints(
    model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, learner = make_learner(model_directory, seed=1)
    run = RunDirectory(tmp_path)

    def fail(path: Path) -> None:
        if current_thread() is not main_thread():
            raise OSError("the disk is full")

    with CheckpointKeeper(run, learner, keep=2) as keeper:
        keeper.save({"step": 1})
        keeper.collect()
        monkeypatch.setattr("gymposium.util.durable.sync_path", fail)
        keeper.save({"step": 2})
        with pytest.raises(OSError, match="disk is full"):
            keeper.save({"step": 3})
    assert [path.name for path in run.checkpoints.iterdir()] == ["step-00001"]


def list_names(run: RunDirectory) -> list[str]:
    return [path.name for path in list_complete_checkpoints(run.checkpoints)]


def test_failed_write_keeps_older_checkpoints(model_directory: Path, tmp_path: Path) -> None:
    """The disk is full during writing: nothing incomplete is left, and older checkpoints stay."""
    _, learner = make_learner(model_directory, seed=1)
    kept = [save_checkpoint(tmp_path, learner, {"step": step}, keep=2) for step in (1, 2)]
    with pytest.raises(TypeError):  # what cannot be written comes last, behind the weights
        save_checkpoint(tmp_path, learner, {"step": 3, "training": object()}, keep=2)
    assert list_complete_checkpoints(tmp_path) == kept
    assert sorted(tmp_path.iterdir()) == kept


def test_nothing_is_pickled(model_directory: Path, tmp_path: Path) -> None:
    _, learner = make_learner(model_directory, seed=1)
    saved = save_checkpoint(tmp_path, learner, {"step": 1}, keep=2)
    assert {p.suffix for p in saved.iterdir()} <= {".safetensors", ".json", ".md", ""}
    assert (saved / MARK).is_file()


def test_tensor_files_have_bounded_size(model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors are taken from the learner one by one, and at most one file's tensors are in memory."""
    loaded = load_model(model_directory)
    learner = LocalLearner(loaded.model, loaded.pad, Optimizer())
    teach(loaded, learner, 1)
    largest = max(tensor.nbytes for _, tensor in learner.tensors())
    monkeypatch.setattr(tensor_files, "PART", largest)
    saved = save_checkpoint(tmp_path, learner, {"step": 1}, keep=2)
    files = sorted(saved.glob("learner-*.safetensors"))
    assert files[0].name == "learner-00001.safetensors"
    assert len(files) > 2
    sizes = [sum(tensor.nbytes for tensor in load_file(file).values()) for file in files]
    assert max(sizes) <= largest
    assert sum(sizes) == sum(tensor.nbytes for _, tensor in learner.tensors())

    other = load_model(model_directory)
    again = LocalLearner(other.model, other.pad, Optimizer())
    assert load_checkpoint(saved, again) == {"step": 1}
    expected = dict(learner.tensors())
    for name, tensor in again.tensors():
        assert torch.equal(tensor, expected[name]), name


def test_missing_files_are_errors(model_directory: Path, tmp_path: Path) -> None:
    _, learner = make_learner(model_directory, seed=1)
    saved = save_checkpoint(tmp_path, learner, {"step": 1}, keep=2)
    (saved / "learner-00001.safetensors").unlink()
    with pytest.raises(GymposiumError, match="No such file"):
        load_checkpoint(saved, learner)
