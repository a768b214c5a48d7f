"""The protocol of players, which decide for seats.

A player receives asks and returns replies, for many matches in one call. An ask shows what its seat may see and nothing
else: the match itself stays with the driver. Search gets a `Sampler` of worlds that the seat's own view allows, never
the true match.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, get_args, runtime_checkable

from gymposium.errors import GymposiumError, NoSampler
from gymposium.games.protocol import Game, Match, Observation, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.search.viewlog import Item, ViewLog
from gymposium.players.search.worlds import Worlds
from gymposium.replies.reading import Reader
from gymposium.util.streams import stream

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np

    from gymposium.players.identity import Identity

FinishReason = Literal["stop", "length", "context"]


@dataclass(slots=True)
class Usage:
    """Tokens, time and money that a reply took."""

    prompt_tokens: int | None = None
    """None if they are not counted."""
    completion_tokens: int | None = None
    seconds: float = 0.0
    """Wall time from ask to reply; for replies made in one batch, its time divided by their number."""
    cost: float | None = None
    """In the currency of the prices that the player was given; None if it was given none."""


@dataclass(slots=True)
class Reply:
    """A player's answer to one ask.

    `finish_reason` is `length` if the answer was cut off, and `context` if there is no answer because the prompt fills
    the player's context: the match ends then. `trace` is the player's own account of the turn, such as a
    language model's tokens (with `context`, the ids of the prompt); it never reaches another seat. `action` is set if
    the answer is an index into the game's action space; the text is then not read."""

    text: str
    finish_reason: FinishReason = "stop"
    trace: Any = None
    action: int | None = None
    usage: Usage | None = None


Source = Literal["position", "resample", "views"]
"""Where worlds come from: the position itself if nothing is hidden, the game's own sampler, or the seat's views."""

STEPS_PER_WORLD = 400
"""Limit on matches begun and moves applied for each world that is sought from the seat's views."""


class Sampler:
    """Draws worlds that one seat cannot tell from the true one. They follow from what the seat saw and did and from the
    random generator alone; the true match is not accessible."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    @property
    def log(self) -> tuple[Item, ...]:
        """What the seat saw and did up to now."""
        return tuple(self._ask._context.log(self._ask.seat))

    def worlds(
        self, count: int, rng: random.Random, steps_per_world: int = STEPS_PER_WORLD
    ) -> tuple[Source, list[Match]]:
        """Returns up to `count` worlds in which this seat is to move, and where they come from. Fork them; do not play
        on in them.

        If nothing is hidden, this is the position, once, with later chance from `rng`. If the game has its own sampler,
        it draws `count` worlds. Otherwise worlds are sought along the seat's views in about `count` times
        `steps_per_world` steps, perhaps without success; they are kept and continued at the seat's next decision."""
        context, seat = self._ask._context, self._ask.seat
        if context.game.spec.information == "perfect":
            return "position", [context.match.fork(rng)]
        drawn: list[Match] = []
        try:
            while len(drawn) < count:
                drawn.append(context.match.resample(seat, rng))
        except NoSampler:  # at once: the game has no sampler; later: it found no further world
            if not drawn:
                legal = legal_moves(self._ask) or ()
                return "views", context.worlds(seat).update(context.log(seat), legal, count, steps_per_world, rng)
        view = context.match.view(seat)
        if any(seat not in world.to_move() or world.view(seat) != view for world in drawn):
            raise NoSampler(
                f"{context.game.name}: resample() returned a world that seat {seat} can tell from the true one, as its "
                f"view differs. It must keep everything that the seat saw and did."
            )
        return "resample", drawn


