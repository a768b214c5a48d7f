"""What a match comes to for one seat, as shares of wins, draws and losses and a mean return."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

from gymposium.games.protocol import seat_result


@dataclass(frozen=True, slots=True)
class Outcome:
    """How matches end for one seat."""

    win: float
    draw: float
    loss: float
    mean_return: float

    @classmethod
    def of(cls, returns: Sequence[float], seat: int, forfeit: int | None = None) -> Self:
        """The end of one match; `forfeit` is the seat that gave it up."""
        result = seat_result(returns, seat, forfeit)
        return cls(float(result == "win"), float(result == "draw"), float(result == "loss"), returns[seat])

    @classmethod
    def mean(cls, outcomes: Sequence[Outcome], weights: Sequence[float] | None = None) -> Self:
        """The mean of outcomes, each with a weight that is its probability (None: all alike)."""
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
        """Everything as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Value:
    """How a player does in each of two seats."""

    seats: tuple[Outcome, Outcome]

    @property
    def mean(self) -> Outcome:
        """Over both seats, as often in the one as in the other."""
        return Outcome.mean(self.seats)

    def as_dict(self) -> dict[str, object]:
        """The mean, and under `seats` what it is the mean of."""
        return {**self.mean.as_dict(), "seats": [outcome.as_dict() for outcome in self.seats]}
