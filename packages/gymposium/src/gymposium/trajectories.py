"""Trajectories: one seat's turns in one match and what came of them, apart from who learns from it and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.driver import FORFEIT, MatchResult, Turn
from gymposium.ending import OVER, Ending
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import CHANCE, Event, Game, seat_result


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One seat's turns in one match. What a reward is made from; a learner finds its tokens in the turns' traces."""

    game: Game
    seat: int
    turns: Sequence[Turn]
    """The seat's own replies in order, those that were not accepted among them."""
    events: Sequence[Event]
    """The whole match: every seat's moves, and chance."""
    utilities: tuple[float, ...]
    """What each seat got: what the game paid, or what a forfeit made of it."""
    penalties: Mapping[int, float] = field(default_factory=dict)
    """What failed replies have cost, by seat; 0 for those that are not in it."""
    ending: Ending = OVER
    """How the match ended."""
    unanswered: Any = None
    """The prompt that would have come next, if the trajectory was truncated and the player reports it: a language
    model's token ids, at which a critic can estimate the value of the rest. It fills the context or is longer."""
    paid: float | None = None
    """What the game itself paid the seat, without regard to a forfeit; None if there was no match."""
    report: Mapping[str, float] = field(default_factory=dict)
    """What the match itself says of the seat beside its return, by name; empty for most games."""
    seed: int | None = None
    """Seed of the match's own chance: with it the game and the events make the match again. None where there was no
    match."""
    on_illegal: FailurePolicy = FORFEIT
    """What a failed reply led to."""
    match: str | None = None
    """Id of the match, as in its record; None where there was no match."""

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
        """What the seat's own failed replies have cost it, 0 or more."""
        return self.penalties.get(self.seat, 0.0)

    @property
    def returns(self) -> tuple[float, ...]:
        """Utilities less penalties, for every seat."""
        return tuple(u - self.penalties.get(seat, 0.0) for seat, u in enumerate(self.utilities))

    @property
    def result(self) -> str:
        """`win`, `draw` or `loss`, or `score` where the seat plays alone; as `MatchResult.result`, by the utilities."""
        return seat_result(self.utilities, self.seat, self.ending.seat)

    @property
    def forfeited(self) -> bool:
        """True if this seat forfeited the match."""
        return self.ending.seat == self.seat

    @property
    def truncated(self) -> bool:
        """True if it ended only because the player had no room to read on: no terminal state for learning."""
        failure = self.ending.failure_of(self.seat)
        return failure is not None and failure.kind == "out of context"

    @property
    def decisions(self) -> int:
        """Moves in the match, all seats' together: how long it was, as `Game.max_decisions` counts."""
        return sum(event.seat != CHANCE for event in self.events)
