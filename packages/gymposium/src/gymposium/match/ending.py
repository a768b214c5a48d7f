"""How a match ended, as used by the driver, records, scores, learners and web pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from gymposium.util.visible import shorten

EndingKind = Literal["over", "no legal move", "timed out", "out of context", "crashed", "broke off"]

FAILURES: Final[dict[EndingKind, str]] = {
    "no legal move": "gave no legal move",
    "timed out": "did not answer in time",
    "out of context": "had no space left for a reply in its context",
    "crashed": "crashed",
}
"""Ways that a seat can fail, each with its sentence predicate."""

CUT_OFF: Final = "its reply was cut off: raise max_tokens"
"""Explanation for a seat whose last reply was cut off, naming the language-model option for longer replies."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a match: finished, forfeited by a seat, or broken off.

    Kinds:

    - `over`: the game ended normally.
    - `broke off`: the game's engine failed or a player could not be asked, so the match has no result.
    - `no legal move`, `timed out`, `out of context` or `crashed`: a failure, so `seat` forfeits the match.

    Raises `ValueError` for an impossible combination."""

    kind: EndingKind
    seat: int | None = None
    """The forfeiting seat; None without a forfeit."""
    detail: str = ""
    """The player's exception if the player crashed, or the reason if the match broke off; otherwise empty."""
    others: tuple[Ending, ...] = ()
    """Failures of other seats in the same step, which do not forfeit."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(EndingKind):
            raise ValueError(f"{self.kind!r} is not a kind of ending; use one of {', '.join(get_args(EndingKind))}")
        if (self.seat is not None) != (self.kind in FAILURES):
            raise ValueError(
                f"an ending of kind {self.kind!r} cannot have seat={self.seat}; set a seat only for failures"
            )
        if self.detail and self.kind not in ("crashed", "broke off"):
            raise ValueError(f"an ending of kind {self.kind!r} cannot have the detail {self.detail[:80]!r}; omit it")
        seats = [failure.seat for failure in self.failures]
        if len({*seats}) != len(seats) or None in seats or (self.others and self.seat is None):
            raise ValueError(f"duplicate seats among the failures: {seats}; name each seat once")
        if any(other.others for other in self.others):
            raise ValueError("failures of other seats must not have others themselves")

    @classmethod
    def parse(cls, data: Any) -> Ending:
        """Parse an ending from JSON fields. Raises `ValueError` unless all are present and valid."""
        match data:
            case {"kind": str(kind), "seat": None | int() as seat, "detail": str(detail), "others": list(others)} if (
                len(data) == 4 and (seat is None or (type(seat) is int and seat >= 0))
            ):
                return cls(kind, seat, detail, tuple(map(cls.parse, others)))  # type: ignore[arg-type]
        raise ValueError(f"ending has the wrong form: {shorten(data)}; give kind, seat, detail and others")

    @property
    def broke_off(self) -> bool:
        """Whether the match has no result."""
        return self.kind == "broke off"

    @property
    def failures(self) -> tuple[Ending, ...]:
        """Failures in the last step, starting with the forfeiting seat's."""
        return () if self.seat is None else (self, *self.others)

    def find_failure(self, seat: int) -> Ending | None:
        """Return how this seat failed in the last step, or None."""
        return next((failure for failure in self.failures if failure.seat == seat), None)

    def find_causes(self, replies: Iterable[tuple[int, str]]) -> dict[int, str]:
        """Return why each seat failed in the last step, starting with the forfeiting seat.

        `replies` are the match's (seat, reading) pairs in order. If the seat's last reply was not a legal move, the
        cause is its reading: `illegal`, `unparsable` or `cut off` (`illegal` without a reply). Otherwise the cause is
        the failure's kind."""
        last = dict(replies)
        return {
            failure.seat: last.get(failure.seat, "illegal") if failure.kind == "no legal move" else failure.kind
            for failure in self.failures
            if failure.seat is not None
        }

    @property
    def predicate(self) -> str:
        """The failure as a sentence predicate: `did not answer in time`, `crashed (KeyError: 'x')`."""
        return f"{FAILURES[self.kind]} ({self.detail})" if self.detail else FAILURES[self.kind]

    def describe_failure(self, cut_off: Collection[int]) -> str:
        """Return the predicate. If the seat is in `cut_off`, it names the option to increase."""
        unread = self.kind == "no legal move" and self.seat in cut_off
        return f"{self.predicate} ({CUT_OFF})" if unread else self.predicate

    def describe(self, name: Callable[[int], str] = "Seat {}".format, cut_off: Collection[int] = ()) -> str:
        """Describe the ending in one or more sentences.

        `name` returns a seat's name for the start of a sentence. `cut_off` holds the seats with a cut-off last
        reply."""
        if self.kind == "over":
            return "The game is over."
        if self.kind == "broke off":
            return f"The match broke off: {self.detail}"
        sentences = [f"{name(failure.seat or 0)} {failure.describe_failure(cut_off)}" for failure in self.failures]
        return ". ".join([f"{sentences[0]} and forfeits", *sentences[1:]]) + "."


OVER: Final = Ending("over")
"""The ending of a finished match."""


def find_cut_off_seats(replies: Iterable[tuple[int, str]]) -> frozenset[int]:
    """Return the seats with a cut-off last reply. `replies` are the match's (seat, reading) pairs in order."""
    return frozenset(seat for seat, reading in dict(replies).items() if reading == "cut off")
