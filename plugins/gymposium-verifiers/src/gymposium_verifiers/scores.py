"""A match's reward, metrics and record on its agents' traces."""

from __future__ import annotations

from collections.abc import Mapping

import verifiers.v1 as vf

from gymposium.match import MatchResult
from gymposium.records import Record
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.protocol import CheckedReward, Reward

INFO = "gymposium"
"""The key of a match in `Trace.info`."""
FAILED_READINGS = ("illegal", "unparsable", "cut off")
CAUSES = (*FAILED_READINGS, "out of context")
"""Causes of a forfeit: the reading of the seat's last reply, or a full context."""


def record_score(trace: vf.Trace, played: MatchResult, seat: int, reward: CheckedReward) -> None:
    """Record the seat's reward and metrics on its agent's trace. Raises the reward's errors."""
    trajectory = Trajectory.from_match(played, seat)
    [given] = reward([trajectory])
    trace.record_reward(reward.name, given.total)
    trace.record_metrics(compute_metrics(trajectory, given))


def record_match(trace: vf.Trace, played: MatchResult, seat: int, *, record: bool) -> None:
    """Add the match's id to a trace, and with `record` its record as a line of JSON."""
    facts = {"match": played.job.id, "seat": seat}
    trace.info[INFO] = {**facts, "record": Record.from_match(played).line()} if record else facts


def compute_metrics(trajectory: Trajectory, reward: Reward) -> Mapping[str, float]:
    """Return a seat's metrics: return, result, forfeits by cause, reply counts, reports as `report.NAME`, and reward
    parts as `reward.NAME`."""
    metrics = {"return": trajectory.returns[trajectory.seat]}
    if trajectory.game.seats > 1:
        metrics |= {result: float(trajectory.result == result) for result in ("win", "draw", "loss")}
    cause = _find_cause(trajectory)
    metrics["forfeit"] = float(cause is not None)
    metrics |= {f"forfeit_{_to_key(kind)}": float(cause == kind) for kind in CAUSES}
    metrics["opponent_forfeit"] = float(trajectory.ending.seat not in (None, trajectory.seat))
    metrics["replies"] = float(len(trajectory.turns))
    for reading in FAILED_READINGS:
        metrics[_to_key(reading)] = float(sum(turn.reading == reading for turn in trajectory.turns))
    metrics |= {f"report.{name}": figure for name, figure in trajectory.report.items()}
    return metrics | {f"reward.{name}": part for name, part in reward.parts.items()}


def _find_cause(trajectory: Trajectory) -> str | None:
    """Return the cause of the seat's forfeit, as one of `CAUSES`; None if it did not forfeit."""
    if not trajectory.forfeited:
        return None
    return trajectory.ending.find_causes((trajectory.seat, turn.reading) for turn in trajectory.turns)[trajectory.seat]


def _to_key(text: str) -> str:
    return text.replace(" ", "_")
