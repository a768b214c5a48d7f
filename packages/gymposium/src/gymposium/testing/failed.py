"""How a check says that something is wrong: what, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.games.protocol import CHANCE, Event, Match

_SHOWN = 12


class CheckFailed(AssertionError):
    """A game does not keep what it promises. The message says what is wrong, where, and what to do."""

    def __init__(self, what: str, *, do: str, where: str = "") -> None:
        super().__init__("\n".join(filter(None, (what, where and f"  where: {where}", f"  to do: {do}"))))
        self.what, self.where, self.do = what, where, do


class NotApplicable(Exception):
    """The check asks for something that this game does not have; the message says what."""


def after(match: Match, seat: int | None = None) -> str:
    """Where in a match something went wrong: seed, seat, and the events up to there."""
    seed = "" if match.seed is None else f"seed {match.seed}, "
    whom = "" if seat is None else f"seat {seat}, "
    return f"{match.game.name}, {seed}{whom}after {told(match.events)}"


def told(events: Sequence[Event]) -> str:
    """Events in words, the last few where there are many."""
    words = [f"{'chance' if event.seat == CHANCE else f'seat {event.seat}'}: {event.move}" for event in events]
    dots = [f"… {len(words) - _SHOWN} events …"] if len(words) > _SHOWN else []
    return ", ".join([*dots, *words[-_SHOWN:]]) or "nothing"


def short(value: object, most: int = 300) -> str:
    """A value as Python writes it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def unlike(one: object, other: object) -> tuple[str, str]:
    """Two values as Python writes them, cut to where they begin to differ."""
    texts = repr(one), repr(other)
    differ = next((i for i, (a, b) in enumerate(zip(*texts)) if a != b), min(map(len, texts)))
    begin = max(0, differ - 80)
    cut = [
        ("…" if begin else "") + text[begin : differ + 160] + ("…" if len(text) > differ + 160 else "")
        for text in texts
    ]
    return cut[0], cut[1]
