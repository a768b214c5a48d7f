"""The built-in criteria of `weighted`, each a measure of a trajectory from 0 (worst) to 1 (best).

Brevity alone would reward giving up early, so efficiency is accuracy times brevity. Completeness alone is 1 for any
legal moves: use it to help a model that cannot answer yet, not as the only criterion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gymposium.errors import BadReward
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.match import score_of

Criterion = Callable[[Sequence[Trajectory]], Sequence[float]]
"""A function that returns one value for each trajectory of a group, in order."""


def accuracy(group: Sequence[Trajectory]) -> list[float]:
    """The value that the match reports as `exact`, if it does. Otherwise the match score: 1 for a win, 0.5 for a draw,
    0 for a loss, and with more than two seats the share of the other seats that did worse. 0 if the seat forfeited."""
    return [_accuracy(trajectory) for trajectory in group]


def efficiency(group: Sequence[Trajectory]) -> list[float]:
    """Accuracy in few decisions: accuracy × (1 - (d - 1) / (D - 1)), where d is the number of decisions in the match
    and D the greatest number in the game (`Game.max_decisions`). It is 1 for a win by the first decision, 0 for a win
    by the last possible one, and 0 for any loss. It does not depend on the rest of the group, so it can be compared
    over a run."""
    return [_accuracy(trajectory) * _brevity(trajectory) for trajectory in group]


def completeness(group: Sequence[Trajectory]) -> list[float]:
    """The share of the seat's replies that were read as moves. 0 if the seat forfeited, so that a finished match is
    worth more than a forfeited one."""
    return [_completeness(trajectory) for trajectory in group]


def reported(figure: str, group: Sequence[Trajectory]) -> list[float]:
    """A figure that the match reports; 0 if the seat forfeited. Raises `BadReward` if a match does not report it."""
    return [_reported(trajectory, figure) for trajectory in group]


CRITERIA: dict[str, Criterion] = {c.__name__: c for c in (accuracy, efficiency, completeness)}


def _accuracy(trajectory: Trajectory) -> float:
    if trajectory.forfeited:
        return 0.0
    exact = trajectory.report.get("exact")
    return score_of(trajectory) if exact is None else exact


def _reported(trajectory: Trajectory, figure: str) -> float:
    if trajectory.forfeited:
        return 0.0
    if figure not in trajectory.report:
        known = ", ".join(trajectory.report) or "nothing"
        raise BadReward(f"Criterion report.{figure}: {trajectory.game.name} does not report it. It reports {known}.")
    return trajectory.report[figure]


def _brevity(trajectory: Trajectory) -> float:
    most = trajectory.game.max_decisions
    return 1.0 if most <= 1 else 1.0 - (max(1, trajectory.decisions) - 1) / (most - 1)


def _completeness(trajectory: Trajectory) -> float:
    if trajectory.forfeited:
        return 0.0
    if not trajectory.turns:  # the seat was never asked
        return 1.0
    return sum(turn.reading == "move" for turn in trajectory.turns) / len(trajectory.turns)
