"""The report file that `gymposium exploit` writes about a player."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from gymposium.analysis.exact.adversary import Adversary
from gymposium.analysis.exact.bounds import ExploitabilityInterval
from gymposium.analysis.exact.decisions import CostlyDecision
from gymposium.games.protocol import Game
from gymposium.util.durable import replace_text
from gymposium.util.json_file import FileModel, read_model

REPORT = "exploit.json"
"""Name of the report file in the output folder."""


class Exploitability(FileModel):
    """An exploitability: exact, a 95% interval, or a lower bound."""

    low: float
    high: float | None
    """Equal to `low` if the value is exact; None if `low` is only a lower bound."""
    unknown: int = 0
    """Number of information states that the opponent can reach but that have no reply."""

    @classmethod
    def from_exact(cls, value: float | None) -> Exploitability | None:
        """Build an exact exploitability from a number. Returns None for None."""
        return None if value is None else cls(low=value, high=value)

    @classmethod
    def from_interval(cls, found: ExploitabilityInterval) -> Exploitability:
        """Build a 95% interval."""
        return cls(low=found.low, high=found.high, unknown=found.unknown)


class ReportedDecision(FileModel):
    """A player's decision and its cost (`CostlyDecision`)."""

    seat: int
    position: str
    """The prompt in this position."""
    moves: dict[str, float]
    """Probability that the player plays each legal move."""
    no_legal_move: float
    """Probability of an illegal reply."""
    better: str
    share: float
    cost: float

    @classmethod
    def from_decision(cls, game: Game, decision: CostlyDecision) -> ReportedDecision:
        """Build the reported decision, with the position as text."""
        return cls(
            seat=decision.seat,
            position=game.load(decision.events).observe(decision.seat, "full").text,
            moves=dict(zip(decision.moves, decision.odds, strict=True)),
            no_legal_move=decision.forfeit,
            better=decision.better,
            share=decision.share,
            cost=decision.cost,
        )

    @property
    def moves_by_probability(self) -> list[tuple[str, float]]:
        """Return the moves played, the likeliest first."""
        return sorted(((m, p) for m, p in self.moves.items() if p > 0.0), key=lambda reply: -reply[1])

    @property
    def share_text(self) -> str:
        """Describe in words how often the better move should be played."""
        words = {0.25: "instead of a quarter of the others", 0.5: "instead of half of the others", 1.0: "always"}
        return words[self.share]


class ExploitReport(FileModel):
    """A player's exploitability, its most costly decisions, and an adversary that demonstrates it."""

    format: Literal["gymposium-exploit-1"] = "gymposium-exploit-1"
    game: str
    player: str
    how: Literal["traversal", "replies", "search"]
    """As in `Adversary`."""
    as_it_plays: Exploitability | None
    """Exploitability with forfeits for illegal replies; None if nothing is known."""
    legal_moves_alone: Exploitability | None
    """Exploitability of the player restricted to legal moves.

    None if some state has none with a probability above 0, and for a searched response."""
    returns: tuple[float, float]
    """The adversary's mean return against the player, in seat 0 and seat 1."""
    details: dict[str, Any]
    """What the figures are based on: the result of `eval --exact`, or the number of replies or simulated matches."""
    decisions: tuple[ReportedDecision, ...]
    """The most costly decisions, the costliest first."""
    adversary: str
    """Digest of the adversary."""

    @classmethod
    def from_adversary(
        cls,
        game: Game,
        adversary: Adversary,
        *,
        as_it_plays: Exploitability | None,
        legal_moves_alone: Exploitability | None,
        details: dict[str, Any],
        decisions: Sequence[CostlyDecision],
    ) -> ExploitReport:
        """Build the report on an adversary's target."""
        return cls(
            game=game.name,
            player=adversary.target.player,
            how=adversary.how,
            as_it_plays=as_it_plays,
            legal_moves_alone=legal_moves_alone,
            returns=adversary.returns,
            details=details,
            decisions=tuple(ReportedDecision.from_decision(game, decision) for decision in decisions),
            adversary=adversary.digest,
        )

    @classmethod
    def read(cls, path: Path) -> ExploitReport:
        """Read a file. Raises `BadRecord` if it is not a report."""
        return read_model(path, cls, "report of gymposium exploit", "Write it anew with  gymposium exploit.")

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        replace_text(path, self.model_dump_json(indent=1) + "\n")
