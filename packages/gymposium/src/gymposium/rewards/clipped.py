"""The game's own returns, with what each turn is paid held within bounds: `clipped(1)`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gymposium.errors import BadOption, BadReward
from gymposium.rewards.match import ReturnReward
from gymposium.rewards.protocol import Reward, turn_rewards
from gymposium.trajectories import Trajectory

FORM = "clipped(MOST)"


class Clipped:
    """What a turn is paid is held within ±`most`, as Atari games are learned (Mnih et al., 2015): where a game pays
    4 now and 512 once, or takes a whole score for one forfeit, the few great payments drown what all others say.

    Penalties for failed replies come off as they are. Matches must have noted what they paid
    (`MatchJob.note_pay`)."""

    def __init__(self, most: str | None) -> None:
        """`most` is what stands in the brackets. Raises `BadOption`."""
        try:
            self.most = float(most or "")
        except ValueError:
            self.most = math.nan
        if not 0.0 < self.most < math.inf:
            raise BadOption(f"reward=clipped({most or ''}): write {FORM} with a number above 0.")

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        """Raises `BadReward` where a match did not note what it paid."""
        for trajectory in group:
            if any(turn.before is None for turn in trajectory.turns):
                raise BadReward(
                    "clipped(...) holds what each turn is paid within bounds, and this match did not note it: play it "
                    "with MatchJob(note_pay=True)."
                )
        return [self._reward(t, whole) for t, whole in zip(group, ReturnReward()(group), strict=True)]

    def _reward(self, trajectory: Trajectory, whole: Reward) -> Reward:
        penalties = [turn.penalty for turn in trajectory.turns]
        paid = [pay + cost for pay, cost in zip(turn_rewards(whole, trajectory), penalties, strict=True)]
        held = [self._held(pay) for pay in paid]
        turns = tuple(pay - cost for pay, cost in zip(held, penalties, strict=True))
        cut = held[-1] - self._held(paid[-1] - whole.cut) if held else 0.0
        return Reward(math.fsum(turns), {**whole.parts, "clipped": math.fsum(held)}, turns, cut)

    def _held(self, pay: float) -> float:
        return min(max(pay, -self.most), self.most)
