"""Rewards based only on the match outcome, and ways to split a total over the seat's turns.

Every reward's total has the penalties for failed replies subtracted, as set by `on_illegal`. Otherwise such replies
would be free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gymposium.match.score import match_score
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.protocol import Reward


class ReturnReward:
    """The game's returns: utility minus penalties, on the game's scale.

    They are split over the turns if the match stored its returns (`MatchJob.store_returns`)."""

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        return [
            Reward(
                t.returns[t.seat],
                {"utility": t.utilities[t.seat], "penalties": 0.0 - t.penalty},
                split_return(t),
                cut=t.utilities[t.seat] - t.paid if t.truncated and t.paid is not None else 0.0,
            )
            for t in group
        ]


class MatchScoreReward:
    """The match score in [0, 1] minus penalties. Scores mean the same in every game."""

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        return [subtract_penalties(t, score, {"score": score}) for t, score in ((t, compute_score(t)) for t in group)]


def subtract_penalties(trajectory: Trajectory, worth: float, parts: Mapping[str, float]) -> Reward:
    """Return the reward of a match whose value before penalties is `worth`.

    Each penalty is subtracted at the turn of the failed reply, and the penalties are reported as one of the parts."""
    total = worth - trajectory.penalty
    return Reward(total, {**parts, "penalties": 0.0 - trajectory.penalty}, split_total(trajectory, total))


def compute_score(trajectory: Trajectory) -> float:
    """Return the `match_score` of the trajectory's seat."""
    return match_score(trajectory.game, trajectory.utilities, trajectory.seat, trajectory.ending.seat)


def split_return(trajectory: Trajectory) -> tuple[float, ...] | None:
    """Split the seat's return over its turns. The parts add up to the return.

    Each turn gets the game rewards between its ask and the seat's next ask, minus the penalty for its reply. The first
    turn also gets earlier rewards, from an opening or other seats' moves. The last turn gets everything after it, and
    the effect of a forfeit. If the match did not store its returns (`MatchJob.store_returns`), only the penalties are
    split."""
    turns, total = trajectory.turns, trajectory.returns[trajectory.seat]
    before = [turn.before for turn in turns if turn.before is not None]
    if not turns or len(before) < len(turns):
        return split_total(trajectory, total)
    paid = [later - now for now, later in zip([0.0, *before[1:]], before[1:])]
    return _add_rest([pay - turn.penalty for pay, turn in zip(paid, turns)], total)


def split_total(trajectory: Trajectory, total: float) -> tuple[float, ...] | None:
    """Split a total over the seat's turns, if it is known only at the end of the match.

    Each penalty goes to the turn of the failed reply, and the rest to the last turn. Returns None if there was no
    penalty: then the last turn gets the whole total."""
    if not any(turn.penalty for turn in trajectory.turns):
        return None
    return _add_rest([0.0 - turn.penalty for turn in trajectory.turns[:-1]], total)


def _add_rest(earlier: list[float], total: float) -> tuple[float, ...]:
    return (*earlier, total - math.fsum(earlier))
