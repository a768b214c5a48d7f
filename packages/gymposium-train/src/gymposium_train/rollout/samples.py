"""Conversion of rated trajectories to the rows that the learner uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, Protocol

from gymposium.rewards.protocol import Reward, split_reward
from gymposium_train.credit.protocol import Episode, is_tied
from gymposium_train.learner.rows import Row, Tokens, fill_spans, make_rows
from gymposium_train.objective.aggregate import compute_turn_weights
from gymposium_train.objective.protocol import Aggregation
from gymposium_train.rollout.protocol import Group


class TracedTurn(Protocol):
    """A turn whose tokens are known."""

    @property
    def trace(self) -> Any:
        """The turn's tokens, a `gymposium_agents.chat.tokens.TurnTokens`."""
        ...


class TokenTrajectory(Protocol):
    """A sequence of turns to learn from. `gymposium.records.trajectories.Trajectory` implements it for one seat's turns
    in a match. A trajectory that does not come from a match needs only this protocol."""

    @property
    def turns(self) -> Sequence[TracedTurn]:
        """The turns in order, at least one."""
        ...

    @property
    def truncated(self) -> bool:
        """True if the sequence ended only because the model's context was full. For learning, that is not a terminal
        state."""
        ...

    @property
    def unanswered(self) -> Any:
        """The token ids of the next prompt if the sequence was truncated, or None."""
        ...


def make_episodes(group: Group) -> list[Episode]:
    """Make the episodes of a rated group, with their tokens as rows."""
    return [_make_episode(group, *pair) for pair in zip(group.trajectories, group.rewards, strict=True)]


def _make_episode(group: Group, trajectory: TokenTrajectory, reward: Reward) -> Episode:
    rows = make_rows([turn.trace for turn in trajectory.turns])
    return Episode(
        rewards=split_reward(reward, trajectory),
        role=group.role,
        states=tuple(row.ids[: span.start] for row in rows for span in row.spans),
        group=group,
        trajectory=trajectory,
        reward=reward,
        rows=tuple(rows),
    )


def annotate_episode(
    episode: Episode, rows: Iterable[Row], *, critic: bool, after: float = 0.0, k1: float = 0.0
) -> Episode:
    """Return an episode with annotated rows (`Learner.annotate`). `after` is the critic's value of the next prompt.
    `k1` is the penalty on a turn's reward per nat of its tokens' log-probability above the reference's."""
    episode = replace(episode, rows=tuple(rows), after=after)
    rewards, spans = episode.rewards, episode.spans
    if critic and next_prompt(episode) is not None:  # the critic estimates the rewards it could still earn
        rewards = (*rewards[:-1], rewards[-1] - episode.reward.cut)
    if k1:
        rewards = tuple(
            reward - k1 * (sum(span.old) - sum(span.reference)) for reward, span in zip(rewards, spans, strict=True)
        )
    return replace(episode, rewards=rewards, values=tuple(span.value for span in spans) if critic else ())


def next_prompt(episode: Episode) -> Tokens | None:
    """Return the next prompt of a truncated trajectory, or None. Only a truncated trajectory could still earn
    rewards."""
    return episode.trajectory.unanswered if episode.trajectory.truncated else None


def weigh_turns(
    groups: Sequence[Sequence[Episode]], aggregate: Aggregation, longest: int, *, mask_cut_off: bool = False
) -> list[list[Episode]]:
    """Return credited groups with each turn's credit and loss weight written into its row. Tied groups, rows of more
    than `longest` tokens and, with `mask_cut_off`, replies that were cut off have no weight. Denominators cover all
    other turns together."""

    def learns(episode: Episode) -> Iterator[bool]:
        """Yield for each turn whether it has a weight."""
        masked = map(is_cut_off, episode.trajectory.turns) if mask_cut_off else repeat(False)
        short = (len(row.ids) <= longest for row in episode.rows for _ in row.spans)
        return (fits and not is_masked for fits, is_masked in zip(short, masked))

    taught = [episode for group in groups if not is_tied(group) for episode in group]
    turns = ((n, len(span), on) for n, one in enumerate(taught) for span, on in zip(one.spans, learns(one)))
    weights = iter(compute_turn_weights([(n, length) for n, length, on in turns if on], aggregate))

    def weigh_episode(episode: Episode) -> Episode:
        each = [next(weights) if on else 0.0 for on in learns(episode)]
        targets = episode.targets or [0.0] * len(each)
        rows = fill_spans(episode.rows, advantage=episode.advantages, target=targets, weight=each)
        return replace(episode, rows=tuple(rows))

    return [[*group] if is_tied(group) else [*map(weigh_episode, group)] for group in groups]


def is_cut_off(turn: TracedTurn) -> bool:
    """Return whether the turn's reply was cut off at its token limit."""
    return bool(turn.trace.completion.finish_reason == "length")


def rows_to_learn(groups: Sequence[Sequence[Episode]]) -> list[Row]:
    """Return the rows with a weight in the loss. Rows are never cut."""
    rows = (row for group in groups for episode in group for row in episode.rows)
    return [row for row in rows if any(span.weight for span in row.spans)]
