"""Protocols of backends and of the models they hold.

A run gets three things from its backend: a model for imitation (the cold start), one for reinforcement learning, and
players of the results. To a run, a model is a chat format, a learner, engines that play it, and a directory to save it
to.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from gymposium.plugins.host import host
from gymposium_agents.chat.chat import Chat
from gymposium_agents.engines.protocol import TokenEngine
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.backends.engines import RunEngine
from gymposium_train.backends.publishing import Publisher
from gymposium_train.config import TrainConfig
from gymposium_train.config.backend_checks import BackendChecks
from gymposium_train.config.directory import RunDirectory
from gymposium_train.learner import Learner
from gymposium_train.learner.parallel.world import ALONE, Processes
from gymposium_train.util.variants import make_variant

Learned = Literal["cold start", "trained"]
"""The stage that a saved model results from: the cold start, or reinforcement learning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendStart:
    """The run that a backend works for."""

    config: TrainConfig
    directory: RunDirectory
    world: Processes = ALONE
    """The processes of the run."""
    engine: RunEngine | None = None
    """The engine that training and evaluations share. None outside a run, where each opens an engine."""


class LearningModel(Protocol):
    """A model and the learner that trains it."""

    @property
    def chat(self) -> Chat:
        """The tokenizer and chat template."""

    @property
    def context(self) -> int:
        """The maximum number of tokens that the model reads."""

    @property
    def learner(self) -> Learner:
        """The learner that trains the model."""

    @property
    def digest(self) -> Callable[[], str] | None:
        """Returns the digest of the learner's weights, as reported by engines that loaded them
        (`gymposium_agents.engines.protocol.DigestReporter`). None if no such digest exists."""

    def engine(self) -> TokenEngine:
        """Return an engine that plays the current weights."""

    def publisher(self, name: str, directory: Path, resources: ExitStack) -> Publisher:
        """Return a publisher that sends the weights to the engines in the run's config. `name` is the name of the
        policies. Versions are kept in `directory`. Engines are closed with `resources`, or at the end of the run.

        Raises `GymposiumError` if an engine cannot be made."""

    def save(self, target: Path) -> None:
        """Write the result to the directory `target` atomically, with the settings of its player."""


class Backend(BackendChecks, Protocol):
    """A backend, which holds a run's model. Plugins provide backends with the hook `gymposium_backends`."""

    def imitation_model(self, start: BackendStart) -> AbstractContextManager[LearningModel]:
        """Provide the model before the cold start, with an imitation learner, during the block. `reinforcement_model`
        starts from its saved result."""

    def reinforcement_model(self, start: BackendStart) -> AbstractContextManager[LearningModel]:
        """Provide the model after the cold start, with a reinforcement learner, during the block."""

    def player(self, start: BackendStart, learned: Learned) -> AbstractContextManager[LanguageModelPlayer]:
        """Provide a player, for evaluation, of a model saved by the run. It plays only in the block."""

    def export(self, start: BackendStart, checkpoint: Path, target: Path) -> None:
        """Write a checkpoint's weights to the directory `target`, in the format of the run's result."""


def make_backend(start: BackendStart) -> Backend:
    """Make the backend of a run. Raises `UnknownName` if its plugin is not loaded."""
    settings = start.config.backend
    backend: Backend = make_variant("backend", host().backends, settings.kind, settings)
    return backend
