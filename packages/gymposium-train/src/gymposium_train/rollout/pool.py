"""Past versions of the policy as opponents: which versions are kept, and how often each one plays."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.util.streams import draw_outcome
from gymposium.util.visible import plural
from gymposium_agents.chat.tokens import Policy
from gymposium_train.config import Pool
from gymposium_train.rollout.protocol import PlayerSource

FADING = 0.99
"""The factor that discounts a result with each later match, so that about the last hundred count. The learner changes,
so old results say little. The value is that of AlphaStar's league (Vinyals et al., 2019, pseudocode)."""

PRIORITIES: dict[str, Callable[[float], float]] = {
    "uniform": lambda win_rate: 1.0,
    "hard": lambda win_rate: (1.0 - win_rate) ** 2,
    "even": lambda win_rate: win_rate * (1.0 - win_rate),
}
"""The weight of a version, given the learner's win rate against it: prioritized fictitious self-play. `hard` and `even`
are the weightings "squared" and "variance" of Vinyals et al. (2019, pseudocode)."""


@dataclass(slots=True)
class Version:
    """A kept version of the policy and the learner's results against it."""

    policy: Policy
    step: int
    """The version is the policy at the beginning of this step."""
    score: float = 0.0
    """The discounted sum of the learner's match scores against this version."""
    matches: float = 0.0
    """The discounted number of matches against this version."""

    @property
    def win_rate(self) -> float:
        """The learner's win rate against this version, with draws as half wins. One win and one loss are added as a
        prior: the rate is one half without matches, and a few matches change it little."""
        return (self.score + 1.0) / (self.matches + 2.0)

    def note(self, score: float) -> None:
        """Add the learner's score in one match."""
        self.score = FADING * self.score + score
        self.matches = FADING * self.matches + 1.0


class PastVersions:
    """The kept versions, oldest first."""

    def __init__(self, settings: Pool, source: PlayerSource) -> None:
        self._settings, self._source = settings, source
        self.versions: list[Version] = []
        self._leaving: list[Policy] = []
        """Versions without new matches, to be released once they no longer play."""

    def keep(self, step: int, playing: Collection[Policy] = ()) -> None:
        """Keep the policy before this step, if `every` steps have passed or no version is kept yet. The oldest version
        leaves if there are more than `size`. It is released unless it is among those `playing`."""
        self._add(step)
        for policy in [policy for policy in self._leaving if policy not in playing]:
            self._leaving.remove(policy)
            self._source.let_go(policy)

    def borrow(self, policy: Policy) -> None:
        """Note that a version plays that may have left before a checkpoint."""
        if policy not in (*self._leaving, *(version.policy for version in self.versions)):
            self._leaving.append(policy)

    def _add(self, step: int) -> None:
        if self.versions and (step % self._settings.every or step <= self.versions[-1].step):
            return
        policy = self._source.keep()
        if any(version.policy == policy for version in self.versions):
            return  # no update since then
        self.versions.append(Version(policy, step))
        if len(self.versions) > self._settings.size:
            self._leaving.append(self.versions.pop(0).policy)

    def draw(self, rng: random.Random) -> Policy:
        """Draw a version by its share, with one call to `rng`."""
        return self.versions[draw_outcome([*enumerate(self.shares())], rng)].policy

    def shares(self) -> list[float]:
        """Return the probability of each version. They add up to 1."""
        weights = [PRIORITIES[self._settings.prioritise](version.win_rate) for version in self.versions]
        return [weight / sum(weights) for weight in weights]

    def note(self, policy: Policy, scores: Iterable[float]) -> None:
        """Add the learner's scores in matches against a version. Scores against released versions are ignored."""
        for version in self.versions:
            if version.policy == policy:
                for score in scores:
                    version.note(score)

    def state(self) -> list[dict[str, Any]]:
        """Return the state for a checkpoint."""
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
        """Restore what `state` returned. Raises `GymposiumError` if it has more versions than the pool allows."""
        if len(state) > self._settings.size:
            raise GymposiumError(
                f"The checkpoint keeps {len(state)} past {plural(len(state), 'version')}, but pool.size is "
                f"{self._settings.size}. Resume "
                f"with the run's original settings."
            )
        self.versions = [
            Version(Policy(data["name"], data["version"]), data["step"], data["score"], data["matches"])
            for data in state
        ]
