"""The health of a run: signs that an update broke the policy, and rollbacks to an earlier state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gymposium_train.rollout import Group
from gymposium_train.rollout.results import failed_share

FAILED_LIMIT = 0.5
"""Share of failed replies above which a policy that answered better before counts as broken."""
KL_LIMIT = 0.5
"""Approximate KL of an update, in nats per token, above which it was too large."""
CLIP_LIMIT = 0.6
"""Share of clipped tokens above which an update was too large."""
MOST_SETBACKS = 3
"""Maximum number of rollbacks. After that, the run ends with the state it rolled back to."""
SHOWN = 3
"""Number of replies to show."""


@dataclass(slots=True)
class Health:
    """The health record of a run's steps, stored in checkpoints."""

    setbacks: int = 0
    """Number of rollbacks."""
    answered: bool = False
    """True once at most `FAILED_LIMIT` of a step's replies failed."""

    @property
    def rate_scale(self) -> float:
        """The scale of the learning rate, halved by each rollback."""
        return 0.5**self.setbacks

    def check_rollout(self, metrics: Mapping[str, Any]) -> str:
        """Describe what is wrong with the policy, judging by a step's replies from before its update. Empty if nothing
        is."""
        failed = failed_share(metrics)
        if failed <= FAILED_LIMIT:
            self.answered = True
        elif self.answered:
            return f"{failed:.0%} of the replies fail"
        return ""

    def check_update(self, metrics: Mapping[str, Any]) -> str:
        """Describe what is wrong with the update of a step. Empty if nothing is."""
        if (kl := metrics.get("train/approx_kl", 0.0)) > KL_LIMIT:
            return f"the update changed the policy by {kl:.2g} nats per token, more than {KL_LIMIT}"
        if (clipped := metrics.get("train/clipfrac", 0.0)) > CLIP_LIMIT:
            return f"the update left {clipped:.0%} of the tokens outside the clip range, more than {CLIP_LIMIT:.0%}"
        return ""


def failed_replies(groups: Sequence[Group]) -> list[str]:
    """Return the first failed replies of a step, at most `SHOWN`."""
    return [turn.text for turn in islice((turn for turn in _turns(groups) if turn.reading != "move"), SHOWN)]


def some_replies(groups: Sequence[Group]) -> list[str]:
    """Return the first replies of a step, at most `SHOWN`."""
    return [turn.text for turn in islice(_turns(groups), SHOWN)]


def _turns(groups: Sequence[Group]) -> Iterator[Any]:
    return (turn for group in groups for trajectory in group.trajectories for turn in trajectory.turns)