class MatchContext:
    """Shared state of all asks of one match: the match, the players' streams, and what players remember."""

    __slots__ = ("_broken_off", "_logs", "_worlds", "asked", "game", "key", "match", "memory", "rngs", "seed")

    def __init__(
        self, match: Match, key: str, seed: int, broken_off: Callable[[Exception], GymposiumError] | None = None
    ) -> None:
        """`broken_off` makes the error to raise if the game's engine raises while a player looks at the match."""
        self._broken_off = broken_off
        self.match = match
        self.game: Game = match.game
        self.key = key
        self.seed = seed
        self.rngs: dict[int, random.Random] = {}
        self.asked = [0] * match.game.seats
        self.memory: dict[int, dict[str, Any]] = {}
        # of search; made on first use, and dropped with the match
        self._logs: dict[int, ViewLog] = {}
        self._worlds: dict[int, Worlds] = {}

    def log(self, seat: int) -> list[Item]:
        """Returns what the seat saw and did up to now."""
        if seat not in self._logs:
            self._logs[seat] = ViewLog(self.match, seat)
        return self._logs[seat].items()

    def worlds(self, seat: int) -> Worlds:
        """Returns the seat's worlds, as its last decision left them."""
        if seat not in self._worlds:
            self._worlds[seat] = Worlds(self.game, seat)
        return self._worlds[seat]

    def fail(self, error: Exception) -> NoReturn:
        """Raises the error to raise because the match raised `error` while a player looked at it: what `broken_off`
        makes of an error of the game's engine, and gymposium's own errors as they are."""
        if self._broken_off is None or isinstance(error, GymposiumError):
            raise error
        raise self._broken_off(error) from error

    def ask(self, seat: int, reason: str | None = None) -> Ask:
        """Returns the seat's next ask."""
        turn = self.asked[seat]
        self.asked[seat] = turn + 1
        return Ask(self, seat, turn, reason)


class Ask:
    """One seat's turn to decide."""

    __slots__ = ("_context", "_legal", "reason", "seat", "turn")

    def __init__(self, context: MatchContext, seat: int, turn: int, reason: str | None = None) -> None:
        self._context = context
        self._legal: list[str] | None = None
        self.seat = seat
        self.turn = turn
        """Number of earlier asks of this seat in this match, retries included."""
        self.reason = reason
        """Why the last reply was not accepted, if this is a retry."""

    @property
    def game(self) -> Game:
        return self._context.game

    @property
    def key(self) -> str:
        """Identifies the match among those that are being played."""
        return self._context.key

    @property
    def seed(self) -> int:
        """Seed of the players' streams in this match."""
        return self._context.seed

    @property
    def legal_moves(self) -> list[str] | None:
        legal = legal_moves(self)
        return None if legal is None else legal.copy()

    @property
    def legal_actions(self) -> list[int]:
        """Indices of the legal moves in the game's action space, ascending; [] for free text."""
        try:
            return self._context.match.legal_actions(self.seat)
        except Exception as error:  # noqa: BLE001 - an engine may raise anything
            self._context.fail(error)

    @property
    def view(self) -> str:
        """What the seat knows, as a key (`Match.view`): equal for positions that it cannot tell apart."""
        try:
            return self._context.match.view(self.seat)
        except Exception as error:  # noqa: BLE001 - an engine may raise anything
            self._context.fail(error)

    def tensor(self) -> np.ndarray:
        """What the seat sees as float32, shape `game.tensor_shape`."""
        try:
            return self._context.match.tensor(self.seat)
        except Exception as error:  # noqa: BLE001 - an engine may raise anything
            self._context.fail(error)

    def observe(self, style: Style = "full") -> Observation:
        """The position in words, as the seat may see it."""
        try:
            observation = self._context.match.observe(self.seat, style)
        except Exception as error:  # noqa: BLE001 - an engine may raise anything
            self._context.fail(error)
        if self._legal is None and observation.legal_moves is not None:
            self._legal = observation.legal_moves.copy()
        return observation

    @property
    def rng(self) -> random.Random:
        """This seat's own stream in this match."""
        rngs = self._context.rngs
        rng = rngs.get(self.seat)
        if rng is None:
            rng = rngs[self.seat] = stream(self.seed, "seat", self.seat)
        return rng

    @property
    def memory(self) -> dict[str, Any]:
        """The player's own store for this seat, from turn to turn until the end of the match. Its contents must follow
        from this seat's asks and replies, so that the match can be played again."""
        return self._context.memory.setdefault(self.seat, {})

    @property
    def sampler(self) -> Sampler:
        return Sampler(self)


