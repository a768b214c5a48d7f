"""The backend `local`: the model learns on this machine with torch, which is imported when the run starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from gymposium_train.config import TrainConfig
from gymposium_train.config.backend import LocalSettings
from gymposium_train.config.outline import describe_local_model
from gymposium_train.config.references import find_missing_locally

if TYPE_CHECKING:
    from gymposium_agents.players.player import LanguageModelPlayer
    from gymposium_train.backends.protocol import BackendStart, Learned, LearningModel


class LocalBackend:
    """A backend that loads the model into this process or, for reinforcement learning, into several."""

    def __init__(self, settings: LocalSettings) -> None:
        pass

    def refusals(self, config: TrainConfig) -> Iterator[str]:
        yield from ()

    def missing(self, config: TrainConfig) -> Iterator[str]:
        return find_missing_locally(config)

    def outline(self, config: TrainConfig) -> dict[str, str]:
        return describe_local_model(config)

    def imitation_model(self, start: BackendStart) -> AbstractContextManager[LearningModel]:
        from gymposium_train.backends.local_model import open_imitation

        return open_imitation(start)

    def reinforcement_model(self, start: BackendStart) -> AbstractContextManager[LearningModel]:
        from gymposium_train.backends.local_model import open_reinforcement

        return open_reinforcement(start)

    def player(self, start: BackendStart, learned: Learned) -> AbstractContextManager[LanguageModelPlayer]:
        from gymposium_train.backends.evaluated import open_run_player
        from gymposium_train.backends.models import find_cold_start_model, find_trained_model

        config, directory = start.config, start.directory
        if learned == "cold start":
            return open_run_player(start, find_cold_start_model(directory, config))
        return open_run_player(start, *find_trained_model(directory, config))

    def export(self, start: BackendStart, checkpoint: Path, target: Path) -> None:
        from gymposium_train.backends.models import export_checkpoint

        export_checkpoint(start.directory, start.config, checkpoint, target)
