"""The contract of credit assignment, which turns the rewards of a batch into an advantage for each turn.

A credit works on numbers only, without tokens or tensors. Its settings are a subclass of `CreditSettings`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
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
    """The critic: a value head, zero at first, on the policy's last hidden state. It has one value for each turn, read
    at the last token of the turn's prompt."""

    weight: float = Field(default=0.5, gt=0.0)
    """Weight of the value loss."""
    learning_rate: float = Field(default=1e-2, gt=0.0)
    """Peak learning rate of the value head."""
    detached: bool = False
    """Whether the value loss trains only the value head and leaves the model below it unchanged."""
    scale: float | None = Field(default=None, gt=0.0)
    """Value that an output of 1 of the head stands for, in units of reward; value errors are measured in it. It should
    be near the standard deviation of the returns. By default a run takes that of a few random matches, or 1 with
    another `reward` than returns."""
    warmup: int = Field(default=0, ge=0)
    """Number of first steps in which only the critic learns."""
    clip: float | None = Field(default=None, gt=0.0)
    """Maximum change of a value during an update, in units of reward; no limit if left out."""

    @property
    def unit(self) -> float:
        """The value of `scale`, or 1 if it is left out."""
        return 1.0 if self.scale is None else self.scale


class BadEpisode(GymposiumError, ValueError):
    """Error for an episode that credit cannot be computed for; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One trajectory as a credit sees it.

    Raises `BadEpisode` if it has no turn, or the numbers of rewards, states and (with a critic) values differ."""

    rewards: tuple[float, ...]
    """One reward for each turn; they add up to the trajectory's reward."""
    role: str
    """Game and seat. Expected rewards differ between roles, so roles never share a baseline."""
    states: tuple[Hashable, ...]
    """One state for each turn: the token ids of the prompt that the player saw."""
    values: tuple[float, ...] = ()
    """The critic's value of each turn, before the reply; empty without a critic."""
    after: float = 0.0
    """The critic's value of the prompt that would have come next, if the trajectory was truncated; 0 if it ended."""

    def __post_init__(self) -> None:
        turns = len(self.rewards)
        if not turns:
            raise BadEpisode("This episode has no turns, so nothing to credit: leave it out.")
        for name, by_turn in (("states", self.states), ("values", self.values or self.rewards)):
            if len(by_turn) != turns:
                raise BadEpisode(f"This episode has {turns} rewards and {len(by_turn)} {name}; give one a turn.")

    @property
    def total(self) -> float:
        """The sum of the rewards, rounded once, so that it does not depend on their order."""
        return math.fsum(self.rewards)


@dataclass(frozen=True, slots=True)
class Credited:
    """The advantages of one trajectory's turns."""

    advantages: tuple[float, ...]
    """One advantage for each turn; all tokens of a turn share it."""
    targets: tuple[float, ...] = ()
    """The value that the critic is fitted to at each turn; empty without a critic."""


class Credit(Protocol):
    """A credit assignment. A group holds the trajectories that share a baseline: those of the same game, match seed,
    seat and opponent. Discounts apply to turns and never to tokens, because a discount on tokens would penalise long
    reasoning."""

    needs_groups: ClassVar[bool] = False
    """Whether trajectories are compared within a group, so that a group must have 2 or more."""
    needs_turn_rewards: ClassVar[bool] = False
    """Whether the reward of each turn matters, and not only the sum over the trajectory."""
    compares_states: ClassVar[bool] = False
    """Whether turns with the same prompt are compared. This needs prompts that do not contain the match so far."""

    @property
    def critic(self) -> Critic | None:
        """Settings of the critic that the credit needs; None for a credit without a critic."""
        return None

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> list[list[Credited] | None]:
        """Return the credit of every trajectory of a batch, in order; no group is empty. None for a group from which
        nothing can be learned; the caller drops and counts it."""

    def state(self) -> dict[str, Any]:
        """Return the state that a checkpoint must hold, as plain data; empty for a credit without state."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned. Raises `GymposiumError` for the state of another kind of credit."""
        if state:
            raise GymposiumError(
                f"The checkpoint keeps {', '.join(sorted(state))} for its credit, but {type(self).__name__} keeps "
                "nothing: resume with the credit that the run began with."
            )
