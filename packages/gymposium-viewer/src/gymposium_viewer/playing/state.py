"""The state of a match in the browser, the input of its page.

Until the match ends, the state holds only what the person's seat may see. A line is marked as new if it was missing in
the seat's last observation. Other seats' moves are listed only in games without hidden information.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gymposium.envs.table import list_other_moves
from gymposium.games.protocol import Match, PictureMatch
from gymposium.match import MatchResult
from gymposium.match.ending import OVER
from gymposium_viewer.frames import map_clicks, render_frame

_FRAME = (
    '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    "<style>html,body{margin:0;height:100%;overflow:auto;font-family:system-ui,sans-serif}"
    "body>svg{display:block;width:100%;height:100%}</style>"
)
"""Start of the HTML document in a picture's frame."""

_RESULTS = {"win": "You win.", "loss": "You lose.", "draw": "A draw."}


@dataclass(frozen=True, slots=True)
class SeatView:
    """One seat's view of a match."""

    text: str
    picture: tuple[str, float] | None
    """A complete HTML document for a frame without permissions, and the ratio of the frame's height to its width.

    None if the game draws no picture."""
    clicks: dict[str, Any] | None
    """The places on the picture and the legal moves that name them (`map_clicks`); None without such places."""
    legal: Sequence[str] | None
    """The seat's legal moves; () if it is not the seat's turn, None in free-text games."""
    moves: Sequence[tuple[int, str]]
    """Other seats' moves since the seat's last decision, as (seat, move); () in games with hidden information."""
    lines: Sequence[tuple[str, bool]]
    """The text's lines, each with True if it is new since the seat's last decision."""


def make_seat_view(
    match: Match, seat: int, legal: Sequence[str] | None, before: SeatView | None, since: int
) -> SeatView:
    """Return the current view of a seat.

    `before` is the view at the seat's last decision, if any, and `since` the number of events until then."""
    text = match.observe(seat).text.rstrip("\n")
    picture, clicks = None, None
    if isinstance(match, PictureMatch) and (drawn := match.draw_picture(seat)) is not None:
        html, tall = render_frame(drawn)
        picture, clicks = (_FRAME + html, tall), map_clicks(drawn, legal or ())
    return SeatView(text, picture, clicks, legal, list_other_moves(match, seat, since), _mark_new_lines(text, before))


def _mark_new_lines(text: str, before: SeatView | None) -> list[tuple[str, bool]]:
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
    """The end of a match, as shown to the person who played it."""

    sentences: Sequence[str]
    results: Sequence[str]
    """`win`, `loss`, `draw` or `score` for each seat; () if the match broke off."""
    returns: Sequence[float]
    seed: int
    record: str | None
    """The id of the match's record; None if it could not be recorded."""

    @classmethod
    def from_match(cls, played: MatchResult, seat: int, trouble: str) -> MatchEnd:
        """Return the end of a match for this seat.

        `trouble` says why the match could not be recorded; empty if it was recorded."""
        results = [played.result(other) for other in range(len(played.utilities))]
        sentences = _describe_end(played, seat, results)
        if trouble:
            sentences.append(trouble)
        return cls(sentences, results, played.returns, played.job.seed, None if trouble else played.job.id)


def _describe_end(played: MatchResult, seat: int, results: Sequence[str]) -> list[str]:
    if played.ending.broke_off:
        return [played.ending.describe(), "It has no result."]
    if len(results) == 1:
        return [f"The game is over. Your score is {played.returns[0]:g}."]
    sentences = [_RESULTS[results[seat]]]
    if played.ending != OVER:
        name = [f"Seat {seat} ({player.name})" for seat, player in enumerate(played.job.players)]
        sentences.append(played.ending.describe(name.__getitem__, played.cut_off))
    return sentences


Phase = Literal["getting ready", "thinking", "yours", "over", "failed"]


@dataclass(frozen=True, slots=True)
class TableState:
    """The state of a match in the browser. It is immutable and replaced as a whole."""

    phase: Phase
    turn: int = 0
    """Number of the person's decisions so far, including the current one. A form names the decision that it answers."""
    view: SeatView | None = None
    """The person's view; None until the match has begun."""
    last_move: str | None = None
    """The person's last move."""
    past_views: tuple[SeatView, ...] = ()
    """The person's view at each decision so far, including the current one."""
    end: MatchEnd | None = None
    error: str = ""
    """Why the match failed; empty if it did not."""

    @property
    def legal(self) -> Sequence[str]:
        """The person's legal moves; () if it is not the person's turn, and in free-text games."""
        return () if self.view is None or self.view.legal is None else self.view.legal

    @property
    def is_waiting(self) -> bool:
        """Whether the match is starting, or opponents are thinking."""
        return self.phase in ("getting ready", "thinking")

    @property
    def is_settled(self) -> bool:
        """Whether the match is over or has failed."""
        return self.phase in ("over", "failed")
