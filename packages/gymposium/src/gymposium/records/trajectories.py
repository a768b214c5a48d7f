"""Trajectories for learners: one seat's turns in one match, with the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.games.protocol import CHANCE, Event, Game, find_seat_result
from gymposium.match import FORFEIT, MatchResult, Turn
from gymposium.match.ending import OVER, Ending
from gymposium.match.failures import FailurePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One seat's turns in one match, the basis of rewards. The turns' traces hold tokens for learners."""

    game: Game
    seat: int
    turns: Sequence[Turn]
    """The seat's replies in order, including rejected ones."""
    events: Sequence[Event]
    """All events of the match: the moves of all seats, and the chance outcomes."""
    utilities: tuple[float, ...]
    """Each seat's utility after any forfeit, without penalties."""
    penalties: Mapping[int, float] = field(default_factory=dict)
    """Total penalty for failed replies, by seat. Seats without penalties are omitted."""
    ending: Ending = OVER
    """How the match ended."""
    unanswered: Any = None
    """The unanswered prompt, if the trajectory was truncated and the player reports it.

    For a language model, it is a list of token ids that fills or exceeds the context. A critic can estimate the
    remaining value from it."""
    paid: float | None = None
    """The seat's utility from the game, before any forfeit; None without a match."""
    report: Mapping[str, float] = field(default_factory=dict)
    """Extra figures that the match reports for the seat, by name; empty for most games."""
    seed: int | None = None
    """Seed for the match's chance, needed with the events to load the match; None without a match."""
    on_illegal: FailurePolicy = FORFEIT
    """The policy for failed replies."""
    match: str | None = None
    """Id of the match, as in its record; None without a match."""

    @classmethod
    def from_match(cls, played: MatchResult, seat: int) -> Trajectory:
        """Return the trajectory of `seat` in a finished match."""
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
        """The seat's total penalty for failed replies, 0 or more."""
        return self.penalties.get(self.seat, 0.0)

    @property
    def returns(self) -> tuple[float, ...]:
        """Each seat's utility minus penalties."""
        return tuple(u - self.penalties.get(seat, 0.0) for seat, u in enumerate(self.utilities))

    @property
    def result(self) -> str:
        """`win`, `draw` or `loss` by utilities, or `score` in single-seat games, as in `MatchResult.result`."""
        return find_seat_result(self.utilities, self.seat, self.ending.seat)

    @property
    def forfeited(self) -> bool:
        """Whether this seat forfeited the match."""
        return self.ending.seat == self.seat

    @property
    def truncated(self) -> bool:
        """Whether the trajectory ended because the player's context was full.

        For learning, this is not a terminal state."""
        failure = self.ending.find_failure(self.seat)
        return failure is not None and failure.kind == "out of context"

    @property
    def decisions(self) -> int:
        """Number of moves in the match by all seats, counted as in `Game.max_decisions`."""
        return sum(event.seat != CHANCE for event in self.events)
