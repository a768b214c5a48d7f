"""What the person's seat may see, and nothing else: all that a page of a match under way is made from.

It comes from the seat's own observation. Whatever is said of the other seats comes from there, too: a line is new where
the seat's last observation had it not. Only where a game hides nothing are moves read off the match itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.games.protocol import Draws, Match

_FRAME = (
    '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    "<style>html,body{margin:0;height:100%;overflow:auto;font-family:system-ui,sans-serif}"
    "body>svg{display:block;width:100%;height:100%}</style>"
)
"""What stands before a game's picture in its frame."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The match from one seat."""

    text: str
    picture: str | None
    """A whole document, for a frame that may do nothing; None where the game draws none."""
    legal: Sequence[str] | None
    """What the seat may move now, () where it is not asked; None for free text."""
    moves: Sequence[tuple[int, str]]
    """What the other seats moved since the seat's last decision, where the game hides nothing."""
    lines: Sequence[tuple[str, bool]]
    """The text's lines, each with whether it is new since the seat's last decision."""


def see(match: Match, seat: int, legal: Sequence[str] | None, before: Seen | None, since: int) -> Seen:
    """How it stands. `before` is what the seat saw at its last decision, None at the first, and `since` how many events
    had happened by then."""
    text = match.observe(seat).text.rstrip("\n")
    drawn = match.render_html(seat) if isinstance(match, Draws) else None
    moves: list[tuple[int, str]] = []
    if match.game.spec.information == "perfect":
        others = range(match.game.seats)
        moves = [(event.seat, event.move) for event in match.events[since:] if event.seat in others]
        moves = [(mover, move) for mover, move in moves if mover != seat]
    return Seen(text, None if drawn is None else _FRAME + drawn, legal, moves, _lines(text, before))


def _lines(text: str, before: Seen | None) -> list[tuple[str, bool]]:
    old = None if before is None else Counter(before.text.split("\n"))
    marked: list[tuple[str, bool]] = []
    for line in text.split("\n"):
        new = old is not None and bool(line.strip()) and not old[line]
        if old is not None and old[line]:
            old[line] -= 1
        marked.append((line, new))
    return marked
