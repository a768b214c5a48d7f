"""All weights reach an engine through files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gymposium.errors import GymposiumError
from gymposium_agents.chat.tokens import BASE, Policy
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train.backends.publishing.whole import HostedModelPublisher


class _Engine(TransformersEngine):
    """An engine that notes the files of its weights."""

    def __init__(self, loaded: LoadedModel) -> None:
        super().__init__(loaded.model, stops=loaded.stops, pad=loaded.pad, policy=BASE)
        self.files: list[str] = []

    def replace_weights(self, directory: Path, policy: Policy) -> None:
        self._policy = policy
        self.files = sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("as_link", [True, False])
def test_shared_directories_leak_and_accept_no_files(model_directory: Path, tmp_path: Path, *, as_link: bool) -> None:
    mine, exchange = tmp_path / "mine", tmp_path / "shared" / "exchange"
    mine.mkdir()
    (mine / "file").write_text("mine")
    exchange.parent.mkdir()
    if as_link:
        exchange.symlink_to(mine)
    else:
        (exchange / "learner-v000000001").mkdir(parents=True)
        (exchange / "learner-v000000001" / "planted").touch()
    loaded = load_model(model_directory)
    engine = _Engine(loaded)
    publisher = HostedModelPublisher(loaded, engine, tmp_path / "versions", "learner", torch.float32, exchange=exchange)
    publisher.publish(Policy("learner", 1))
    assert "model.safetensors" in engine.files
    assert "planted" not in engine.files
    assert (mine / "file").read_text() == "mine"
    assert [path.name for path in mine.iterdir()] == ["file"]


def test_unwritable_directory_is_an_error(model_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    loaded = load_model(model_directory)
    with pytest.raises(GymposiumError, match=r"Name another directory in engine\.exchange"):
        HostedModelPublisher(
            loaded, _Engine(loaded), tmp_path, "learner", torch.float32, exchange=tmp_path / "file" / "exchange"
        )
