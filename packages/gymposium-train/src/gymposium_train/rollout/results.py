"""Metrics of a step's matches: outcomes, scores, and readings of the learner's replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.records.trajectories import Trajectory
from gymposium.replies.reading import KINDS
from gymposium.rewards.match import compute_score
from gymposium_agents.chat.tokens import TurnTokens
from gymposium_train.config.stages import SELF, is_scorable
from gymposium_train.rollout.plan import PlannedGroup


@dataclass(slots=True)
class Results:
    """Counts and values over some of a step's matches."""

    matches: int = 0
    decisions: int = 0
    readings: Counter[str] = field(default_factory=Counter)
    """The learner's replies by reading, including those of dropped trajectories."""
    agreements: Counter[bool] = field(default_factory=Counter)
    """The learner's replies by whether they agree with the teacher (`TurnTokens.agrees`)."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """The kept trajectories by outcome: win, draw, loss, or score in a single-player game."""
    truncated: int = 0
    """Number of kept trajectories that ended because the prompt left no space for a reply."""
    scores: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)

    def note_match(self, trajectories: Sequence[Trajectory]) -> None:
        """Add a match, given the trajectories of all seats the learner played."""
        self.matches += 1
        self.decisions += trajectories[0].decisions
        turns = [turn for trajectory in trajectories for turn in trajectory.turns]
        self.readings.update(turn.reading for turn in turns)
        traces = (turn.trace for turn in turns if isinstance(turn.trace, TurnTokens))
        self.agreements.update(trace.agrees for trace in traces if trace.agrees is not None)

    def note_result(self, trajectory: Trajectory) -> None:
        """Add the result of a kept trajectory."""
        self.outcomes[trajectory.result] += 1
        self.truncated += trajectory.truncated
        self.returns.append(trajectory.returns[trajectory.seat])
        if is_scorable(trajectory.game):
            self.scores.append(compute_score(trajectory))

    def figures(self) -> dict[str, float]:
        """Return metrics by name. Metrics without any match, reply or trajectory are left out."""
        figures: dict[str, float] = {"matches": self.matches}
        if self.matches:
            figures["decisions"] = self.decisions / self.matches
        if replies := self.readings.total():
            # skip the first kind: moves are the remainder
            figures |= {kind.replace(" ", "_"): self.readings[kind] / replies for kind in KINDS[1:]}
        if taught := self.agreements.total():
            figures["teacher_agreement"] = self.agreements[True] / taught
        if kept := self.outcomes.total():
            figures["truncated"] = self.truncated / kept
            if contests := kept - self.outcomes["score"]:
                figures |= {outcome: self.outcomes[outcome] / contests for outcome in ("win", "draw", "loss")}
        if self.scores:
            figures["score"] = sum(self.scores) / len(self.scores)
        return figures


class StepResults:
    """The results of a step's sets, in total, by opponent and by game."""

    def __init__(self) -> None:
        self.broken: Counter[str] = Counter()
        """Number of matches without a result because of a failed tool, by reason."""
        self._dropped = self._silent = 0
        """Numbers of trajectories left out: without a result, and without turns."""
        self._total = Results()
        self._opponents: dict[str, Results] = {}
        self._games: dict[str, Results] = {}

    def note(self, planned: PlannedGroup, matches: Sequence[Sequence[Trajectory]], broken: Iterable[str]) -> None:
        """Add the matches of a set. `matches` has the trajectories of the learner's seats in each match that did not
        break off, and `broken` the reasons of the others."""
        self.broken.update(broken)
        by_opponent = self._opponents.setdefault(planned.opponent, Results())
        by_game = self._games.setdefault(planned.game.name, Results())
        everywhere = (self._total, by_opponent, by_game)
        with_outcome = (by_opponent,) if planned.opponent == SELF else everywhere
        for trajectories in matches:
            for results in everywhere:
                results.note_match(trajectories)
            for trajectory in trajectories:
                if not has_result(trajectory):
                    self._dropped += 1
                elif not trajectory.turns:
                    self._silent += 1
                else:
                    for results in with_outcome:
                        results.note_result(trajectory)

    def metrics(self) -> dict[str, float]:
        """Return metrics by flat name: `rollout/win`, `rollout/win/OPPONENT`, `rollout/GAME/win`. Outcomes cover the
        kept trajectories. Self-play outcomes appear only under their own name, because a win for one seat is a loss for
        another. Mean returns are given per game only, because returns of different games are not comparable."""
        metrics = {f"rollout/{name}": value for name, value in self._total.figures().items()}
        for opponent, results in self._opponents.items():
            metrics |= {f"rollout/{name}/{opponent}": value for name, value in results.figures().items()}
        for game, results in self._games.items():
            metrics |= {f"rollout/{game}/{name}": value for name, value in results.figures().items()}
            if results.returns:
                metrics[f"rollout/{game}/return"] = sum(results.returns) / len(results.returns)
        counts = {"dropped": self._dropped, "silent": self._silent, "broken": self.broken.total()}
        return metrics | {f"rollout/{name}": count for name, count in counts.items()}


def has_result(trajectory: Trajectory) -> bool:
    """Return False if another seat forfeited: the trajectory's result would be meaningless."""
    return trajectory.ending.seat in (None, trajectory.seat)


def compute_failed_share(metrics: Mapping[str, Any]) -> float:
    """Return the share of the learner's replies without a legal move, from a step's metrics."""
    return float(sum(metrics.get(f"rollout/{kind.replace(' ', '_')}", 0.0) for kind in KINDS[1:]))
