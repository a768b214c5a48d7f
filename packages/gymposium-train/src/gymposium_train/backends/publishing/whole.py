"""Publishers for full fine-tuning, where all weights are trained."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gymposium.errors import GymposiumError, describe_cause
from gymposium.util.durable import MARK, make_empty_directory, remove_directory, remove_staging, write_directory
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.protocol import WeightsHost
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.modeling.sources import NO_TRUST, Trust
from gymposium_agents.models.loading import LoadedModel, load_model


class ModelVersions:
    """Base class of publishers for full fine-tuning. Each kept version is a directory. A past opponent is loaded into
    this process, and stays in memory until it is released."""

    def __init__(
        self, learning: LoadedModel, directory: Path, name: str, dtype: torch.dtype, trust: Trust = NO_TRUST
    ) -> None:
        """`directory` holds the kept versions of the policy `name`. Past versions compute in `dtype`."""
        self._learning = learning
        self._directory, self._name, self._dtype, self._trust = directory, name, dtype, trust
        self._past: dict[Policy, TransformersEngine] = {}

    def _keep_version(self, policy: Policy, write: Callable[[Path], object]) -> None:
        """Keep a version, unless it is already kept. `write` writes it to a directory."""
        target = self._version_path(policy)
        remove_staging(self._directory, f"{self._name}-v")
        for place in self._directory.glob(f"{self._name}-v*"):
            if place.name > target.name:  # an interrupted run learned it, and a resumed run learns it again
                remove_directory(place)
        if not target.exists():  # a version never changes
            with write_directory(target) as staging:
                write(staging)

    def past(self, policy: Policy) -> TransformersEngine:
        if policy not in self._past:
            place = self._version_path(policy)
            if not (place / MARK).is_file():
                raise GymposiumError(f"{self._directory} does not contain {policy}. Only kept versions can play again.")
            self._past[policy] = load_model(place, trust=self._trust, dtype=self._dtype).engine(policy)
        return self._past[policy]

    def let_go(self, policy: Policy) -> None:
        self._past.pop(policy, None)

    def _version_path(self, policy: Policy) -> Path:
        return self._directory / f"{self._name}-v{policy.version:09d}"


class ModelPublisher(ModelVersions):
    """A publisher for full fine-tuning with engines in this process.

    Either one engine plays the learner's model directly, or the weights are copied to several engines' models in turn.
    The number of engines is the allowed staleness plus one, so no model changes while it plays."""

    def __init__(
        self,
        learning: LoadedModel,
        engines: Sequence[TransformersEngine],
        directory: Path,
        name: str,
        dtype: torch.dtype,
        trust: Trust = NO_TRUST,
    ) -> None:
        """The other arguments are as in `ModelVersions`."""
        super().__init__(learning, directory, name, dtype, trust)
        self._playing = deque(engines)
        """The engines. The last one has the newest version."""

    @property
    def context(self) -> int:
        return self._playing[-1].context

    def publish(self, policy: Policy) -> TransformersEngine:
        if policy != self._playing[-1].policy:
            self._playing.rotate(-1)
            engine = self._playing[-1]
            if engine.model is not self._learning.model:
                engine.model.load_state_dict(self._learning.model.state_dict())
            engine.weights_changed(policy)
        return self._playing[-1]

    def keep(self, policy: Policy) -> None:
        (model,) = (engine.model for engine in self._playing if engine.policy == policy)
        self._keep_version(policy, LoadedModel(model, self._learning.chat).save)


class HostedModelPublisher(ModelVersions):
    """A publisher for full fine-tuning with an engine outside this process, such as vLLM servers. Weights are passed as
    files.

    The engine plays one version. Replies in progress end with the version that they began with, and matches in progress
    continue with the new one. Each reply reports the version that sampled it."""

    def __init__(
        self,
        learning: LoadedModel,
        engine: WeightsHost,
        directory: Path,
        name: str,
        dtype: torch.dtype,
        trust: Trust = NO_TRUST,
        *,
        exchange: Path,
    ) -> None:
        """`exchange` is a directory for the weights that the engine reads, rounded to `dtype`. It is emptied first. The
        other arguments are as in `ModelVersions`.

        Raises `GymposiumError` if it cannot be made."""
        super().__init__(learning, directory, name, dtype, trust)
        try:
            make_empty_directory(exchange)  # others may guess its name, and may write to its folder, such as /dev/shm
        except OSError as error:
            raise GymposiumError(
                f"The directory {exchange} cannot be made ({describe_cause(error)}). Name another directory in "
                f"engine.exchange."
            ) from error
        self._engine, self._exchange = engine, exchange

    @property
    def context(self) -> int:
        return self._engine.context

    def publish(self, policy: Policy) -> WeightsHost:
        if policy != self._engine.policy:
            self._remove_others(self._engine.policy)
            target = self._exchange / str(policy)
            with write_directory(target) as staging:
                save_rounded(self._learning.model, staging, self._dtype)
            self._engine.replace_weights(target, policy)
            self._remove_others(policy)
        return self._engine

    def keep(self, policy: Policy) -> None:
        def write_weights(staging: Path) -> None:
            # the learner may have moved on
            shutil.copytree(self._exchange / str(policy), staging, dirs_exist_ok=True)
            self._learning.chat.save(staging)

        self._keep_version(policy, write_weights)

    def _remove_others(self, policy: Policy) -> None:
        """Remove the exchange files of all other versions."""
        for path in self._exchange.glob("*"):
            if path.name != str(policy):
                remove_directory(path)


def save_rounded(model: Any, directory: Path, dtype: torch.dtype) -> None:
    """Write a model's weights and configuration, with its floating-point weights rounded to `dtype`. The model stays
    unchanged."""
    tensors: dict[str, Tensor] = model.state_dict()
    if any(tensor.is_floating_point() and tensor.dtype != dtype for tensor in tensors.values()):
        rounded: dict[int, Tensor] = {}  # tied weights stay tied
        for name, tensor in tensors.items():
            if tensor.is_floating_point():
                tensors[name] = rounded.setdefault(tensor.data_ptr(), tensor.to(dtype))
    model.save_pretrained(directory, state_dict=tensors)
