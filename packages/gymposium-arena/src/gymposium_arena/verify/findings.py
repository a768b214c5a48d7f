"""The results of verification, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from gymposium.players.protocol import Repeats

About = Literal["entry", "schedule", "file", "record", "reply", "results"]
ResultsState = Literal["agree", "differ", "absent", "not compared"]


@dataclass(frozen=True, slots=True)
class Finding:
    """An inconsistency on a board."""

    about: About
    """The finding's subject: an entry, the set of matches, a file, a match and its rules, a player's replies, or
    results.json."""
    where: str
    """The file, relative to the board's folder, with line and match if they apply."""
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(slots=True)
class PlayerVerification:
    """The verification of one player's replies."""

    player: str
    label: str
    """Display name."""
    slug: str
    repeats: Repeats | None
    replies: int = 0
    """Number of replies in finished matches."""
    asked: int = 0
    """Number of replies that were rerun."""
    same: int = 0
    """Number of rerun replies that were equal."""
    tied: int = 0
    """Number of rerun replies that differed by a tie: the two replies were equally likely up to rounding."""
    unchecked_failures: int = 0
    """Number of unchecked crashes and missing answers."""
    why_not: str = ""
    """Why the player could not be rerun; empty if it could."""

    def describe_evidence(self) -> str:
        """Describe the evidence for the player's replies."""
        if self.why_not:
            return f"not asked again: {self.why_not}"
        if self.repeats is None:
            return "attested: cannot be repeated"
        if self.replies and self.asked == self.replies:
            return "all repeated"
        if self.asked:
            return "a sample repeated"
        how = {"quickly": "", "slowly": " (--sample N repeats some)", "up_to_rounding": " (--rerun N repeats some)"}
        return f"follow from its seed; not repeated{how[self.repeats]}"


@dataclass(slots=True)
class BoardVerification:
    """The verification of a board."""

    planned: int = 0
    """Number of scheduled matches."""
    matches: int = 0
    """Number of replayed matches."""
    broken: int = 0
    """Number of matches that broke off, which are not in `matches`."""
    players: list[PlayerVerification] = field(default_factory=list)
    """The players in the order of their entries."""
    results: ResultsState = "not compared"
    findings: list[Finding] = field(default_factory=list)
    """The inconsistencies, without duplicates."""
    notes: list[str] = field(default_factory=list)
    """Remarks that are not inconsistencies."""

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings, without duplicates from several processes."""
        self.findings = [*dict.fromkeys([*self.findings, *findings])]
