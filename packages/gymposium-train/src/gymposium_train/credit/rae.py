"""Role-conditioned advantage estimation for self-play, where the two seats' rewards cancel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from gymposium.errors import GymposiumError
from gymposium_train.credit.protocol import Credit, CreditSettings, Episode, assign_advantages


class RaeSettings(CreditSettings):
    """Role-conditioned advantage estimation (Liu et al., 2025, SPIRAL), for self-play: the reward minus a moving
    average for the same game and seat."""

    kind: Literal["rae"] = "rae"
    """Which credit assignment is used."""
    decay: float = Field(default=0.95, ge=0.0, lt=1.0)
    """Decay of the moving average per trajectory. The average begins at 0."""


@dataclass(frozen=True, slots=True)
class Rae(Credit):
    """The reward minus a moving average of the role's rewards (Liu et al., 2025, SPIRAL). In a zero-sum game, the mean
    over both seats is 0 for every policy. A common baseline would therefore credit the first player's advantage to its
    moves. A separate average per role removes it.

    Trajectories are processed in order. Each uses the average before its own reward enters it, so no trajectory is part
    of its baseline. No group is dropped, because trajectories are not compared within groups."""

    settings: RaeSettings
    baselines: dict[str, float] = field(default_factory=dict, init=False)
    """The moving average of rewards for each role."""

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> Sequence[Sequence[Episode]]:
        return [assign_advantages(group, [self._rate_episode(episode) for episode in group]) for group in groups]

    def _rate_episode(self, episode: Episode) -> tuple[float, ...]:
        baseline = self.baselines.get(episode.role, 0.0)
        decay = self.settings.decay
        self.baselines[episode.role] = decay * baseline + (1.0 - decay) * episode.total
        return (episode.total - baseline,) * len(episode.rewards)

    def state(self) -> dict[str, Any]:
        return {"baselines": dict(self.baselines)}

    def restore(self, state: dict[str, Any]) -> None:
        if state.keys() != {"baselines"}:
            raise GymposiumError(
                f"The checkpoint keeps {', '.join(sorted(state)) or 'nothing'} for its credit, but Rae needs its "
                f"baselines. Resume with the run's original credit."
            )
        self.baselines.clear()
        self.baselines.update(state["baselines"])
