"""The contract of credit assignment, which turns the rewards of a batch into an advantage for each turn.

A credit works on numbers only, without tokens or tensors. Its settings are a subclass of `CreditSettings`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from pydantic import Field

from gymposium.errors import GymposiumError
from gymposium_train.util.settings import Settings


class CreditSettings(Settings):
    """Base class of a credit's settings, the table `[credit]`. A subclass sets `kind` to the name of its credit:
    `kind: Literal["grpo"] = "grpo"`."""

    kind: str
    """Which credit assignment is used."""


class Critic(Settings):
    """The critic: a value head, initialized to zero, on the policy's last hidden state. It gives one value per turn,
    read at the last token of the turn's prompt."""

    weight: float = Field(default=0.5, gt=0.0)
    """Weight of the value loss."""
    learning_rate: float = Field(default=1e-2, gt=0.0)
    """Peak learning rate of the value head."""
    detached: bool = False
    """Whether the value loss trains only the value head and leaves the model below it unchanged."""
    scale: float | None = Field(default=None, gt=0.0)
    """Reward represented by a head output of 1, and the unit of value errors. It should be near the standard deviation
    of the returns. By default, it is estimated from a few random matches, or 1 if `reward` is not the returns."""
    warmup: int = Field(default=0, ge=0)
    """Number of initial steps that train only the critic."""
    clip: float | None = Field(default=None, gt=0.0)
    """Maximum change of a value during an update, in units of reward. Unlimited if omitted."""

    @property
    def unit(self) -> float:
        """The value of `scale`, or 1 if it is omitted."""
        return 1.0 if self.scale is None else self.scale


class BadEpisode(GymposiumError, ValueError):
    """Error for an episode whose credit cannot be computed. The message says what is missing."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One trajectory, as passed to a credit, which returns it with its advantages.

    Raises `BadEpisode` if it has no turns, or if a field does not have one value per turn, like `rewards`."""

    rewards: tuple[float, ...]
    """One reward per turn. They add up to the trajectory's reward."""
    role: str
    """Game and seat. Expected rewards differ between roles, so roles never share a baseline."""
    states: tuple[Hashable, ...]
    """One state per turn: the token ids of the player's prompt."""
    values: tuple[float, ...] = ()
    """The critic's value of each turn, before the reply. Empty without a critic."""
    after: float = 0.0
    """The critic's value of the next prompt if the trajectory was truncated, or 0 if the trajectory ended."""
    advantages: tuple[float, ...] = ()
    """One advantage per turn, shared by all its tokens. Set by the credit. Empty in a group that teaches nothing."""
    targets: tuple[float, ...] = ()
    """The critic's target value at each turn. Set by a credit with a critic."""
    group: Any = None
    """The trajectory's group (a `gymposium_train.rollout.protocol.Group`). A credit does not read it."""
    trajectory: Any = None
    """The trajectory (a `gymposium_train.rollout.samples.TokenTrajectory`). A credit does not read it."""
    reward: Any = None
    """The trajectory's reward (a `gymposium.rewards.protocol.Reward`). A credit does not read it."""
    rows: tuple[Any, ...] = ()
    """The trajectory's tokens (`gymposium_train.learner.rows.Row`). A credit does not read them."""

    def __post_init__(self) -> None:
        turns = len(self.rewards)
        if not turns:
            raise BadEpisode("This episode has no turns, so it cannot be credited. Leave it out.")
        for name in ("states", "values", "advantages", "targets"):
            by_turn: tuple[Hashable, ...] = getattr(self, name)
            if len(by_turn) != turns and (by_turn or name == "states"):
                raise BadEpisode(f"This episode has {turns} rewards but {len(by_turn)} {name}. Give one per turn.")

    @property
    def total(self) -> float:
        """The sum of the rewards, rounded once, so that it does not depend on their order."""
        return math.fsum(self.rewards)

    @property
    def spans(self) -> list[Any]:
        """The tokens of each turn (`gymposium_train.learner.rows.Span`), in order."""
        return [span for row in self.rows for span in row.spans]


def assign_advantages(
    group: Sequence[Episode], advantages: Sequence[Sequence[float]], targets: Sequence[Sequence[float]] | None = None
) -> list[Episode]:
    """Return the episodes of a group with the advantages of their turns, and with the critic's targets, if the credit
    has a critic."""
    each = zip(group, advantages, targets or [()] * len(group), strict=True)
    return [replace(e, advantages=tuple(a), targets=tuple(t)) for e, a, t in each]


def is_tied(group: Sequence[Episode]) -> bool:
    """Return whether a credited group teaches nothing: the credit gave it no advantages."""
    return not any(episode.advantages for episode in group)


class Credit(Protocol):
    """A credit assignment. Discounts apply to turns and never to tokens, because a discount on tokens would penalize
    long reasoning."""

    needs_groups: ClassVar[bool] = False
    """Whether trajectories are compared within a group. A group then needs two or more."""
    needs_turn_rewards: ClassVar[bool] = False
    """Whether the reward of each turn matters, and not only the trajectory's sum."""
    drops_ties: ClassVar[bool] = False
    """Whether a group whose trajectories all have the same reward teaches nothing and is dropped."""
    compares_states: ClassVar[bool] = False
    """Whether turns with the same prompt are compared. This needs prompts without the match so far."""

    @property
    def critic(self) -> Critic | None:
        """Settings of the credit's critic, or None for a credit without a critic."""
        return None

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> Sequence[Sequence[Episode]]:
        """Return the groups of a batch, in order, with the advantages of their episodes (`assign_advantages`). The
        episodes of a group share a baseline: they have the same game, match seed, seat and opponent. A group that
        teaches nothing, for example because all its rewards are equal, is returned without advantages. The caller drops
        and counts it."""

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint, as plain data. Empty for a credit without state."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned. Raises `GymposiumError` for the state of another kind of credit."""
        if state:
            raise GymposiumError(
                f"The checkpoint keeps {', '.join(sorted(state))} for its credit, but {type(self).__name__} has no "
                f"state. Resume with the run's original credit."
            )
