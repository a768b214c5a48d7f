"""The built-in criteria of `weighted`: each says one thing of a trajectory, from 0 (worst) to 1 (best).

None of them can be had for nothing. Efficiency alone would reward whoever gives up first, so it is a share of the
accuracy; completeness alone is full for any legal moves, so it is a help to a model that cannot answer yet, and no aim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gymposium.rewards.match import score_of
from gymposium.trajectories import Trajectory

Criterion = Callable[[Sequence[Trajectory]], Sequence[float]]
"""One figure for each trajectory of a group, in order."""


def accuracy(group: Sequence[Trajectory]) -> list[float]:
    """What the match reports as `exact`, where it does; otherwise its score: 1 for a win, 0.5 for a draw, 0 for a loss,
    the share of the others beaten where there are more seats. 0 where the seat forfeited."""
    return [_accuracy(trajectory) for trajectory in group]


def efficiency(group: Sequence[Trajectory]) -> list[float]:
    """Accuracy in few decisions: accuracy × (1 - (d - 1) / (D - 1)), with d the decisions of the match and D the most
    that the game can have (`Game.max_decisions`). 1 for a win by the first decision, 0 for one by the very last, and
    0 for a loss however short. It does not depend on the rest of the group, so it can be compared over a run; what is
    more than others got is for the group's baseline to say."""
    return [_accuracy(trajectory) * _brevity(trajectory) for trajectory in group]


def completeness(group: Sequence[Trajectory]) -> list[float]:
    """The share of the seat's replies that were read as moves; 0 where it forfeited, so that a match played to its end
    is always worth more than one that was not."""
    return [_completeness(trajectory) for trajectory in group]


CRITERIA: dict[str, Criterion] = {c.__name__: c for c in (accuracy, efficiency, completeness)}


def _accuracy(trajectory: Trajectory) -> float:
    if trajectory.forfeited:
        return 0.0
    exact = trajectory.report.get("exact")
    return score_of(trajectory) if exact is None else exact


def _brevity(trajectory: Trajectory) -> float:
    most = trajectory.game.max_decisions
    return 1.0 if most <= 1 else 1.0 - (max(1, trajectory.decisions) - 1) / (most - 1)


def _completeness(trajectory: Trajectory) -> float:
    if trajectory.forfeited:
        return 0.0
    if not trajectory.turns:  # it was never asked, so it left nothing out
        return 1.0
    return sum(turn.reading == "move" for turn in trajectory.turns) / len(trajectory.turns)
