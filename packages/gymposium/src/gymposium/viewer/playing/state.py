"""How a match in the browser stands: everything that its page is made from.

While the match goes on, that is what the person's seat may see and nothing else. It comes from the seat's own
observation, and so does what is said of the other seats: a line is new if the seat's last observation did not have it.
Moves are read off the match itself only in games that hide nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gymposium.driver import MatchResult
from gymposium.ending import OVER
from gymposium.games.protocol import Draws, Match

_FRAME = (
    '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    "<style>html,body{margin:0;height:100%;overflow:auto;font-family:system-ui,sans-serif}"
    "body>svg{display:block;width:100%;height:100%}</style>"
)
"""What stands before a game's picture in its frame."""
_RESULTS = {"win": "You win.", "loss": "You lose.", "draw": "A draw."}


@dataclass(frozen=True, slots=True)
class SeatView:
    """The match as one seat sees it."""

    text: str
    picture: str | None
    """A whole HTML document, for a frame without any rights; None if the game draws none."""
    legal: Sequence[str] | None
    """The seat's legal moves, () if it is not asked; None for free text."""
    moves: Sequence[tuple[int, str]]
    """The moves of the other seats since the seat's last decision, if the game hides nothing."""
    lines: Sequence[tuple[str, bool]]
    """The lines of the text, each with whether it is new since the seat's last decision."""


def view_for_seat(
    match: Match, seat: int, legal: Sequence[str] | None, before: SeatView | None, since: int
) -> SeatView:
    """The match as the seat sees it now. `before` is its view at its last decision, None at the first, and `since` the
    number of events by then."""
    text = match.observe(seat).text.rstrip("\n")
    picture = match.render_html(seat) if isinstance(match, Draws) else None
    moves: list[tuple[int, str]] = []
    if match.game.spec.information == "perfect":
        others = [other for other in range(match.game.seats) if other != seat]
        moves = [(event.seat, event.move) for event in match.events[since:] if event.seat in others]
    return SeatView(text, None if picture is None else _FRAME + picture, legal, moves, _lines(text, before))


def _lines(text: str, before: SeatView | None) -> list[tuple[str, bool]]:
    old = None if before is None else Counter(before.text.split("\n"))
    marked: list[tuple[str, bool]] = []
    for line in text.split("\n"):
        new = old is not None and bool(line.strip()) and not old[line]
        if old is not None and old[line]:
            old[line] -= 1
        marked.append((line, new))
    return marked


@dataclass(frozen=True, slots=True)
class MatchEnd:
    """The end of a match, for the person who played it. Nothing is secret any more."""

    sentences: Sequence[str]
    results: Sequence[str]
    """`win`, `loss`, `draw` or `score` for each seat; () if the match broke off."""
    returns: Sequence[float]
    seed: int
    record: str | None
    """The match's id among the records; None if it could not be recorded."""

    @classmethod
    def of(cls, played: MatchResult, seat: int, trouble: str) -> MatchEnd:
        """The end of this match for this seat. `trouble` says why it could not be recorded; empty if it was."""
        results = [played.result(other) for other in range(len(played.utilities))]
        sentences = _sentences(played, seat, results)
        if trouble:
            sentences.append(trouble)
        return cls(sentences, results, played.returns, played.job.seed, None if trouble else played.job.id)


def _sentences(played: MatchResult, seat: int, results: Sequence[str]) -> list[str]:
    if played.ending.broke_off:
        return [played.ending.in_words(), "Nobody has lost it."]
    if len(results) == 1:
        return [f"The game is over. Your score is {played.returns[0]:g}."]
    sentences = [_RESULTS[results[seat]]]
    if played.ending != OVER:
        sentences.append(played.ending.in_words(lambda seat: f"Seat {seat} ({played.job.players[seat].name})"))
    return sentences


Phase = Literal["getting ready", "thinking", "yours", "over", "failed"]


@dataclass(frozen=True, slots=True)
class TableState:
    """How a match in the browser stands. It is never changed, only replaced as a whole."""

    phase: Phase
    turn: int = 0
    """Number of times the person has been asked; a form says which of them it answers."""
    view: SeatView | None = None
    """None until the match has begun."""
    mine: str | None = None
    """The person's last move."""
    end: MatchEnd | None = None
    trouble: str = ""
    """Why the match cannot be played, if it failed."""

    @property
    def waits(self) -> bool:
        """True if the state will change without the person's doing."""
        return self.phase in ("getting ready", "thinking")

    @property
    def settled(self) -> bool:
        """True if the match is over or has failed."""
        return self.phase in ("over", "failed")
