"""The curriculum: stages of opponents, the next one when the learner is good enough for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from gymposium.errors import BadOption, GymposiumError
from gymposium.games.protocol import Game
from gymposium_train.config import Stage
from gymposium_train.rollout.results import has_score

SELF = "self"
"""The opponent that is the policy as it is now."""
PAST = "past"
"""The opponent that is one of its past versions."""
ALONE = "alone"
"""What stands for the opponent in a game with one seat."""


class Curriculum:
    """Which stage is played. It changes between steps alone, at most by one, and then its window begins empty."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages = stages
        self.number = 0
        """Of the present stage, counted from 0."""
        self.scores: deque[float] = deque(maxlen=stages[0].window)
        """The newest match scores of the present stage."""

    @property
    def stage(self) -> Stage:
        return self._stages[self.number]

    @property
    def score(self) -> float | None:
        """The mean over the window, be it full or not; None where it is empty."""
        return sum(self.scores) / len(self.scores) if self.scores else None

    def note(self, scores: Iterable[float]) -> None:
        """The scores of a step's matches of this stage, in order."""
        self.scores.extend(scores)

    def move(self) -> None:
        """Begin the next stage, or the one before, where the window is full and its mean says so."""
        if len(self.scores) < self.stage.window or self.score is None:
            return
        if self.score >= self.stage.promote and self.number + 1 < len(self._stages):
            self._begin(self.number + 1)
        elif self.score < self.stage.demote and self.number > 0:
            self._begin(self.number - 1)

    def _begin(self, number: int) -> None:
        self.number = number
        self.scores = deque(maxlen=self.stage.window)

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold."""
        return {"stage": self.number, "scores": list(self.scores)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave. Raises `GymposiumError` where there is no such stage."""
        if state["stage"] >= len(self._stages):
            raise GymposiumError(
                f"The checkpoint is in stage {state['stage'] + 1}, but there are {len(self._stages)}: resume with the "
                "settings that the run began with."
            )
        self._begin(state["stage"])
        self.scores.extend(state["scores"])


def check_stages(stages: Sequence[Stage], games: Sequence[Game]) -> None:
    """Raises `BadOption`, with the reason, for stages that make no sense with each other or with these games."""
    shared = [game for game in games if game.seats > 1]
    if not shared and (len(stages) > 1 or stages[0] != Stage()):
        raise BadOption(
            "stages: they say who the opponents are, and in these games the learner is alone. Leave them out."
        )
    for number, stage in enumerate(stages):
        _check_stage(f"stages[{number}]", stage, first=number == 0, last=number == len(stages) - 1)
    unscored = next((game for game in shared if not has_score(game)), None)
    if unscored is not None and (len(stages) > 1 or any(PAST in stage.opponents for stage in stages)):
        raise BadOption(
            f"stages: {unscored.name} is cooperative and its returns have no end, so nobody can say when the learner "
            f"is good enough, or how good against a past version. Use one stage without {PAST!r}."
        )


def _check_stage(where: str, stage: Stage, *, first: bool, last: bool) -> None:
    if ALONE in stage.opponents:
        raise BadOption(f"{where}.opponents: {ALONE!r} is no opponent. Games with one seat need none.")
    if stage.opponents.keys() == {SELF} and (not last or stage.demote):
        raise BadOption(
            f"{where} has no opponent but {SELF!r}, and against itself the policy scores a half however good it is, so "
            "the stage would never end. Add an opponent to measure it by, or let it be the last stage and demote 0."
        )
    if first and stage.demote:
        raise BadOption(f"{where}.demote: there is no stage before the first. Let it be 0.")
    if stage.demote >= stage.promote:
        raise BadOption(
            f"{where}.demote is {stage.demote:g}, which is not below promote, {stage.promote:g}: the stages would take "
            "turns. Lower it."
        )
