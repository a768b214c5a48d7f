"""Rewards by the outcome of the match alone.

Whatever the reward, penalties for failed replies come off its total: what such a reply costs is for `on_illegal` to
say, and a reward that left it out would make them free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gymposium.match_score import match_score
from gymposium.rewards.by_turn import penalties_by_turn, returns_by_turn
from gymposium.rewards.protocol import Reward
from gymposium.trajectories import Trajectory


class Returns:
    """The game's own returns: its utility less penalties, in the game's own scale; by turn where the match noted
    what it paid (`MatchJob.note_pay`)."""

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        return [
            Reward(
                t.returns[t.seat],
                {"utility": t.utilities[t.seat], "penalties": 0.0 - t.penalty},
                returns_by_turn(t),
                cut=t.utilities[t.seat] - t.paid if t.truncated and t.paid is not None else 0.0,
            )
            for t in group
        ]


class Score:
    """The match's score in [0, 1], less penalties: it means the same in every game."""

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        return [less_penalties(t, score, {"score": score}) for t, score in ((t, score_of(t)) for t in group)]


def less_penalties(trajectory: Trajectory, worth: float, parts: Mapping[str, float]) -> Reward:
    """The reward of a match that was worth this much: less penalties, each at the turn that it was paid for, and with
    them among the parts."""
    total = worth - trajectory.penalty
    return Reward(total, {**parts, "penalties": 0.0 - trajectory.penalty}, penalties_by_turn(trajectory, total))


def score_of(trajectory: Trajectory) -> float:
    """The seat's `match_score`."""
    return match_score(trajectory.game, trajectory.utilities, trajectory.seat, trajectory.ending.seat)
