"""Players: whoever decides for a seat.

A player receives asks and gives replies, many at once where many matches wait. An ask shows what the
seat may see and nothing else: the match itself stays with the driver. Search gets a `Sampler` of
worlds that the seat's own view allows, never the true match.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from gymposium.games.protocol import Game, Match, Observation, Style
from gymposium.reading import Reader
from gymposium.streams import stream

FinishReason = Literal["stop", "length"]


@dataclass(slots=True)
class Reply:
    """What a player answered. `finish_reason` is `length` where the answer was cut off. `trace` is the
    player's own account of the turn (a language model's tokens); it never reaches another seat. `action`
    is set where the answer is an index into the game's action space; the text is then not read."""

    text: str
    finish_reason: FinishReason = "stop"
    trace: Any = None
    action: int | None = None


class Sampler:
    """Worlds that one seat cannot tell from the true one."""

    __slots__ = ("_match", "_seat")

    def __init__(self, match: Match, seat: int) -> None:
        self._match, self._seat = match, seat

    def world(self, rng: random.Random) -> Match:
        """One such world. Raises `NoSampler` where the game cannot make one."""
        return self._match.resample(self._seat, rng)


class Ask:
    """One seat's turn to decide."""

    __slots__ = ("_match", "_rngs", "game", "key", "reason", "seat", "seed", "turn")

    def __init__(
        self,
        match: Match,
        seat: int,
        turn: int,
        key: str,
        seed: int,
        rngs: dict[int, random.Random],
        reason: str | None = None,
    ) -> None:
        self._match = match
        self._rngs = rngs
        self.game: Game = match.game
        self.seat = seat
        self.turn = turn
        """How often this seat was asked before in this match, retries included."""
        self.key = key
        """Names the match among those under way; a player that keeps memory keys it by this."""
        self.seed = seed
        """Seed of the players' streams in this match."""
        self.reason = reason
        """Why the last reply was not accepted, where this is a retry."""

    @property
    def legal_moves(self) -> list[str] | None:
        return self._match.legal_moves(self.seat)

    def observe(self, style: Style = "full") -> Observation:
        return self._match.observe(self.seat, style)

    @property
    def rng(self) -> random.Random:
        """This seat's own stream in this match."""
        rng = self._rngs.get(self.seat)
        if rng is None:
            rng = self._rngs[self.seat] = stream(self.seed, "seat", self.seat)
        return rng

    @property
    def sampler(self) -> Sampler:
        return Sampler(self._match, self.seat)


class Player(Protocol):
    """Decides for a seat, in any number of matches at once."""

    name: str
    """As it is written in commands and records: `mcts-100`."""
    reader: Reader
    """How its replies are to be read."""
    style: Style
    """The prompt style that it reads."""

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """One reply for each ask, in order."""
        ...
