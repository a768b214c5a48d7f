"""What verification finds, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from gymposium.players.protocol import Repeats

About = Literal["entry", "schedule", "file", "record", "reply", "results"]
ResultsState = Literal["agree", "differ", "absent", "not compared"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not agree."""

    about: About
    """An entry, the matches that there are, a file, a match by its own rules, a player's replies, results.json."""
    where: str
    """The file, from the board's directory on, with line and match where there is one."""
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(slots=True)
class PlayerVerified:
    """What is known of one player's replies."""

    player: str
    label: str
    """What people call it."""
    slug: str
    repeats: Repeats | None
    replies: int = 0
    """In matches that came to an end."""
    asked: int = 0
    """Of them, those that the player was asked for again."""
    same: int = 0
    """Of them, those that came out the same."""
    on_its_word: int = 0
    """Times that it is said to have crashed or not to have answered, and nobody could look."""
    why_not: str = ""
    """Why it could not be asked, where it should have been."""

    def behind(self) -> str:
        """What stands behind its replies, in words."""
        if self.why_not:
            return f"not asked again: {self.why_not}"
        if self.repeats is None:
            return "attested: nobody can ask for them again"
        if self.replies and self.asked == self.replies:
            return "all asked for again"
        if self.asked:
            return "a sample asked for again"
        how = {"quickly": "", "slowly": " (--sample N asks for some)", "up_to_rounding": " (--rerun N asks for some)"}
        return f"follow from its seed; not asked for again{how[self.repeats]}"


@dataclass(slots=True)
class BoardVerification:
    """What was found on a board."""

    planned: int = 0
    """Matches that it is to hold."""
    matches: int = 0
    """Those of them that were there and were played again."""
    broken: int = 0
    """Matches that broke off by nobody's fault, beside them."""
    players: list[PlayerVerified] = field(default_factory=list)
    """In the order of their entries."""
    results: ResultsState = "not compared"
    findings: list[Finding] = field(default_factory=list)
    """Each once."""
    notes: list[str] = field(default_factory=list)
    """What is worth knowing and no inconsistency."""

    def add(self, findings: Iterable[Finding]) -> None:
        """More of them; several processes may find the same."""
        self.findings = [*dict.fromkeys([*self.findings, *findings])]
