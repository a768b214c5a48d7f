"""What credit is made from and what comes of it: numbers in, numbers out, nothing of tokens or tensors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gymposium.errors import GymposiumError


class BadEpisode(GymposiumError, ValueError):
    """An episode that credit cannot be worked out for; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One trajectory as credit sees it.

    Raises `BadEpisode` where it has no turn, or not one state (and, with a critic, one value) for each."""

    rewards: tuple[float, ...]
    """One a turn; they add up to the trajectory's reward."""
    role: str
    """Game and seat. What a role expects says nothing about another: roles never share a baseline."""
    states: tuple[Hashable, ...]
    """One a turn: what the player saw, as its prompt's ids."""
    values: tuple[float, ...] = ()
    """What the critic expects at each turn, before the reply; empty without a critic."""
    after: float = 0.0
    """What the critic expects at the prompt that would have come next, where the trajectory was truncated; 0 where it
    ended."""

    def __post_init__(self) -> None:
        turns = len(self.rewards)
        if not turns:
            raise BadEpisode("This episode has no turns, so nothing to credit: leave it out.")
        if len(self.states) != turns:
            raise BadEpisode(f"This episode has {turns} rewards and {len(self.states)} states; give one a turn.")
        if self.values and len(self.values) != turns:
            raise BadEpisode(f"This episode has {turns} rewards and {len(self.values)} values; give one a turn.")

    @property
    def total(self) -> float:
        """What the trajectory got; the order of its rewards does not matter, not even for rounding."""
        return math.fsum(self.rewards)


@dataclass(frozen=True, slots=True)
class Credited:
    """What the turns of one trajectory deserve."""

    advantages: tuple[float, ...]
    """One a turn; all tokens of a turn share it."""
    targets: tuple[float, ...] = ()
    """What the critic's value at each turn is fitted to; empty without a critic."""


class Credit(Protocol):
    """Who deserves what. A group is what one baseline ranges over: trajectories of the same game, match seed, seat and
    opponent. Discounts count turns, never tokens: a discount on tokens would be a price on thinking."""

    def __call__(self, groups: Sequence[Sequence[Episode]]) -> list[list[Credited] | None]:
        """The credit of every trajectory of a batch, in order; no group is empty. None for a group that teaches
        nothing: it is dropped, and counted by the caller."""
        ...

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold to go on with the same numbers, as plain data; empty for most."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave. Raises `GymposiumError` where it is of another kind of credit."""
        if state:
            raise GymposiumError(
                f"The checkpoint keeps {', '.join(sorted(state))} for its credit, but {type(self).__name__} keeps "
                "nothing: resume with the credit that the run began with."
            )
