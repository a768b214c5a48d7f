"""The health of a run: signs that an update spoilt the policy, and the state to which the run goes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gymposium_train.rollout import Group
from gymposium_train.rollout.results import failed_share

FAILED_LIMIT = 0.5
"""Share of failed replies above which a policy that answered better before is spoilt."""
KL_LIMIT = 0.5
"""Approximate KL of an update in nats a token above which it was too large."""
CLIP_LIMIT = 0.6
"""Share of clipped tokens above which an update was too large."""
MOST_SETBACKS = 3
"""Number of times that a run goes back to an earlier state; then it ends with that state."""
SHOWN = 3
"""Number of replies that are shown."""


@dataclass(slots=True)
class Health:
    """The judgement of a run's steps. It is part of a checkpoint."""

    setbacks: int = 0
    """Number of times that the run went back."""
    answered: bool = False
    """True once at most `FAILED_LIMIT` of the replies of a step failed."""

    @property
    def rate_scale(self) -> float:
        """The scale of the learning rate, halved by each setback."""
        return 0.5**self.setbacks

    def of_rollout(self, metrics: Mapping[str, Any]) -> str:
        """What is wrong with the policy by the replies of a step, which it gave before the step's update; empty if
        nothing is."""
        failed = failed_share(metrics)
        if failed <= FAILED_LIMIT:
            self.answered = True
        elif self.answered:
            return f"{failed:.0%} of the replies fail"
        return ""

    def of_update(self, metrics: Mapping[str, Any]) -> str:
        """What is wrong with the update of a step; empty if nothing is."""
        if (kl := metrics.get("train/approx_kl", 0.0)) > KL_LIMIT:
            return f"the update changed the policy by {kl:.2g} nats a token, more than {KL_LIMIT}"
        if (clipped := metrics.get("train/clipfrac", 0.0)) > CLIP_LIMIT:
            return f"the update left {clipped:.0%} of the tokens outside of the clip range, more than {CLIP_LIMIT:.0%}"
        return ""


def failed_replies(groups: Sequence[Group]) -> list[str]:
    """The first failed replies of a step, at most `SHOWN`."""
    return [turn.text for turn in islice((turn for turn in _turns(groups) if turn.reading != "move"), SHOWN)]


def some_replies(groups: Sequence[Group]) -> list[str]:
    """The first replies of a step, at most `SHOWN`."""
    return [turn.text for turn in islice(_turns(groups), SHOWN)]


def _turns(groups: Sequence[Group]) -> Iterator[Any]:
    return (turn for group in groups for trajectory in group.trajectories for turn in trajectory.turns)
