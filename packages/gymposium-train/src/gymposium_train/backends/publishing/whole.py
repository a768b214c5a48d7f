"""Publisher for models with all weights trained."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path

import torch

from gymposium.errors import GymposiumError
from gymposium.util.durable import MARK, remove_directory, sweep, write_directory
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.modeling.sources import NO_TRUST, Trust
from gymposium_agents.models.loading import LoadedModel, load_model


class WholeModels:
    """A publisher of all weights of a model.

    Either one engine plays the learner's model directly, or the weights are copied to several engines' models in turn.
    There is one engine per publish that rollouts may be behind, plus one, so that no model changes while it plays. Each
    kept version is a directory. A past opponent stays in memory until it is released."""

    def __init__(
        self,
        learning: LoadedModel,
        engines: Sequence[TransformersEngine],
        directory: Path,
        name: str,
        dtype: torch.dtype,
        trust: Trust = NO_TRUST,
    ) -> None:
        """`directory` holds the kept versions of the policy `name`. Past versions compute in `dtype`."""
        self._learning = learning
        self._directory, self._name, self._dtype, self._trust = directory, name, dtype, trust
        self._playing = deque(engines)
        """The engines. The last one has the newest version."""
        self._past: dict[Policy, TransformersEngine] = {}

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
        target = self._version_path(policy)
        sweep(self._directory, f"{self._name}-v")
        for place in self._directory.glob(f"{self._name}-v*"):
            if place.name > target.name:  # an interrupted run learned it, and a resumed run learns it again
                remove_directory(place)
        if not target.exists():  # a version never changes
            with write_directory(target) as staging:
                LoadedModel(model, self._learning.chat).save(staging)

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
