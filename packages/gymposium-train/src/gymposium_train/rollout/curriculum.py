"""The curriculum: stages of opponents. The next stage begins when the learner's scores are high enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from gymposium.errors import GymposiumError
from gymposium_train.config import Stage


class Curriculum:
    """The current stage and the window of its scores. The stage changes only between steps, by at most one. The window
    of a new stage is empty."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages = stages
        self.number = 0
        """Number of the current stage, counted from 0."""
        self.scores: deque[float] = deque(maxlen=stages[0].window)
        """The newest match scores of the current stage."""

    @property
    def stage(self) -> Stage:
        """The settings of the current stage."""
        return self._stages[self.number]

    @property
    def score(self) -> float | None:
        """The mean of the scores in the window, or None if it is empty."""
        return sum(self.scores) / len(self.scores) if self.scores else None

    def note(self, scores: Iterable[float]) -> None:
        """Add the scores of a step's matches in this stage, in order."""
        self.scores.extend(scores)

    def move(self) -> None:
        """Move to the next or the previous stage if the window is full and its mean reaches `promote` or is below
        `demote`."""
        if len(self.scores) < self.stage.window or self.score is None:
            return
        if self.score >= self.stage.promote and self.number + 1 < len(self._stages):
            self._begin_stage(self.number + 1)
        elif self.score < self.stage.demote and self.number > 0:
            self._begin_stage(self.number - 1)

    def _begin_stage(self, number: int) -> None:
        self.number = number
        self.scores = deque(maxlen=self.stage.window)

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"stage": self.number, "scores": list(self.scores)}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned. Raises `GymposiumError` if the stage does not exist."""
        if state["stage"] >= len(self._stages):
            raise GymposiumError(
                f"The checkpoint is in stage {state['stage'] + 1}, but the config has {len(self._stages)}. Resume "
                f"with the run's original settings."
            )
        self._begin_stage(state["stage"])
        self.scores.extend(state["scores"])
