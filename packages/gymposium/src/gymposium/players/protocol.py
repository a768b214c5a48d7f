"""Players: whoever decides for a seat.

A player receives asks and gives replies, many at once where many matches wait. An ask shows what the
seat may see and nothing else: the match itself stays with the driver. Search gets a `Sampler` of
worlds that the seat's own view allows, never the true match.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, get_args, runtime_checkable

from gymposium.errors import GymposiumError, NoSampler
from gymposium.games.protocol import Game, Match, Observation, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.search.viewlog import Item, ViewLog, Witness
from gymposium.players.search.worlds import Worlds
from gymposium.reading import Reader
from gymposium.streams import stream

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np

    from gymposium.players.identity import Identity

FinishReason = Literal["stop", "length", "context"]


@dataclass(slots=True)
class Usage:
    """What a reply took."""

    prompt_tokens: int | None = None
    """None where nobody counts them."""
    completion_tokens: int | None = None
    seconds: float = 0.0
    """Wall time from ask to reply; of replies that were made in one batch, each one's share of it."""
    cost: float | None = None
    """In the currency of the prices that the player was given; None where it knows none."""


@dataclass(slots=True)
class Reply:
    """What a player answered. `finish_reason` is `length` where the answer was cut off, and `context` where none
    could be made, since the prompt fills all that the player can read: that ends the match. `trace` is the
    player's own account of the turn (a language model's tokens; of a prompt without room, its ids); it never
    reaches another seat. `action` is set where the answer is an index into the game's action space; the text is
    then not read."""

    text: str
    finish_reason: FinishReason = "stop"
    trace: Any = None
    action: int | None = None
    usage: Usage | None = None


Source = Literal["position", "resample", "views"]
"""Where worlds come from: the position itself where nothing is hidden, the game's own sampler, or the seat's views."""

STEPS_PER_WORLD = 400
"""Matches begun and moves applied, at most, for each world that is sought from the seat's views."""


class Sampler:
    """Worlds that one seat cannot tell from the true one: a function of what the seat saw and did, and of the
    generator that it is given. The true match stays behind it."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    @property
    def log(self) -> tuple[Item, ...]:
        """What the seat saw and did up to now."""
        return tuple(self._ask._sitting.log(self._ask.seat).items)

    def worlds(
        self, count: int, rng: random.Random, steps_per_world: int = STEPS_PER_WORLD
    ) -> tuple[Source, list[Match]]:
        """Up to `count` worlds, all with this seat to move. They are to be forked, never played on.

        Where nothing is hidden that is the position, once, with later chance from `rng`. Where the game has a sampler
        of its own, `count` worlds by it. Elsewhere those that are found along the seat's views in about `count` times
        `steps_per_world` steps, perhaps none; they are remembered and led on at the seat's next decision."""
        sitting, seat = self._ask._sitting, self._ask.seat
        if sitting.game.spec.information == "perfect":
            return "position", [sitting.match.fork(rng)]
        drawn: list[Match] = []
        try:
            while len(drawn) < count:
                drawn.append(sitting.match.resample(seat, rng))
        except NoSampler:  # at once: the game has no sampler; later: it found no further world
            if not drawn:
                legal = legal_moves(self._ask) or ()
                return "views", sitting.worlds(seat).update(sitting.log(seat), legal, count, steps_per_world, rng)
        view = sitting.match.view(seat)
        if any(seat not in world.to_move() or world.view(seat) != view for world in drawn):
            raise NoSampler(
                f"{sitting.game.name}: resample() gave a world that seat {seat} can tell from the true one: its "
                f"view is another. It must keep all that the seat saw and did."
            )
        return "resample", drawn


class MatchContext:
    """What all asks of one match have in common."""

    __slots__ = ("_broken_off", "_witnesses", "_worlds", "asked", "game", "key", "match", "memory", "rngs", "seed")

    def __init__(
        self, match: Match, key: str, seed: int, broken_off: Callable[[Exception], GymposiumError] | None = None
    ) -> None:
        """`broken_off` makes of what the game's engine raises, as a player looks at the match, what is to be raised."""
        self._broken_off = broken_off
        self.match = match
        self.game: Game = match.game
        self.key = key
        self.seed = seed
        self.rngs: dict[int, random.Random] = {}
        self.asked = [0] * match.game.seats
        self.memory: dict[int, dict[str, Any]] = {}
        # what search remembers ends with the match; made on first use
        self._witnesses: dict[int, Witness] = {}
        self._worlds: dict[int, Worlds] = {}

    def log(self, seat: int) -> ViewLog:
        """What the seat saw and did up to now."""
        witness = self._witnesses.get(seat)
        if witness is None:
            witness = self._witnesses[seat] = Witness(self.match, seat)
        return witness.log()

    def worlds(self, seat: int) -> Worlds:
        """The seat's worlds, as its last decision left them."""
        worlds = self._worlds.get(seat)
        if worlds is None:
            worlds = self._worlds[seat] = Worlds(self.game, seat)
        return worlds

    def fail(self, error: Exception) -> NoReturn:
        """Raise what is to be raised where the game's engine raised `error`."""
        if self._broken_off is None or isinstance(error, GymposiumError):  # our own say themselves what to do
            raise error
        raise self._broken_off(error) from error

    def ask(self, seat: int, reason: str | None = None) -> Ask:
        """The seat's next ask."""
        turn = self.asked[seat]
        self.asked[seat] = turn + 1
        return Ask(self, seat, turn, reason)


