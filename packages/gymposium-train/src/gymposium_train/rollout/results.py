"""How a step's matches went for the learner: figures for metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gymposium.reading import KINDS
from gymposium.rewards.match import score_of
from gymposium.trajectories import Trajectory
from gymposium_train.config.stages import has_score


@dataclass(slots=True)
class Results:
    """Some of a step's matches, added up."""

    matches: int = 0
    decisions: int = 0
    readings: Counter[str] = field(default_factory=Counter)
    """The learner's replies by how they were read, those in trajectories that are dropped too."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Of the trajectories that are kept: win, draw, loss, or score where the learner was alone."""
    truncated: int = 0
    """Of those that ended since the prompt left no room for a reply."""
    scores: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)

    def note_match(self, trajectories: Iterable[Trajectory]) -> None:
        """A match, by the trajectories of all seats that the learner held."""
        self.matches += 1
        for number, trajectory in enumerate(trajectories):
            self.decisions += trajectory.decisions if number == 0 else 0
            self.readings.update(turn.reading for turn in trajectory.turns)

    def note_result(self, trajectory: Trajectory) -> None:
        """What came of a trajectory that is kept."""
        self.outcomes[trajectory.result] += 1
        self.truncated += trajectory.truncated
        self.returns.append(trajectory.returns[trajectory.seat])
        if has_score(trajectory.game):
            self.scores.append(score_of(trajectory))

    def figures(self) -> dict[str, float]:
        """By name, without what there is nothing to say of."""
        found: dict[str, float] = {"matches": self.matches}
        if self.matches:
            found["decisions"] = self.decisions / self.matches
        if replies := self.readings.total():
            for kind in KINDS[1:]:  # what is left of 1 are moves
                found[kind.replace(" ", "_")] = self.readings[kind] / replies
        if kept := self.outcomes.total():
            found["truncated"] = self.truncated / kept
            if self.outcomes["score"] < kept:
                against = kept - self.outcomes["score"]
                found |= {outcome: self.outcomes[outcome] / against for outcome in ("win", "draw", "loss")}
        if self.scores:
            found["score"] = sum(self.scores) / len(self.scores)
        return found

    def mean_return(self) -> dict[str, float]:
        """Under its name; only where all matches are of one game, for returns of different games cannot be compared."""
        return {"return": sum(self.returns) / len(self.returns)} if self.returns else {}


def named(total: Results, opponents: Mapping[str, Results], games: Mapping[str, Results]) -> dict[str, float]:
    """Metrics by their flat names: `rollout/win`, `rollout/win/OPPONENT`, `rollout/GAME/win`."""
    found = {f"rollout/{name}": value for name, value in total.figures().items()}
    for opponent, results in opponents.items():
        found |= {f"rollout/{name}/{opponent}": value for name, value in results.figures().items()}
    for game, results in games.items():
        figures = results.figures() | results.mean_return()
        found |= {f"rollout/{game}/{name}": value for name, value in figures.items()}
    return found
