"""Selection of recorded seats by outcome."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.records.record import Record

_RESULTS = ("win", "draw", "loss")
_KEEP_HELP = "Use all, return>=X, or results: win, draw, loss, or several separated by commas."


@dataclass(frozen=True, slots=True)
class Keep:
    """The outcomes of kept seats: some results, returns of at least `least`, or all outcomes."""

    results: tuple[str, ...] = ()
    """The results to keep, or () for all."""
    least: float = -math.inf
    """The minimum return to keep."""

    @classmethod
    def parse(cls, text: str) -> Keep:
        """Parse `win`, `win,draw`, `return>=0.5` or `all`. Raises `BadOption` for any other text."""
        if text == "all":
            return cls()
        if match := re.fullmatch(r"return\s*>=\s*(.+)", text):
            try:
                least = float(match[1])
            except ValueError:
                least = math.nan
            if not math.isfinite(least):
                raise BadOption(f"--keep {text!r}: {match[1]!r} is not a number. {_KEEP_HELP}")
            return cls(least=least)
        results = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
        if not set(results) <= set(_RESULTS):
            raise BadOption(f"--keep {text!r} is not an outcome. {_KEEP_HELP}")
        return cls(results)

    def check(self, game: Game) -> None:
        """Raise `BadOption` if results are selected for a single-player game, which has none."""
        if self.results and game.seats == 1:
            least, most = game.utility_range
            raise BadOption(
                f"{game.name} is a single-player game without a winner. Select by return, from {least:g} to {most:g}: "
                f"--keep 'return>=X'"
            )

    def __call__(self, result: str, reward: float) -> bool:
        return (not self.results or result in self.results) and reward >= self.least


def explain_rejection(record: Record, seat: int, keep: Keep) -> str | None:
    """Return the reason why a seat of this match is not kept, or None if it is kept."""
    if record.ending.broke_off:
        return "the match broke off"
    readings = [turn["reading"] for turn in record.turns if turn["seat"] == seat]
    reasons = {
        "a reply failed": record.ending.seat == seat or any(reading != "move" for reading in readings),
        "an opponent forfeited": record.ending.seat is not None,
        "the seat never moved": not readings,
        "another outcome": not keep(record.results[seat], record.returns[seat]),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)
