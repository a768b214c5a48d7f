"""Rewards by the outcome of the match alone.

Whatever the reward, penalties for failed replies come off its total: what such a reply costs is for `on_illegal` to
say, and a reward that left it out would make them free.
"""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.match_score import match_score
from gymposium.rewards.protocol import Reward
from gymposium.trajectories import Trajectory


class Returns:
    """The game's own returns: its utility less penalties, in the game's own scale."""

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        return [
            Reward(t.returns[t.seat], {"utility": t.utilities[t.seat], "penalties": 0.0 - t.penalty}) for t in group
        ]


class Score:
    """The match's score in [0, 1], less penalties: it means the same in every game."""

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        return [
            Reward(score - t.penalty, {"score": score, "penalties": 0.0 - t.penalty})
            for t, score in ((t, score_of(t)) for t in group)
        ]


def score_of(trajectory: Trajectory) -> float:
    """The seat's `match_score`."""
    return match_score(trajectory.game, trajectory.utilities, trajectory.seat, trajectory.forfeit)
