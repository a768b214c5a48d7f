"""What a reply that is not a move costs: one policy, the same in envs, evaluation and training."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from gymposium.ending import Ending
from gymposium.errors import BadOption
from gymposium.streams import stream

if TYPE_CHECKING:
    from gymposium.games.protocol import Game

_FORM = re.compile(r"(forfeit|random|retry|penalty)(?:\(([^)]*)\))?")
_HELP = "Write forfeit, random, retry(n), penalty(x) or penalty(x,k), with n and k from 1 and x above 0."


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """`forfeit`: the seat gets the game's least utility and the match ends. `retry(n)`: asked again up to
    n times in one decision, then forfeit. `penalty(x,k)`: the same, up to k times in a match, each
    costing x of reward. `random`: a random legal move is played instead, and counted."""

    kind: Literal["forfeit", "retry", "penalty", "random"]
    tries: int = 0
    cost: float = 0.0

    @classmethod
    def parse(cls, text: str) -> FailurePolicy:
        """Read `forfeit`, `random`, `retry(2)`, `penalty(0.1)` or `penalty(0.1,5)` (k is 3 by default)."""
        if not isinstance(text, str):
            raise BadOption(f"on_illegal={text!r} is not a policy. {_HELP}")
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise BadOption(f"on_illegal={text!r} is not a policy. {_HELP}")
        kind, arguments = found[1], found[2]
        given = [a.strip() for a in arguments.split(",")] if arguments is not None else []
        try:
            if kind in ("forfeit", "random") and not given:
                return cls(kind)  # type: ignore[arg-type]
            if kind == "retry" and len(given) == 1 and int(given[0]) >= 1:
                return cls("retry", int(given[0]))
            if kind == "penalty" and len(given) in (1, 2) and 0 < float(given[0]) < math.inf:
                tries = int(given[1]) if len(given) == 2 else 3
                if tries >= 1:
                    return cls("penalty", tries, float(given[0]))
        except ValueError:
            pass
        raise BadOption(f"on_illegal={text!r} is not a policy. {_HELP}")

    def __str__(self) -> str:
        if self.kind == "retry":
            return f"retry({self.tries})"
        if self.kind == "penalty":
            return f"penalty({self.cost!r},{self.tries})"
        return self.kind


class Tally:
    """What failed replies have cost in one match, under one policy: the rule that the driver plays by and
    that `verify` holds records against."""

    __slots__ = ("_policy", "_retries", "_used", "penalties")

    def __init__(self, policy: FailurePolicy) -> None:
        self._policy = policy
        self._retries: dict[int, int] = {}
        self._used: dict[int, int] = {}
        self.penalties: dict[int, float] = {}
        """What each seat has paid so far."""

    def next_decision(self) -> None:
        """The last decision is made: retries are counted afresh."""
        self._retries.clear()

    def failed(self, seat: int, *, can_draw: bool) -> Literal["random", "again", "forfeit"]:
        """What follows from one more failed reply of `seat`. `can_draw`: there are listed moves to draw from."""
        policy = self._policy
        if policy.kind == "random" and can_draw:
            return "random"
        if policy.kind == "retry" and self._retries.get(seat, 0) < policy.tries:
            self._retries[seat] = self._retries.get(seat, 0) + 1
            return "again"
        if policy.kind == "penalty" and self._used.get(seat, 0) < policy.tries:
            self._used[seat] = self._used.get(seat, 0) + 1
            self.penalties[seat] = self.penalties.get(seat, 0.0) + policy.cost
            return "again"
        return "forfeit"


def forfeited(failures: Sequence[Ending], player_seed: int) -> Ending:
    """The ending of a match in which these seats failed in the same step: one of them forfeits, the rest stand in
    `Ending.others`. The forfeiting seat is drawn from the players' seed, since always taking the first would favour the
    others."""
    loser = 0 if len(failures) == 1 else int(stream(player_seed, "forfeit").random() * len(failures))
    return replace(failures[loser], others=(*failures[:loser], *failures[loser + 1 :]))


def forfeit_returns(game: Game, seat: int, so_far: Sequence[float]) -> tuple[float, ...]:
    """Returns of a match that `seat` forfeits: that seat gets the game's least utility. In a zero-sum
    game the others share what it lost; elsewhere they keep what they have."""
    least = game.utility_range[0]
    if game.spec.utility == "zero_sum" and game.seats > 1:
        share = -least / (game.seats - 1)
        return tuple(least if s == seat else share for s in range(game.seats))
    return tuple(least if s == seat else so_far[s] for s in range(game.seats))
