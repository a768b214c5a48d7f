"""The game's returns, with each turn's reward clipped: `clipped(1)`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gymposium.errors import BadOption, BadReward
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.match import ReturnReward
from gymposium.rewards.protocol import Reward, split_reward

FORM = "clipped(MOST)"


class ClippedReturns:
    """Returns with each turn's game reward clipped to ±`most`, as for Atari games (Mnih et al., 2015).

    Otherwise a few large rewards would dominate, if a game gives 4 on one turn and 512 on another, or a forfeit costs a
    whole score. Penalties for failed replies are subtracted without clipping. Matches must store their returns
    (`MatchJob.store_returns`)."""

    def __init__(self, most: str | None) -> None:
        """`most` is the text in the parentheses. Raises `BadOption` for an invalid one."""
        try:
            self.most = float(most or "")
        except ValueError:
            self.most = math.nan
        if not 0.0 < self.most < math.inf:
            raise BadOption(f"Invalid reward=clipped({most or ''}). Use {FORM} with a number above 0.")

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        """Return the rewards of one group. Raises `BadReward` if a match did not store its returns."""
        for trajectory in group:
            if any(turn.before is None for turn in trajectory.turns):
                raise BadReward(
                    "clipped(...) needs the pay of each turn, but this match did not store it. Play it with "
                    "MatchJob(store_returns=True)."
                )
        return [self._compute_reward(t, returns) for t, returns in zip(group, ReturnReward()(group), strict=True)]

    def _compute_reward(self, trajectory: Trajectory, returns: Reward) -> Reward:
        penalties = [turn.penalty for turn in trajectory.turns]
        paid = [pay + cost for pay, cost in zip(split_reward(returns, trajectory), penalties, strict=True)]
        clipped = [self._clip(pay) for pay in paid]
        turns = tuple(pay - cost for pay, cost in zip(clipped, penalties, strict=True))
        cut = clipped[-1] - self._clip(paid[-1] - returns.cut) if clipped else 0.0
        return Reward(math.fsum(turns), {**returns.parts, "clipped": math.fsum(clipped)}, turns, cut)

    def _clip(self, pay: float) -> float:
        return min(max(pay, -self.most), self.most)
