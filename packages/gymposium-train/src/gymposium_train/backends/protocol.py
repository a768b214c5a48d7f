"""The protocol of backends, which hold the model that learns, and of the models that they hold.

A run asks its backend for a model to imitate with (the cold start), for one to reinforce, and for players of what was
learned. It sees a model as a chat format, a learner, engines that play it, and a directory into which it is saved.
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
from gymposium_train.backends.publishing import Publisher
from gymposium_train.config import TrainConfig
from gymposium_train.config.backend_checks import BackendChecks
from gymposium_train.config.directory import RunDirectory
from gymposium_train.learner import Learner
from gymposium_train.learner.parallel.world import ALONE, Processes
from gymposium_train.util.variants import make_variant

Learned = Literal["cold start", "trained"]
"""The stages whose models are played: the model on which reinforcement learning begins, and its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendStart:
    """The run that a backend works for."""

    config: TrainConfig
    directory: RunDirectory
    world: Processes = ALONE
    """The processes of the run."""


class LearningModel(Protocol):
    """A model that learns."""

    @property
    def chat(self) -> Chat:
        """The tokenizer and chat template."""

    @property
    def context(self) -> int:
        """The largest number of tokens that the model reads."""

    @property
    def learner(self) -> Learner:
        """What trains it."""

    @property
    def digest(self) -> Callable[[], str] | None:
        """Function that returns the digest of the weights that learn, as engines that loaded them report it
        (`gymposium_agents.engines.protocol.TellsDigests`). None if there is no such digest."""

    def engine(self) -> TokenEngine:
        """An engine that plays the weights as they are at this moment."""

    def publisher(self, name: str, directory: Path, resources: ExitStack) -> Publisher:
        """The publisher of its weights to the engines of the run's config. `name` is that of its policies. Versions are
        kept in `directory`, and engines are closed with `resources`.

        Raises `GymposiumError` if an engine cannot be made."""

    def save(self, target: Path) -> None:
        """Write what was learned to the directory `target`, completely or not at all, with the settings of its
        player."""


class Backend(BackendChecks, Protocol):
    """Holds the model of a run. A plugin offers one by the hook `gymposium_backends`."""

    def imitating(self, start: BackendStart) -> AbstractContextManager[LearningModel]:
        """The model before the cold start, with a learner that imitates, for the duration of the block. What it saves
        is what `reinforcing` begins with."""

    def reinforcing(self, start: BackendStart) -> AbstractContextManager[LearningModel]:
        """The model after the cold start, with a learner for reinforcement learning, for the duration of the block."""

    def player(self, start: BackendStart, learned: Learned) -> LanguageModelPlayer:
        """A greedy player of what the run saved."""

    def export(self, start: BackendStart, checkpoint: Path, target: Path) -> None:
        """Write the weights of a checkpoint to the directory `target`, in the form of the run's result."""


def make_backend(start: BackendStart) -> Backend:
    """The backend of a run. Raises `UnknownName` if its plugin is not loaded."""
    settings = start.config.backend
    backend: Backend = make_variant("backend", host().backends, settings.kind, settings)
    return backend