def legal_moves(ask: Ask) -> list[str] | None:
    """Returns the legal moves that the driver accepts. They are listed once for each decision; players get copies, so
    that a change of a copy makes no move legal."""
    if ask._legal is None:
        try:
            ask._legal = ask._context.match.legal_moves(ask.seat)
        except Exception as error:  # noqa: BLE001 - an engine may raise anything
            ask._context.fail(error)
    return ask._legal


class Player(Protocol):
    """Protocol of a player, which decides for seats in any number of matches at once."""

    name: str
    """Name in commands and records: `mcts-100`."""
    reader: Reader
    """Reader of its replies."""
    style: Style
    """Prompt style that it reads."""

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """Returns one reply for each ask, in order."""
        ...


@runtime_checkable
class Concurrent(Protocol):
    """Optional protocol: a player that answers each ask by itself, as a client of a server does. The streaming schedule
    uses `submit` if a player has it; `rounds` uses `act`."""

    def submit(self, ask: Ask) -> Future[Reply]:
        """Begins the reply to one ask. Only the player uses the ask until the future is done."""
        ...


@runtime_checkable
class Distributes(Protocol):
    """Optional protocol: a player that knows the probabilities of its moves, which exact figures need
    (`gymposium.analysis.exact`)."""

    def distributions(self, asks: Sequence[Ask]) -> Sequence[MoveDistribution]:
        """Returns one distribution for each ask, in order. Plays and remembers nothing.

        Raises `GymposiumError` if a distribution depends on more than the ask, such as earlier replies."""
        ...


class Choosy(Protocol):
    """Optional protocol: a player that does not play every game, and refuses before the first move."""

    def check_game(self, game: Game) -> None:
        """Raises `GymposiumError` with the reason if the player does not play this game."""
        ...


class Deterministic(Protocol):
    """Optional protocol: a player that says whether equal asks get equal replies. If all players of a match are
    deterministic and the game has no chance, a second match repeats the first; a tournament then begins with random
    moves."""

    deterministic: bool


def is_deterministic(player: Player) -> bool:
    """True if the player says that it is deterministic."""
    return getattr(player, "deterministic", False) is True


Repeats = Literal["quickly", "slowly", "up_to_rounding"]


class Repeatable(Protocol):
    """Optional protocol: a player whose replies follow from its asks and their streams alone. Asked again along a
    record, it gives the recorded replies, which is how boards are verified (`gymposium leaderboard verify`). Replies of
    other players cannot be verified."""

    repeats: Repeats
    """How a verifier asks the player again. `quickly`: in every match. `slowly`: in a sample of matches, since it
    searches. `up_to_rounding`: on demand, since another machine rounds differently, as with a language model."""


def repeats_of(player: Player) -> Repeats | None:
    """The player's `repeats`; None if it has none."""
    repeats = getattr(player, "repeats", None)
    return repeats if repeats in get_args(Repeats) else None


@runtime_checkable
class TellsTies(Protocol):
    """Optional protocol: a player that repeats `up_to_rounding` and says where rounding alone chose its reply."""

    def is_tie(self, ask: Ask, given: Reply, other: Reply) -> bool:
        """Whether the player, which just gave the reply `given`, would give `other` if it rounded otherwise: to the
        player, both are equally likely."""
        ...


@runtime_checkable
class Identified(Protocol):
    """Optional protocol: a player that names what decides its moves besides its name and code, such as weights."""

    def identity(self) -> Identity:
        """The identity: players with equal identities and equal code play alike."""
        ...


class Remarks(Protocol):
    """Optional protocol: a player that reports how its matches went."""

    def remarks(self) -> Sequence[str]:
        """Return sentences for the user: `3 of 200 moves were random, as no world was found to search.`"""
        ...
