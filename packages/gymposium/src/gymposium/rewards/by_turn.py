"""Totals split over the seat's turns, as far as it is known what each turn brought and cost. Every split adds up."""

from __future__ import annotations

import math

from gymposium.trajectories import Trajectory

ByTurn = tuple[float, ...]


def returns_by_turn(trajectory: Trajectory) -> ByTurn | None:
    """The seat's return, split: to each turn what the match paid from when it was asked until it was asked again, less
    what the reply itself cost. Where the match did not note what it paid (`MatchJob.note_pay`), only that cost.

    The first turn also has what was paid before it (an opening that another seat made), and the last one whatever is
    missing to the whole: what came after it, and what a forfeit made of the match."""
    turns, total = trajectory.turns, trajectory.returns[trajectory.seat]
    before = [turn.before for turn in turns if turn.before is not None]
    if not turns or len(before) < len(turns):
        return penalties_by_turn(trajectory, total)
    paid = [later - now for now, later in zip([0.0, *before[1:]], before[1:])]
    return _with_the_rest([pay - turn.penalty for pay, turn in zip(paid, turns)], total)


def penalties_by_turn(trajectory: Trajectory, total: float) -> ByTurn | None:
    """A total that is known at the end of the match, split: each penalty to the turn whose reply it was for, the rest
    to the last one. None where there was none, since that says the same."""
    if not any(turn.penalty for turn in trajectory.turns):
        return None
    return _with_the_rest([0.0 - turn.penalty for turn in trajectory.turns[:-1]], total)


def _with_the_rest(earlier: list[float], total: float) -> ByTurn:
    return (*earlier, total - math.fsum(earlier))