class Ask:
    """One seat's turn to decide."""

    __slots__ = ("_legal", "_sitting", "reason", "seat", "turn")

    def __init__(self, sitting: MatchContext, seat: int, turn: int, reason: str | None = None) -> None:
        self._sitting = sitting
        self._legal: list[str] | None = None
        self.seat = seat
        self.turn = turn
        """How often this seat was asked before in this match, retries included."""
        self.reason = reason
        """Why the last reply was not accepted, where this is a retry."""

    @property
    def game(self) -> Game:
        return self._sitting.game

    @property
    def key(self) -> str:
        """Names the match among those under way; a player that keeps memory keys it by this."""
        return self._sitting.key

    @property
    def seed(self) -> int:
        """Seed of the players' streams in this match."""
        return self._sitting.seed

    @property
    def legal_moves(self) -> list[str] | None:
        legal = legal_moves(self)
        return None if legal is None else legal.copy()

    @property
    def legal_actions(self) -> list[int]:
        """Indices of the legal moves in the game's action space, ascending; [] for free text."""
        try:
            return self._sitting.match.legal_actions(self.seat)
        except Exception as error:  # noqa: BLE001 - whatever an engine may raise
            self._sitting.fail(error)

    @property
    def view(self) -> str:
        """What the seat knows, as a key (`Match.view`): equal where it cannot tell two positions apart."""
        try:
            return self._sitting.match.view(self.seat)
        except Exception as error:  # noqa: BLE001 - whatever an engine may raise
            self._sitting.fail(error)

    def tensor(self) -> np.ndarray:
        """What the seat sees as float32, shape `game.tensor_shape`."""
        try:
            return self._sitting.match.tensor(self.seat)
        except Exception as error:  # noqa: BLE001 - whatever an engine may raise
            self._sitting.fail(error)

    def observe(self, style: Style = "full") -> Observation:
        """The position in words, as the seat may see it."""
        try:
            observation = self._sitting.match.observe(self.seat, style)
        except Exception as error:  # noqa: BLE001 - whatever an engine may raise
            self._sitting.fail(error)
        if self._legal is None and observation.legal_moves is not None:
            self._legal = observation.legal_moves.copy()
        return observation

    @property
    def rng(self) -> random.Random:
        """This seat's own stream in this match."""
        rngs = self._sitting.rngs
        rng = rngs.get(self.seat)
        if rng is None:
            rng = rngs[self.seat] = stream(self.seed, "seat", self.seat)
        return rng

    @property
    def memory(self) -> dict[str, Any]:
        """What the player of this seat keeps from turn to turn of this match, by names of its own; it ends with the
        match. Whatever is kept must follow from this seat's asks and replies, so that a match can be played again."""
        return self._sitting.memory.setdefault(self.seat, {})

    @property
    def sampler(self) -> Sampler:
        return Sampler(self)


def legal_moves(ask: Ask) -> list[str] | None:
    """The legal moves that the driver holds a reply to. They are listed once for each decision, and what
    players get is a copy, so that nothing they do to it makes a move legal."""
    if ask._legal is None:
        try:
            ask._legal = ask._sitting.match.legal_moves(ask.seat)
        except Exception as error:  # noqa: BLE001 - whatever an engine may raise
            ask._sitting.fail(error)
    return ask._legal


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


@runtime_checkable
class Concurrent(Protocol):
    """What a player may add: it takes any number of asks at once and answers each as soon as it is ready, as a
    client of a server does. The streaming schedule uses it, for whoever has it, and nothing else; `act` stays for
    rounds."""

    def submit(self, ask: Ask) -> Future[Reply]:
        """Begin the reply to one ask, which belongs to the player until the future is done."""
        ...


@runtime_checkable
class Distributes(Protocol):
    """What a player may add: it says how likely it plays each move. Exact figures rest on it (`gymposium.exact`)."""

    def distributions(self, asks: Sequence[Ask]) -> Sequence[MoveDistribution]:
        """One distribution for each ask, in order. Nothing is played by it and nothing remembered.

        Raises `GymposiumError` where it depends on more than the ask: on what was said earlier in the match."""
        ...


class Deterministic(Protocol):
    """What a player may add: whether it draws nothing, so that equal asks bring equal replies. Where all players of a
    match are so, and chance does nothing either, it is worth playing once; a tournament gives it random first moves."""

    deterministic: bool


def is_deterministic(player: Player) -> bool:
    """Whether it says so."""
    return getattr(player, "deterministic", False) is True


Repeats = Literal["quickly", "slowly", "up_to_rounding"]


class Repeatable(Protocol):
    """What a player may add: that its replies follow from its asks and their streams, and from nothing else. Whoever
    asks it again along a record gets what stands there, which is how boards are verified (`gymposium leaderboard
    verify`). Without it, what a player replied stands on the word of whoever let it play."""

    repeats: Repeats
    """`quickly`: the player can be asked again in every match. `slowly`: in a sample, since it searches.
    `up_to_rounding`: on demand, since another machine rounds differently, as with a language model's weights."""


def repeats_of(player: Player) -> Repeats | None:
    """What it says of that."""
    repeats = getattr(player, "repeats", None)
    return repeats if repeats in get_args(Repeats) else None


@runtime_checkable
class Identified(Protocol):
    """What a player may add: what decides its moves besides its name and its code, its weights, say."""

    def identity(self) -> Identity:
        """Equal identities of equal code play alike."""
        ...


class Remarks(Protocol):
    """What a player may add: something to say of how its matches went."""

    def remarks(self) -> Sequence[str]:
        """Sentences for whoever let it play: `3 of 200 moves were random, for want of a world to search.`"""
        ...
