"""Trajectories, the turns of one seat in one match with their outcome, from which learners of any kind learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.games.protocol import CHANCE, Event, Game, seat_result
from gymposium.match import FORFEIT, MatchResult, Turn
from gymposium.match.ending import OVER, Ending
from gymposium.match.failures import FailurePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The turns of one seat in one match. Rewards are computed from it; a learner finds its tokens in the turns'
    traces."""

    game: Game
    seat: int
    turns: Sequence[Turn]
    """The seat's replies in order, including those that were not accepted."""
    events: Sequence[Event]
    """The events of the whole match: the moves of every seat, and chance."""
    utilities: tuple[float, ...]
    """The utility of each seat, after a forfeit if there was one, without penalties."""
    penalties: Mapping[int, float] = field(default_factory=dict)
    """Sum of the penalties for failed replies, by seat; seats without penalties are left out."""
    ending: Ending = OVER
    """How the match ended."""
    unanswered: Any = None
    """The next prompt, if the trajectory was truncated and the player reports it: a language model's token ids, at
    which a critic can estimate the value of the rest. It fills the context or is longer."""
    paid: float | None = None
    """The utility that the game paid the seat before a forfeit changed it; None if there was no match."""
    report: Mapping[str, float] = field(default_factory=dict)
    """Values that the match reports of the seat beside its return, by name; empty for most games."""
    seed: int | None = None
    """Seed of the match's own chance, from which the match can be loaded with the events; None if there was no
    match."""
    on_illegal: FailurePolicy = FORFEIT
    """The policy for failed replies."""
    match: str | None = None
    """Id of the match, as in its record; None if there was no match."""

    @classmethod
    def of(cls, played: MatchResult, seat: int) -> Trajectory:
        """The trajectory of `seat` in a finished match."""
        return cls(
            game=played.job.game,
            seat=seat,
            turns=tuple(turn for turn in played.turns if turn.seat == seat),
            events=tuple(played.events),
            utilities=played.utilities,
            penalties=dict(played.penalties),
            ending=played.ending,
            unanswered=played.unanswered.get(seat),
            paid=played.paid[seat] if played.paid else None,
            report=dict(played.reports[seat]) if played.reports else {},
            seed=played.job.seed,
            on_illegal=played.job.on_illegal,
            match=played.job.id,
        )

    @property
    def penalty(self) -> float:
        """Sum of the penalties for the seat's failed replies, 0 or more."""
        return self.penalties.get(self.seat, 0.0)

    @property
    def returns(self) -> tuple[float, ...]:
        """Utility less penalties of every seat."""
        return tuple(u - self.penalties.get(seat, 0.0) for seat, u in enumerate(self.utilities))

    @property
    def result(self) -> str:
        """`win`, `draw` or `loss` by the utilities, or `score` in a game with one seat; as `MatchResult.result`."""
        return seat_result(self.utilities, self.seat, self.ending.seat)

    @property
    def forfeited(self) -> bool:
        """True if this seat forfeited the match."""
        return self.ending.seat == self.seat

    @property
    def truncated(self) -> bool:
        """True if it ended because the context of the player was full, which is not a terminal state for learning."""
        failure = self.ending.failure_of(self.seat)
        return failure is not None and failure.kind == "out of context"

    @property
    def decisions(self) -> int:
        """Number of moves in the match, of all seats together, as `Game.max_decisions` counts."""
        return sum(event.seat != CHANCE for event in self.events)
