"""How much a check tries. Budgets count decisions and events, never time: equal seeds, equal checks, everywhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Budgets of one check on one game."""

    name: str
    decisions: int
    """Decisions to play and look at; beginning a match costs some too. Every check plays one whole match at least."""
    events: int
    """Events to replay in the search for worlds that a seat cannot tell apart."""
    draws: int
    """Parameter sets to draw, and sequences of calls to try."""
    matches: int
    """Random matches that must end cleanly."""


QUICK = Effort("quick", decisions=120, events=15_000, draws=3, matches=20)
NORMAL = Effort("normal", decisions=400, events=60_000, draws=6, matches=100)
THOROUGH = Effort("thorough", decisions=8_000, events=1_500_000, draws=50, matches=1_000)
EFFORTS = {effort.name: effort for effort in (QUICK, NORMAL, THOROUGH)}
