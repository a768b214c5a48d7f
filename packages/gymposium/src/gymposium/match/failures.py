"""Policies for replies that are not legal moves, shared by environments, evaluation and training."""

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
_HELP = "Write forfeit, random, retry(n), penalty(x) or penalty(x,k), with n and k from 1 and x above 0."


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """A policy for failed replies.

    `forfeit`: the match ends and the seat gets the game's least utility. `retry(n)`: the seat is asked again up to n
    times in one decision, then forfeits. `penalty(x,k)`: the seat is asked again up to k times in a match, each time at
    a cost of x, then forfeits. `random`: a random legal move is played instead, and the failure is counted."""

    kind: Literal["forfeit", "retry", "penalty", "random"]
    tries: int = 0
    cost: float = 0.0

    @classmethod
    def parse(cls, text: str) -> FailurePolicy:
        """The policy written as `forfeit`, `random`, `retry(2)`, `penalty(0.1)` or `penalty(0.1,5)` (k is 3 by
        default). Raises `BadOption` for anything else."""
        if isinstance(text, str):
            form = _FORM.fullmatch(text.strip())
            with suppress(ValueError):  # a count or a cost is not a number
                match form and form.groups():
                    case (str(kind), *_):
                        return cls(kind)  # type: ignore[arg-type]
                    case (_, str(tries), *_) if int(tries) >= 1:
                        return cls("retry", int(tries))
                    case (*_, str(cost), None) if 0 < float(cost) < math.inf:
                        return cls("penalty", 3, float(cost))
                    case (*_, str(cost), str(tries)) if 0 < float(cost) < math.inf and int(tries) >= 1:
                        return cls("penalty", int(tries), float(cost))
        raise BadOption(f"on_illegal={text!r} is not a policy. {_HELP}")

    @property
    def asks_again(self) -> bool:
        """Whether a seat is asked again after a failed reply, while the others' moves stand."""
        return self.kind in ("retry", "penalty")

    def __str__(self) -> str:
        if self.kind == "retry":
            return f"retry({self.tries})"
        if self.kind == "penalty":
            return f"penalty({self.cost!r},{self.tries})"
        return self.kind


class Tally:
    """Counts the failed replies of one match and applies a policy to them."""

    __slots__ = ("_policy", "_used", "penalties")

    def __init__(self, policy: FailurePolicy) -> None:
        self._policy = policy
        self._used: dict[int, int] = {}
        """Number of tries that each seat has used: in this decision under `retry`, in this match under `penalty`."""
        self.penalties: dict[int, float] = {}
        """Sum of each seat's penalties so far, for seats that have any."""

    def next_decision(self) -> None:
        """Begin a new decision, in which retries are counted from zero."""
        if self._policy.kind == "retry":
            self._used.clear()

    def failed(self, seat: int, *, can_draw: bool) -> Literal["random", "again", "forfeit"]:
        """Count one more failed reply of `seat` and return its consequence. `can_draw`: True if the game lists legal
        moves to draw from."""
        policy, used = self._policy, self._used.get(seat, 0)
        if policy.kind == "random" and can_draw:
            return "random"
        if not policy.asks_again or used >= policy.tries:
            return "forfeit"
        self._used[seat] = used + 1
        if policy.kind == "penalty":
            self.penalties[seat] = self.penalties.get(seat, 0.0) + policy.cost
        return "again"


def forfeited(failures: Sequence[Ending], player_seed: int) -> Ending:
    """The ending of a match in which these seats failed in the same step: one of them forfeits, the rest stand in
    `Ending.others`. The forfeiting seat is drawn from the players' seed, since always taking the first would favour the
    others."""
    loser = 0 if len(failures) == 1 else int(stream(player_seed, "forfeit").random() * len(failures))
    return replace(failures[loser], others=(*failures[:loser], *failures[loser + 1 :]))


def forfeit_returns(game: Game, seat: int, so_far: Sequence[float]) -> tuple[float, ...]:
    """The utilities of a match that `seat` forfeits after the game paid `so_far`. The seat gets the game's least
    utility. In a zero-sum game the others share its loss; in other games they keep what they have."""
    least = game.utility_range[0]
    if game.spec.utility == "zero_sum" and game.seats > 1:
        share = -least / (game.seats - 1)
        return tuple(least if s == seat else share for s in range(game.seats))
    return tuple(least if s == seat else so_far[s] for s in range(game.seats))
