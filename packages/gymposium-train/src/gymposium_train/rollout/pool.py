"""Past versions of the policy as opponents: which are kept, and which is met how often."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.streams import draw
from gymposium_agents.tokens import Policy
from gymposium_train.config import Pool
from gymposium_train.rollout.player_source import PlayerSource

FADING = 0.99
"""What a result counts for, one match later: about the last hundred matter. The learner changes, so what it did against
a version long ago says little. The figure is that of AlphaStar's league (Vinyals et al., 2019, pseudocode)."""

PRIORITIES: dict[str, Callable[[float], float]] = {
    "uniform": lambda win_rate: 1.0,
    "hard": lambda win_rate: (1.0 - win_rate) ** 2,
    "even": lambda win_rate: win_rate * (1.0 - win_rate),
}
"""The weight of a version by the learner's win rate against it: prioritised fictitious self-play, with "squared" and
"variance" of its source (Vinyals et al., 2019, pseudocode)."""


@dataclass(slots=True)
class Version:
    """Weights that were kept, and how the learner has done against them since."""

    policy: Policy
    step: int
    """The step before which they were kept."""
    score: float = 0.0
    """The learner's match scores against them, added up as they fade."""
    matches: float = 0.0
    """How many those are, fading as well."""

    @property
    def win_rate(self) -> float:
        """What the learner can expect against them, a draw being half a win; with one win and one loss beforehand, so
        that few matches decide nothing and none says a half."""
        return (self.score + 1.0) / (self.matches + 2.0)

    def note(self, score: float) -> None:
        """One more match, with the learner's score."""
        self.score = FADING * self.score + score
        self.matches = FADING * self.matches + 1.0


class PastVersions:
    """The versions that are kept, oldest first."""

    def __init__(self, settings: Pool, cast: PlayerSource) -> None:
        self._settings, self._cast = settings, cast
        self.versions: list[Version] = []

    def keep(self, step: int) -> None:
        """Keep the policy as it is before this step, where that is due: every so many steps, and where there is none
        yet. The oldest goes where there are too many. To be called between rollouts alone."""
        if self.versions and (step % self._settings.every or step <= self.versions[-1].step):
            return
        policy = self._cast.keep()
        if any(version.policy == policy for version in self.versions):
            return  # nothing was learned since
        self.versions.append(Version(policy, step))
        if len(self.versions) > self._settings.size:
            self._cast.let_go(self.versions.pop(0).policy)

    def draw(self, rng: random.Random) -> Policy:
        """One of them, by their priorities; one draw of `rng`."""
        return self.versions[draw([*enumerate(self.shares())], rng)].policy

    def shares(self) -> list[float]:
        """How often each is met; adds up to 1."""
        weights = [PRIORITIES[self._settings.prioritise](version.win_rate) for version in self.versions]
        return [weight / sum(weights) for weight in weights]

    def note(self, policy: Policy, scores: Iterable[float]) -> None:
        """The learner's scores in matches against a version. One that has gone since needs none."""
        for version in self.versions:
            if version.policy == policy:
                for score in scores:
                    version.note(score)

    def state(self) -> list[dict[str, Any]]:
        """What a checkpoint must hold."""
        return [
            {
                "name": version.policy.name,
                "version": version.policy.version,
                "step": version.step,
                "score": version.score,
                "matches": version.matches,
            }
            for version in self.versions
        ]

    def restore(self, state: Sequence[dict[str, Any]]) -> None:
        """Take up what `state` gave. Raises `GymposiumError` where more are in it than the pool holds."""
        if len(state) > self._settings.size:
            raise GymposiumError(
                f"The checkpoint keeps {len(state)} past versions, but pool.size is {self._settings.size}: "
                "resume with the settings that the run began with."
            )
        self.versions = [
            Version(Policy(one["name"], one["version"]), one["step"], one["score"], one["matches"]) for one in state
        ]
