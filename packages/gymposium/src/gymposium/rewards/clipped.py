"""The game's own returns, with what each turn is paid held within bounds: `clipped(1)`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gymposium.errors import BadOption, BadReward
from gymposium.rewards.by_turn import returns_by_turn
from gymposium.rewards.protocol import Reward
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
        return [self._reward(trajectory) for trajectory in group]

    def _reward(self, trajectory: Trajectory) -> Reward:
        paid = self._paid(trajectory)
        held = [self._held(pay) for pay in paid]
        turns = tuple(pay - turn.penalty for pay, turn in zip(held, trajectory.turns, strict=True))
        utility = trajectory.utilities[trajectory.seat]
        missing = utility - trajectory.paid if trajectory.truncated and trajectory.paid is not None else 0.0
        parts = {"utility": utility, "clipped": math.fsum(held), "penalties": 0.0 - trajectory.penalty}
        cut = held[-1] - self._held(paid[-1] - missing) if held else 0.0
        return Reward(math.fsum(turns), parts, turns, cut)

    def _paid(self, trajectory: Trajectory) -> list[float]:
        """By turn, without penalties."""
        if any(turn.before is None for turn in trajectory.turns):
            raise BadReward(
                "clipped(...) holds what each turn is paid within bounds, and this match did not note it: play it "
                "with MatchJob(note_pay=True)."
            )
        found = returns_by_turn(trajectory) or (trajectory.returns[trajectory.seat],) * len(trajectory.turns)
        return [pay + turn.penalty for pay, turn in zip(found, trajectory.turns, strict=True)]

    def _held(self, pay: float) -> float:
        return min(max(pay, -self.most), self.most)
