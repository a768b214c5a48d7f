"""The backend `local`: the model learns on this machine with torch, which is imported when the run starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from gymposium_train.config import TrainConfig
from gymposium_train.config.backend import LocalSettings
from gymposium_train.config.outline import model_here
from gymposium_train.config.references import missing_here

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
        return missing_here(config)

    def outline(self, config: TrainConfig) -> dict[str, str]:
        return model_here(config)

    def imitating(self, start: BackendStart) -> AbstractContextManager[LearningModel]:
        from gymposium_train.backends.local_model import imitating

        return imitating(start)

    def reinforcing(self, start: BackendStart) -> AbstractContextManager[LearningModel]:
        from gymposium_train.backends.local_model import reinforcing

        return reinforcing(start)

    def player(self, start: BackendStart, learned: Learned) -> LanguageModelPlayer:
        from gymposium_train.backends.models import player_from, taught, trained

        config, directory = start.config, start.directory
        if learned == "cold start":
            return player_from(directory, config, taught(directory, config))
        return player_from(directory, config, *trained(directory, config))

    def export(self, start: BackendStart, checkpoint: Path, target: Path) -> None:
        from gymposium_train.backends.models import export

        export(start.directory, start.config, checkpoint, target)
