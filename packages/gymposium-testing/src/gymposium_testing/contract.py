"""What every check takes and raises: `Effort`, `CheckFailed` and `NotApplicable`; and the wording of errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.util.visible import quantity

_SHOWN = 12
"""Number of events shown of a long list."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Budgets for one check of one subject.

    They count decisions and events, never time, so equal seeds run the same checks on every machine."""

    name: str
    decisions: int
    """Decisions to play and compare; starting a match costs some too. Every check plays at least one whole match."""
    events: int
    """Events to replay in the search for worlds that a seat cannot tell apart."""
    draws: int
    """Parameter sets to draw, call sequences to try, and matches to play with a player or for a reward."""
    matches: int
    """Random matches that must end by the rules."""


QUICK = Effort("quick", decisions=120, events=15_000, draws=3, matches=20)
NORMAL = Effort("normal", decisions=400, events=60_000, draws=6, matches=100)
THOROUGH = Effort("thorough", decisions=8_000, events=1_500_000, draws=50, matches=1_000)
EFFORTS = {effort.name: effort for effort in (QUICK, NORMAL, THOROUGH)}


class CheckFailed(AssertionError):
    """A check failed. The message says what is wrong, where, and how to fix it."""

    def __init__(self, what: str, *, do: str, where: str = "") -> None:
        super().__init__("\n".join(filter(None, (what, where and f"  where: {where}", f"  to do: {do}"))))
        self.what, self.where, self.do = what, where, do


class NotApplicable(Exception):
    """A check does not apply to its subject. The message says why."""


def require(holds: bool, what: str, do: str, where: str = "") -> None:
    """Raise `CheckFailed` unless `holds`. `what` has no full stop."""
    if not holds:
        raise CheckFailed(f"{what}.", do=do, where=where)


def after(match: Match, seat: int | None = None) -> str:
    """Return a position's description for error messages: game, seed, seat and the events so far."""
    seed = "" if match.seed is None else f"seed {match.seed}, "
    of_seat = "" if seat is None else f"seat {seat}, "
    return f"{match.game.name}, {seed}{of_seat}after {events_in_words(match.events)}"


def events_in_words(events: Sequence[Event]) -> str:
    """Return events in words: all of them, or the last few if there are many."""
    words = [f"{'chance' if event.seat == CHANCE else f'seat {event.seat}'}: {event.move}" for event in events]
    dots = [f"… {quantity(len(words) - _SHOWN, 'event')} …"] if len(words) > _SHOWN else []
    return ", ".join([*dots, *words[-_SHOWN:]]) or "nothing"


def raised(error: Exception) -> str:
    """Return an error in words: its type and message, shortened if long."""
    return f"{type(error).__name__}: {short(str(error), 600)}"


def short(value: object, most: int = 300) -> str:
    """Return the `repr` of a value, shortened if long."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def unlike(one: object, other: object) -> tuple[str, str]:
    """Return the `repr` of two values, cut to where they start to differ."""
    texts = repr(one), repr(other)
    differ = next((i for i, (a, b) in enumerate(zip(*texts)) if a != b), min(map(len, texts)))
    begin = max(0, differ - 80)
    cut = [
        ("…" if begin else "") + text[begin : differ + 160] + ("…" if len(text) > differ + 160 else "")
        for text in texts
    ]
    return cut[0], cut[1]
