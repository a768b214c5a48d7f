"""Samples: trajectories with the rows, rewards and credit that the learner uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gymposium.rewards.protocol import Reward, turn_rewards
from gymposium_train.credit.protocol import Episode, TurnAdvantages
from gymposium_train.learner.rows import Row, Span, Tokens, make_rows
from gymposium_train.objective.aggregate import turn_weights
from gymposium_train.objective.protocol import Aggregation


class TracedTurn(Protocol):
    """A turn whose tokens are known."""

    @property
    def trace(self) -> Any:
        """The turn's tokens, a `gymposium_agents.chat.tokens.TurnTokens`."""
        ...


class TokenTrajectory(Protocol):
    """A sequence of turns to learn from. `gymposium.records.trajectories.Trajectory` is one seat's turns in a match. A
    trajectory without a match needs no more than this protocol."""

    @property
    def turns(self) -> Sequence[TracedTurn]:
        """The turns in order, at least one."""
        ...

    @property
    def truncated(self) -> bool:
        """True if it ended only because the model's context was full. For learning, that is not a terminal state."""
        ...

    @property
    def unanswered(self) -> Any:
        """The token ids of the next prompt if truncated, or None."""
        ...


@dataclass(slots=True)
class Sample:
    """One trajectory as the learner uses it: its turns, reward, role, and tokens as rows."""

    role: str
    turns: Sequence[TracedTurn]
    reward: Reward
    rows: list[Row]
    unanswered: Tokens | None = None
    """The next prompt, if the trajectory was truncated. Only then could it still earn rewards."""
    after: float = 0.0
    """The critic's value of `unanswered`; 0 if the trajectory was not truncated."""

    @classmethod
    def from_trajectory(cls, role: str, trajectory: TokenTrajectory, reward: Reward) -> Sample:
        """Make the sample of a trajectory, with its rows."""
        turns = trajectory.turns
        unanswered = trajectory.unanswered if trajectory.truncated else None
        return cls(role, turns, reward, make_rows([turn.trace for turn in turns]), unanswered)

    @property
    def spans(self) -> list[Span]:
        """One span per turn, in order."""
        return [span for row in self.rows for span in row.spans]

    def episode(self, *, critic: bool, k1: float = 0.0) -> Episode:
        """Return the numbers that credit is computed from. `k1` is subtracted from a turn's reward for each nat by
        which its tokens are likelier than under the reference."""
        spans, rewards = self.spans, turn_rewards(self.reward, self)
        if critic and self.unanswered is not None:  # the critic estimates the rewards it could still earn
            rewards = (*rewards[:-1], rewards[-1] - self.reward.cut)
        if k1:
            rewards = tuple(
                reward - k1 * (sum(span.old) - sum(span.reference)) for reward, span in zip(rewards, spans, strict=True)
            )
        return Episode(
            rewards=rewards,
            role=self.role,
            states=tuple(row.ids[: span.start] for row in self.rows for span in row.spans),
            values=tuple(span.value for span in spans) if critic else (),
            after=self.after,
        )

    def take(self, credited: TurnAdvantages) -> None:
        """Set the advantage and the target of each turn."""
        targets = credited.targets or (0.0,) * len(credited.advantages)
        for span, advantage, target in zip(self.spans, credited.advantages, targets, strict=True):
            span.advantage, span.target = advantage, target


def rows_to_learn(samples: Sequence[Sample], aggregate: Aggregation, longest: int) -> tuple[list[Row], int]:
    """Return the rows to learn from, and how many were left out for having more than `longest` tokens. Rows are never
    cut. Sets each turn's weight in the loss, with denominators over all rows together."""
    kept = [(n, row) for n, sample in enumerate(samples) for row in sample.rows if len(row.ids) <= longest]
    turns = [(n, span) for n, row in kept for span in row.spans]
    weights = turn_weights([(n, len(span)) for n, span in turns], aggregate)
    for (_, span), weight in zip(turns, weights, strict=True):
        span.weight = weight
    return [row for _, row in kept], sum(len(sample.rows) for sample in samples) - len(kept)
