"""Match results for one seat: win, draw and loss probabilities, and mean return."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

from gymposium.games.protocol import find_seat_result


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result probabilities and mean return of a match for one seat."""

    win: float
    draw: float
    loss: float
    mean_return: float

    @classmethod
    def from_returns(cls, returns: Sequence[float], seat: int, forfeit: int | None = None) -> Self:
        """Return the outcome of one finished match. `forfeit` is the seat that forfeited."""
        result = find_seat_result(returns, seat, forfeit)
        return cls(float(result == "win"), float(result == "draw"), float(result == "loss"), returns[seat])

    @classmethod
    def mean(cls, outcomes: Sequence[Outcome], weights: Sequence[float] | None = None) -> Self:
        """Return the mean outcome. `weights` are probabilities; the default is equal weights."""
        shares = weights if weights is not None else [1.0 / len(outcomes)] * len(outcomes)

        def total(values: Sequence[float]) -> float:
            return math.fsum(value * share for value, share in zip(values, shares, strict=True))

        return cls(
            win=total([o.win for o in outcomes]),
            draw=total([o.draw for o in outcomes]),
            loss=total([o.loss for o in outcomes]),
            mean_return=total([o.mean_return for o in outcomes]),
        )

    def as_dict(self) -> dict[str, float]:
        """Return the fields as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Value:
    """A player's outcome in each of the two seats."""

    seats: tuple[Outcome, Outcome]

    @property
    def mean(self) -> Outcome:
        """Mean outcome over both seats, with equal weights."""
        return Outcome.mean(self.seats)

    def as_dict(self) -> dict[str, object]:
        """Return the mean as plain data, with both seats' outcomes under `seats`."""
        return {**self.mean.as_dict(), "seats": [outcome.as_dict() for outcome in self.seats]}
