"""Othello, told as enclosing and taking over the other side's places."""

from __future__ import annotations

import re

import pyspiel

from gymposium.games.territory.othello import Othello
from gymposium_disguises.places import BoardDisguise
from gymposium_disguises.speech import Speech

_SQUARES = [f"{column}{row}" for row in range(1, 9) for column in "abcdefgh"]
_WAIT = "wait"


class Turncoats(BoardDisguise):
    """The disguise of `othello`."""

    def __init__(self, speech: Speech, plain: Othello, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, _SQUARES)
        places, (one, other) = self.places, self.sides
        place, token = places.place, places.token
        self.names = [places.name.get(name, _WAIT) for name in plain.names]
        self.move_pattern = re.compile(f"{places.pattern}|{_WAIT}")
        self.story = (
            f"{places.naming} {places.straight}\n"
            f"{one} and {other} take turns to put a {token} of their own on a free {place}. It must enclose at least "
            f"one {token} of the other: some straight path from it has next an unbroken run of one or more of the "
            f"other's {token}s and right behind them a {token} of your own. All {token}s so enclosed, on every such "
            f"path, become yours.\n"
            f"Whoever can enclose nothing must {_WAIT}, which is allowed only then. When neither can enclose anything, "
            f"the match is over. Whoever has more {token}s wins; with equal numbers nobody wins. A move is the "
            f"{place}, or {_WAIT}.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        rows = state.observation_string(seat).split("\n")[2:10]
        return self.list_held("".join([row[2:17:2] for row in rows]), "xo")
