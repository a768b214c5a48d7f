"""Role-conditioned advantage estimation: for self-play, where the two seats' rewards cancel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.errors import GymposiumError
from gymposium_train.credit.episode import Credit, Credited, Episode


@dataclass(frozen=True, slots=True)
class Rae(Credit):
    """The reward less a moving average of the role's rewards (Liu et al., 2025, SPIRAL). In a zero-sum game the mean
    over both seats is nothing, whatever the policy does, and the first mover's edge would read as merit; each role's
    own average takes it out.

    Trajectories are taken in order, and each reads the average before its own reward goes into it: no trajectory has
    a part in its own baseline. No group is dropped, since none is compared within itself."""

    decay: float = 0.95
    """What is left of the average after each trajectory. It begins at 0."""
    baselines: dict[str, float] = field(default_factory=dict, init=False)
    """The averages so far, by role."""

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> list[list[Credited] | None]:
        return [[self._take(episode) for episode in group] for group in groups]

    def _take(self, episode: Episode) -> Credited:
        baseline = self.baselines.get(episode.role, 0.0)
        self.baselines[episode.role] = self.decay * baseline + (1.0 - self.decay) * episode.total
        return Credited((episode.total - baseline,) * len(episode.rewards))

    def state(self) -> dict[str, Any]:
        return {"baselines": dict(self.baselines)}

    def restore(self, state: dict[str, Any]) -> None:
        if state.keys() != {"baselines"}:
            raise GymposiumError(
                f"The checkpoint keeps {', '.join(sorted(state)) or 'nothing'} for its credit, but Rae keeps its "
                "baselines: resume with the credit that the run began with."
            )
        self.baselines.clear()
        self.baselines.update(state["baselines"])
