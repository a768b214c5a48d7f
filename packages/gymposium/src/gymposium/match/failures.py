"""Policies for illegal replies, shared by environments, evaluation and training."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from gymposium.errors import BadOption
from gymposium.match.ending import Ending
from gymposium.util.streams import stream

if TYPE_CHECKING:
    from gymposium.games.protocol import Game

_FORM = re.compile(r"(forfeit|random)|retry\(([^,)]*)\)|penalty\(([^,)]*)(?:,([^,)]*))?\)")
_HELP = "Use forfeit, random, retry(n), penalty(x) or penalty(x,k), with n and k from 1 and x above 0."


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """A policy for failed replies.

    - `forfeit`: the match ends, and the seat gets the game's minimum utility.
    - `retry(n)`: the seat is asked again up to n times per decision, then forfeits.
    - `penalty(x,k)`: the seat is asked again up to k times per match at a cost of x each time, then forfeits.
    - `random`: a random legal move is played instead, and the failure is counted."""

    kind: Literal["forfeit", "retry", "penalty", "random"]
    tries: int = 0
    cost: float = 0.0

    @classmethod
    def parse(cls, text: str) -> FailurePolicy:
        """Parse a policy: `forfeit`, `random`, `retry(2)`, `penalty(0.1)` or `penalty(0.1,5)` (k defaults to 3).

        Raises `BadOption` for anything else."""
        if isinstance(text, str):
            form = _FORM.fullmatch(text.strip())
            with suppress(ValueError):  # invalid number for a count or cost
                match form and form.groups():
                    case (str(kind), *_):
                        return cls(kind)  # type: ignore[arg-type]
                    case (_, str(tries), *_) if int(tries) >= 1:
                        return cls("retry", int(tries))
                    case (*_, str(cost), None) if 0 < float(cost) < math.inf:
                        return cls("penalty", 3, float(cost))
                    case (*_, str(cost), str(tries)) if 0 < float(cost) < math.inf and int(tries) >= 1:
                        return cls("penalty", int(tries), float(cost))
        raise BadOption(f"Unknown policy on_illegal={text!r}. {_HELP}")

    @property
    def asks_again(self) -> bool:
        """Whether a seat is asked again after a failed reply, while the other seats' moves are kept."""
        return self.kind in ("retry", "penalty")

    def __str__(self) -> str:
        if self.kind == "retry":
            return f"retry({self.tries})"
        if self.kind == "penalty":
            return f"penalty({self.cost!r},{self.tries})"
        return self.kind


class FailureTally:
    """A counter of failed replies in one match, which applies the failure policy."""

    __slots__ = ("_policy", "_used", "penalties")

    def __init__(self, policy: FailurePolicy) -> None:
        self._policy = policy
        self._used: dict[int, int] = {}
        """Number of retries used by each seat: in this decision under `retry`, in this match under `penalty`."""
        self.penalties: dict[int, float] = {}
        """Each seat's total penalty so far, for seats with penalties."""

    def next_decision(self) -> None:
        """Begin a new decision and reset the retry counts."""
        if self._policy.kind == "retry":
            self._used.clear()

    def count_failure(self, seat: int, *, can_draw: bool) -> Literal["random", "again", "forfeit"]:
        """Count a failed reply from `seat` and return its consequence.

        `can_draw` is True if the game lists legal moves to draw from."""
        policy, used = self._policy, self._used.get(seat, 0)
        if policy.kind == "random" and can_draw:
            return "random"
        if not policy.asks_again or used >= policy.tries:
            return "forfeit"
        self._used[seat] = used + 1
        if policy.kind == "penalty":
            self.penalties[seat] = self.penalties.get(seat, 0.0) + policy.cost
        return "again"


def choose_forfeit(failures: Sequence[Ending], player_seed: int) -> Ending:
    """Return the ending of a match after these seats failed in the same step.

    One of them forfeits; the others are listed in `Ending.others`. The forfeiting seat is drawn from the players' seed,
    because always picking the first seat would favor the others."""
    loser = 0 if len(failures) == 1 else int(stream(player_seed, "forfeit").random() * len(failures))
    return replace(failures[loser], others=(*failures[:loser], *failures[loser + 1 :]))


def compute_forfeit_returns(game: Game, seat: int, so_far: Sequence[float]) -> tuple[float, ...]:
    """Return the utilities when `seat` forfeits after the game paid `so_far`.

    The seat gets the game's minimum utility. In a zero-sum game, the other seats share its loss. In other games, they
    keep `so_far`."""
    least = game.utility_range[0]
    if game.spec.utility == "zero_sum" and game.seats > 1:
        share = -least / (game.seats - 1)
        return tuple(least if s == seat else share for s in range(game.seats))
    return tuple(least if s == seat else so_far[s] for s in range(game.seats))
