"""Samples: trajectories with their rows for the learner, their reward and their credit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.rewards.protocol import Reward, turn_rewards
from gymposium.trajectories import Trajectory
from gymposium_train.credit.protocol import Credited, Episode
from gymposium_train.objective.aggregate import turn_weights
from gymposium_train.objective.protocol import Aggregation
from gymposium_train.rows import Row, Span, Tokens, rows_of


@dataclass(slots=True)
class Sample:
    """One trajectory with its rows and its reward."""

    trajectory: Trajectory
    reward: Reward
    rows: list[Row]
    after: float = 0.0
    """The critic's value of the prompt that would have come next; 0 if the trajectory ended."""

    @classmethod
    def of(cls, trajectory: Trajectory, reward: Reward) -> Sample:
        return cls(trajectory, reward, rows_of([turn.trace for turn in trajectory.turns]))

    @property
    def spans(self) -> list[Span]:
        """One span for each turn, in order."""
        return [span for row in self.rows for span in row.spans]

    @property
    def unanswered(self) -> Tokens | None:
        """The prompt that would have come next, where the trajectory was truncated: there, and only there, its end is
        not the end of what it could have earned."""
        prompt: Tokens | None = self.trajectory.unanswered if self.trajectory.truncated else None
        return prompt

    def episode(self, *, critic: bool, k1: float = 0.0) -> Episode:
        """The numbers that credit is worked out from. With `k1`, so much for each nat that the turn's tokens are more
        likely than under the reference comes off its reward."""
        spans = self.spans
        rewards = turn_rewards(self.reward, self.trajectory)
        if critic and self.unanswered is not None:  # what it could still have earned is for the critic to say
            rewards = (*rewards[:-1], rewards[-1] - self.reward.cut)
        if k1:
            rewards = tuple(
                reward - k1 * (sum(span.old) - sum(span.reference)) for reward, span in zip(rewards, spans, strict=True)
            )
        return Episode(
            rewards=rewards,
            role=f"{self.trajectory.game.name} seat {self.trajectory.seat}",
            states=tuple(row.ids[: span.start] for row in self.rows for span in row.spans),
            values=tuple(span.value for span in spans) if critic else (),
            after=self.after,
        )

    def take(self, credited: Credited) -> None:
        """Store the advantage and the critic's target of each turn."""
        targets = credited.targets or (0.0,) * len(credited.advantages)
        for span, advantage, target in zip(self.spans, credited.advantages, targets, strict=True):
            span.advantage, span.target = advantage, target


def rows_to_learn(samples: Sequence[Sample], aggregate: Aggregation, longest: int) -> tuple[list[Row], int]:
    """The rows of all samples that are to be learned from, each turn with its weight in the loss, and how many rows
    were left out for being longer than `longest` tokens: they are never cut. The weights' denominators are those of
    all rows together."""
    kept = [(n, row) for n, sample in enumerate(samples) for row in sample.rows if len(row.ids) <= longest]
    turns = [(n, span) for n, row in kept for span in row.spans]
    weights = turn_weights([(n, len(span)) for n, span in turns], aggregate)
    for (_, span), weight in zip(turns, weights, strict=True):
        span.weight = weight
    return [row for _, row in kept], sum(len(sample.rows) for sample in samples) - len(kept)
