"""How a match ended: the one account of it that the driver, records, scores, learners and pages share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

EndingKind = Literal["over", "no legal move", "timed out", "out of context", "crashed", "broke off"]

FAILURES: Final[dict[EndingKind, str]] = {
    "no legal move": "gave no legal move",
    "timed out": "did not answer in time",
    "out of context": "had no room left for a reply in its context",
    "crashed": "crashed",
}
"""The ways in which a seat can fail to go on, each as the predicate of a sentence."""

CUT_OFF: Final = "its reply was cut off: raise max_tokens"
"""The reason why a seat gave no legal move if its last reply was cut off, and the option of a language model that lets
it reply at more length."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a match: played out, forfeited by a seat, or broken off.

    `over`: the game came to its end. `broke off`: the game's engine failed or a player could not be asked, so the match
    has no result. Every other kind is a failure, by which `seat` forfeits the match: its last reply was `no legal
    move`, or its player `timed out`, was `out of context` or `crashed`.

    Raises `ValueError` for a combination that no match can end with."""

    kind: EndingKind
    seat: int | None = None
    """The seat that forfeits; None unless the kind is a failure."""
    detail: str = ""
    """The player's exception if it crashed, or the reason if the match broke off; empty otherwise."""
    others: tuple[Ending, ...] = ()
    """Failures of other seats in the same step, which do not forfeit."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(EndingKind):
            raise ValueError(f"{self.kind!r} is no kind of ending")
        if (self.seat is not None) != (self.kind in FAILURES):
            raise ValueError(f"an ending of kind {self.kind!r} with seat {self.seat}")
        if self.detail and self.kind not in ("crashed", "broke off"):
            raise ValueError(f"an ending of kind {self.kind!r} has no detail")
        seats = [failure.seat for failure in self.failures]
        if len({*seats}) != len(seats) or None in seats or (self.others and self.seat is None):
            raise ValueError(f"the failures are of seats {seats}: each must be of another seat")
        if any(other.others for other in self.others):
            raise ValueError("the failures of other seats have others in turn")

    @classmethod
    def parse(cls, data: Any) -> Ending:
        """The ending with these fields, as read from JSON. Raises `ValueError` unless all are there and valid."""
        match data:
            case {"kind": str(kind), "seat": None | int() as seat, "detail": str(detail), "others": list(others)} if (
                len(data) == 4 and (seat is None or (type(seat) is int and seat >= 0))
            ):
                return cls(kind, seat, detail, tuple(map(cls.parse, others)))  # type: ignore[arg-type]
        raise ValueError("ending is not of the right form")

    @property
    def broke_off(self) -> bool:
        """True if the match has no result."""
        return self.kind == "broke off"

    @property
    def failures(self) -> tuple[Ending, ...]:
        """The failure of each seat that failed in the last step, that of the forfeiting seat first."""
        return () if self.seat is None else (self, *self.others)

    def failure_of(self, seat: int) -> Ending | None:
        """How this seat failed in the last step, or None."""
        return next((failure for failure in self.failures if failure.seat == seat), None)

    def causes(self, replies: Iterable[tuple[int, str]]) -> dict[int, str]:
        """Why each seat failed in the last step, the forfeiting seat first. `replies` are those of the match in order,
        each as its seat and reading. The cause is the reading of the seat's last reply if that was no legal move
        (`illegal`, `unparsable`, `cut off`; `illegal` without a reply), and else the kind of the failure."""
        last = dict(replies)
        return {
            failure.seat: last.get(failure.seat, "illegal") if failure.kind == "no legal move" else failure.kind
            for failure in self.failures
            if failure.seat is not None
        }

    @property
    def predicate(self) -> str:
        """The failure as the predicate of a sentence: `did not answer in time`, `crashed (KeyError: 'x')`."""
        return f"{FAILURES[self.kind]} ({self.detail})" if self.detail else FAILURES[self.kind]

    def advised(self, cut_off: Collection[int]) -> str:
        """The predicate, with the option to raise if the seat is one of those whose last reply was `cut_off`."""
        unread = self.kind == "no legal move" and self.seat in cut_off
        return f"{self.predicate} ({CUT_OFF})" if unread else self.predicate

    def in_words(self, name: Callable[[int], str] = "Seat {}".format, cut_off: Collection[int] = ()) -> str:
        """The ending in one or more sentences. `name` gives what a seat is called at the beginning of a sentence, and
        `cut_off` are the seats whose last reply was cut off."""
        if self.kind == "over":
            return "The game is over."
        if self.kind == "broke off":
            return f"The match broke off: {self.detail}"
        sentences = [f"{name(failure.seat or 0)} {failure.advised(cut_off)}" for failure in self.failures]
        return ". ".join([f"{sentences[0]} and forfeits", *sentences[1:]]) + "."


OVER: Final = Ending("over")
"""The ending of a match that was played out."""


def cut_off_last(replies: Iterable[tuple[int, str]]) -> frozenset[int]:
    """The seats whose last reply was cut off, among the replies of a match in order, each as its seat and reading."""
    return frozenset(seat for seat, reading in dict(replies).items() if reading == "cut off")
