"""What every check uses: `Effort`, `CheckFailed`, `NotApplicable`, and helpers for messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.util.visible import quantity

_MAX_SHOWN = 12
"""Maximum number of events in a message."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The budget for one check on one subject.

    Budgets never count time, so the same seed runs the same checks on every machine."""

    name: str
    decisions: int
    """Number of decisions to play and compare, including the cost of starting matches.

    Every check plays at least one whole match. It compares ever fewer positions of the match that exceeds the
    number."""
    events: int
    """Number of events to replay when searching for worlds that a seat cannot distinguish."""
    draws: int
    """Number of parameter sets, call sequences, or matches for a player or reward."""
    matches: int
    """Number of random matches in the length check."""


QUICK = Effort("quick", decisions=120, events=15_000, draws=3, matches=20)
NORMAL = Effort("normal", decisions=400, events=60_000, draws=6, matches=100)
THOROUGH = Effort("thorough", decisions=8_000, events=1_500_000, draws=50, matches=1_000)
EFFORTS = {effort.name: effort for effort in (QUICK, NORMAL, THOROUGH)}


class CheckFailed(AssertionError):
    """A failed check. The message says what is wrong, where, and how to fix it."""

    def __init__(self, what: str, *, fix: str, where: str = "") -> None:
        super().__init__("\n".join(filter(None, (what, where and f"  where: {where}", f"  to do: {fix}"))))
        self.what, self.where, self.fix = what, where, fix


class NotApplicable(Exception):
    """A check that does not apply to its subject. The message says why."""


def require(holds: bool, what: str, fix: str, where: str = "") -> None:
    """Raise `CheckFailed` unless `holds`. `what` is the message, without a final period."""
    if not holds:
        raise CheckFailed(f"{what}.", fix=fix, where=where)


def describe_position(match: Match, seat: int | None = None) -> str:
    """Describe a position for error messages: game, seed, seat and events so far."""
    seed = "" if match.seed is None else f"seed {match.seed}, "
    of_seat = "" if seat is None else f"seat {seat}, "
    return f"{match.game.name}, {seed}{of_seat}after {format_events(match.events)}"


def format_events(events: Sequence[Event]) -> str:
    """Format events. If there are many, only the last few are shown."""
    words = [f"{'chance' if event.seat == CHANCE else f'seat {event.seat}'}: {event.move}" for event in events]
    dots = [f"… {quantity(len(words) - _MAX_SHOWN, 'event')} …"] if len(words) > _MAX_SHOWN else []
    return ", ".join([*dots, *words[-_MAX_SHOWN:]]) or "nothing"


def format_error(error: Exception) -> str:
    """Format an error as its type and message, shortened if long."""
    return f"{type(error).__name__}: {shorten(str(error), 600)}"


def shorten(value: object, most: int = 300) -> str:
    """Return the `repr` of a value, shortened if long."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def cut_to_difference(one: object, other: object) -> tuple[str, str]:
    """Return the `repr` of two values, shortened to the part around their first difference."""
    texts = repr(one), repr(other)
    differ = next((i for i, (a, b) in enumerate(zip(*texts)) if a != b), min(map(len, texts)))
    begin = max(0, differ - 80)
    cut = [
        ("…" if begin else "") + text[begin : differ + 160] + ("…" if len(text) > differ + 160 else "")
        for text in texts
    ]
    return cut[0], cut[1]
