"""The health of a run: signs that an update broke the policy, the end of a run that cannot learn, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gymposium_train.config.schedules import RunProgress
from gymposium_train.rollout import Group
from gymposium_train.rollout.results import compute_failed_share

FAILED_LIMIT = 0.5
"""Share of failed replies above which a policy that answered better before counts as broken."""
KL_LIMIT = 0.5
"""Approximate KL, in nats per token, above which an update was too large."""
MOST_SETBACKS = 3
"""Maximum number of rollbacks. After that, the run ends with the state it rolled back to."""
MAX_IDLE_STEPS = 10
"""A run ends after this many consecutive steps without rows to learn from."""
SHOWN = 3
"""Maximum number of replies to quote."""


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
        is wrong."""
        failed = compute_failed_share(metrics)
        if failed <= FAILED_LIMIT:
            self.answered = True
        elif self.answered:
            return f"{failed:.0%} of the replies fail"
        return ""

    def check_update(self, metrics: Mapping[str, Any], clip_limit: float) -> str:
        """Describe what is wrong with the update of a step. Empty if nothing is wrong. `clip_limit` is that of the
        objective's settings."""
        if (kl := metrics.get("train/approx_kl", 0.0)) > KL_LIMIT:
            return f"the update changed the policy by {kl:.2g} nats per token, more than {KL_LIMIT}"
        if (clipped := metrics.get("train/clipfrac", 0.0)) > clip_limit:
            return f"the update left {clipped:.0%} of the tokens outside the clip range, more than {clip_limit:.0%}"
        return ""


@dataclass(slots=True)
class StopRule:
    """The rule for ending a run: after its last step, after too many rollbacks, or once its groups stay tied."""

    pace: RunProgress
    health: Health
    idle: int = 0
    """Number of latest consecutive steps without rows to learn from."""
    tied: int = 0
    """Number of latest consecutive steps with only tied groups."""

    def note(self, metrics: Mapping[str, Any]) -> None:
        """Note the metrics of a step."""
        self.idle = 0 if metrics["train/rows"] else self.idle + 1
        self.tied = self.tied + 1 if 0 < metrics.get("rollout/groups_tied", 0) == metrics["rollout/groups"] else 0

    def is_over(self, done: int) -> bool:
        """Return True if the run ends after `done` steps."""
        return self.health.setbacks > MOST_SETBACKS or self.tied == MAX_IDLE_STEPS or self.pace.is_over(done)


def describe_problems(step: int, metrics: Mapping[str, Any], groups: Sequence[Group], tied: int) -> Iterator[str]:
    """Describe what keeps a run from learning at a step, counted from 1: replies that failed before any update, or only
    tied groups. `tied` counts the latest consecutive steps with only tied groups."""
    if step == 1 and (failed := compute_failed_share(metrics)) > FAILED_LIMIT:
        yield (
            f"Step {step}: {failed:.0%} of the replies fail before any update: {quote_replies(groups, failed=True)}. "
            f"The run may never start to learn. If replies are cut off, raise prompting.max_tokens. Otherwise use a "
            f"longer cold start or, without one, prompts that name the form of a reply (prompting.reply=tags)."
        )
    if tied == 1:
        yield (
            f"Step {step}: all matches of each group earned the same reward, so there was nothing to learn. Replies: "
            f"{quote_replies(groups)}."
        )
    elif tied == MAX_IDLE_STEPS:
        yield (
            f"Step {step}: the {MAX_IDLE_STEPS}th step in a row with equal rewards in every group. Training ends. Try "
            f"a longer cold start, another opponent, or larger groups (rollout.group_size)."
        )


def quote_replies(groups: Sequence[Group], *, failed: bool = False) -> str:
    """Quote the first replies of a step, at most `SHOWN`. With `failed`, only replies without a move."""
    turns = (turn for group in groups for trajectory in group.trajectories for turn in trajectory.turns)
    return ", ".join(repr(turn.text) for turn in islice((t for t in turns if not failed or t.reading != "move"), SHOWN))
