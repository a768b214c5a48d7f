"""Built-in criteria for `weighted`. Each rates a trajectory from 0 (worst) to 1 (best).

Brevity alone would reward giving up early, so efficiency is accuracy times brevity. Completeness is 1 for any legal
moves. It helps a model that cannot answer yet, but is unsuitable as the only criterion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gymposium.errors import BadReward
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.match import compute_score

Criterion = Callable[[Sequence[Trajectory]], Sequence[float]]
"""A function that returns one value per trajectory in a group, in order."""


def accuracy(group: Sequence[Trajectory]) -> list[float]:
    """Return the figure `exact` if the match reports it, or else the match score.

    The score is 1 for a win, 0.5 for a draw and 0 for a loss. With more than two seats, it is the share of other seats
    that did worse. It is 0 if the seat forfeited."""
    return [_rate_accuracy(trajectory) for trajectory in group]


def efficiency(group: Sequence[Trajectory]) -> list[float]:
    """Rate accuracy in few decisions: accuracy × (1 - (d - 1) / (D - 1)).

    d is the number of decisions in the match, and D the game's maximum (`Game.max_decisions`). The value is 1 for a win
    by the first decision, 0 for a win by the last possible decision, and 0 for any loss. It does not depend on the rest
    of the group, so values can be compared over a run."""
    return [_rate_accuracy(trajectory) * _rate_brevity(trajectory) for trajectory in group]


def completeness(group: Sequence[Trajectory]) -> list[float]:
    """Return the share of the seat's replies that were read as moves.

    It is 0 if the seat forfeited, so finishing a match is worth more than forfeiting it."""
    return [_rate_completeness(trajectory) for trajectory in group]


def rate_report(figure: str, group: Sequence[Trajectory]) -> list[float]:
    """Return a reported figure, or 0 if the seat forfeited. Raises `BadReward` if a match does not report it."""
    return [_get_report(trajectory, figure) for trajectory in group]


CRITERIA: dict[str, Criterion] = {c.__name__: c for c in (accuracy, efficiency, completeness)}


def _rate_accuracy(trajectory: Trajectory) -> float:
    if trajectory.forfeited:
        return 0.0
    exact = trajectory.report.get("exact")
    return compute_score(trajectory) if exact is None else exact


def _get_report(trajectory: Trajectory, figure: str) -> float:
    if trajectory.forfeited:
        return 0.0
    if figure not in trajectory.report:
        known = ", ".join(trajectory.report) or "nothing"
        raise BadReward(f"Criterion report.{figure}: {trajectory.game.name} does not report it. It reports {known}.")
    return trajectory.report[figure]


def _rate_brevity(trajectory: Trajectory) -> float:
    most = trajectory.game.max_decisions
    return 1.0 if most <= 1 else 1.0 - (max(1, trajectory.decisions) - 1) / (most - 1)


def _rate_completeness(trajectory: Trajectory) -> float:
    if trajectory.forfeited:
        return 0.0
    if not trajectory.turns:  # the seat was never asked
        return 1.0
    return sum(turn.reading == "move" for turn in trajectory.turns) / len(trajectory.turns)
