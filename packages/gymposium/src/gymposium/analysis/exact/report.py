"""What `gymposium exploit` found out about a player, as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from gymposium.analysis.exact.adversary import Adversary
from gymposium.analysis.exact.bounds import Between
from gymposium.analysis.exact.decisions import CostlyDecision
from gymposium.games.protocol import Game
from gymposium.util.durable import replace_text
from gymposium.util.json_file import FileModel, read_model

REPORT = "exploit.json"
"""Name of the file in the folder of `gymposium exploit`."""


class Exploitability(FileModel):
    """An exploitability: exact, a 95 % interval, or a lower bound."""

    low: float
    high: float | None
    """`low` if it is exact; None if `low` is a lower bound."""
    unknown: int = 0
    """The number of information states without a reply that the opponent can reach."""

    @classmethod
    def exact(cls, value: float | None) -> Exploitability | None:
        """A computed exploitability; None for None."""
        return None if value is None else cls(low=value, high=value)

    @classmethod
    def between(cls, found: Between) -> Exploitability:
        """A 95 % interval."""
        return cls(low=found.low, high=found.high, unknown=found.unknown)


class ReportedDecision(FileModel):
    """A decision of the player and what it costs (`CostlyDecision`)."""

    seat: int
    position: str
    """What the player reads there."""
    moves: dict[str, float]
    """The probability of each legal move, as played."""
    no_legal_move: float
    """The probability of a reply that is no legal move."""
    better: str
    share: float
    cost: float

    @classmethod
    def of(cls, game: Game, decision: CostlyDecision) -> ReportedDecision:
        """The decision, with the position in words."""
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
    def likeliest(self) -> list[tuple[str, float]]:
        """The moves that are played, the likeliest first."""
        return sorted(((m, p) for m, p in self.moves.items() if p > 0.0), key=lambda reply: -reply[1])

    @property
    def how_often(self) -> str:
        """How often the better move would help most, in words."""
        words = {0.25: "instead of a quarter of the others", 0.5: "instead of half of the others", 1.0: "always"}
        return words[self.share]


class ExploitReport(FileModel):
    """How exploitable a player is, by which decisions, and which adversary shows it."""

    format: Literal["gymposium-exploit-1"] = "gymposium-exploit-1"
    game: str
    player: str
    how: Literal["traversal", "replies", "search"]
    """As in `Adversary`."""
    as_it_plays: Exploitability | None
    """With replies that are no legal moves as forfeits; None if nothing is known."""
    legal_moves_alone: Exploitability | None
    """None if there is a state in which the player never plays a legal move, and for a searched response."""
    returns: tuple[float, float]
    """The adversary's mean return against the player in seat 0 and in seat 1."""
    details: dict[str, Any]
    """What it was computed from: the figures of `eval --exact`, or the number of replies or simulated matches."""
    decisions: tuple[ReportedDecision, ...]
    """The decisions that cost most, the costliest first."""
    adversary: str
    """The digest of the adversary."""

    @classmethod
    def of(
        cls,
        game: Game,
        adversary: Adversary,
        *,
        as_it_plays: Exploitability | None,
        legal_moves_alone: Exploitability | None,
        details: dict[str, Any],
        decisions: Sequence[CostlyDecision],
    ) -> ExploitReport:
        """The report on the target of an adversary."""
        return cls(
            game=game.name,
            player=adversary.target.player,
            how=adversary.how,
            as_it_plays=as_it_plays,
            legal_moves_alone=legal_moves_alone,
            returns=adversary.returns,
            details=details,
            decisions=tuple(ReportedDecision.of(game, decision) for decision in decisions),
            adversary=adversary.digest,
        )

    @classmethod
    def read(cls, path: Path) -> ExploitReport:
        """The content of a file. Raises `BadRecord` if it holds no report."""
        return read_model(path, cls, "report of gymposium exploit", "Write it anew with  gymposium exploit.")

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        replace_text(path, self.model_dump_json(indent=1) + "\n")
