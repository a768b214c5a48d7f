"""The protocol for players, which make decisions for seats.

A player receives asks and returns replies, for many matches in one call. An ask shows only what its seat may see;
players have no access to the match. Search gets a `Sampler` of worlds that match the seat's view, never the true match.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, get_args, runtime_checkable

from gymposium.errors import BadOption, GymposiumError, NoSampler
from gymposium.games.protocol import Game, Match, Observation, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.search.viewlog import Item, ViewLog
from gymposium.players.search.worlds import Worlds
from gymposium.plugins.names import parse_name
from gymposium.replies.reading import Reader
from gymposium.util.streams import stream

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np

    from gymposium.games.pictures import Picture
    from gymposium.players.identity import Identity

T = TypeVar("T")

FinishReason = Literal["stop", "length", "context"]


@dataclass(slots=True)
class Usage:
    """The tokens, time and money spent on a reply."""

    prompt_tokens: int | None = None
    """None if not counted."""
    completion_tokens: int | None = None
    seconds: float = 0.0
    """Wall time from ask to reply. For a batch, this is the batch's time divided by the number of replies."""
    cost: float | None = None
    """Cost in the currency of the player's prices; None without prices."""


@dataclass(slots=True)
class Reply:
    """A player's answer to one ask.

    `finish_reason` is `length` if the answer was cut off. It is `context` if the prompt left no space for an answer,
    which ends the match. `trace` is the player's own report on the turn, such as a language model's tokens (with
    `context`, the ids of the prompt). It never reaches another seat. `action` is set if the answer is an index into the
    game's action space. The text is then ignored."""

    text: str
    finish_reason: FinishReason = "stop"
    trace: Any = None
    action: int | None = None
    usage: Usage | None = None


Source = Literal["position", "resample", "views"]
"""Where worlds come from: the position itself (with perfect information), the game's sampler, or the seat's views."""

STEPS_PER_WORLD = 400
"""Maximum steps (matches begun and moves applied) per world, when worlds are found from the seat's views."""


class Sampler:
    """A sampler of worlds that one seat cannot distinguish from the true match.

    Worlds depend only on the seat's observations, its moves, and the random generator. The true match is not
    accessible."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    @property
    def log(self) -> tuple[Item, ...]:
        """The seat's observations and moves so far."""
        return tuple(self._ask._context.log(self._ask.seat))

    def worlds(
        self, count: int, rng: random.Random, steps_per_world: int = STEPS_PER_WORLD
    ) -> tuple[Source, list[Match]]:
        """Return up to `count` worlds where this seat is to move, and their source.

        Fork the worlds before playing in them.

        With perfect information, the only world is the position, with later chance from `rng`. A game's own sampler
        draws `count` worlds. Otherwise worlds are found by following the seat's views, in about `count` times
        `steps_per_world` steps. This may fail. Worlds found are kept and continued at the seat's next decision."""
        context, seat = self._ask._context, self._ask.seat
        if context.game.spec.information == "perfect":
            return "position", [context.match.fork(rng)]
        drawn: list[Match] = []
        try:
            while len(drawn) < count:
                drawn.append(context.match.resample(seat, rng))
        except NoSampler:  # at once: the game has no sampler; later: it found no more worlds
            if not drawn:
                legal = list_legal_moves(self._ask) or ()
                return "views", context.worlds(seat).update(context.log(seat), legal, count, steps_per_world, rng)
        view = context.match.view(seat)
        if any(seat not in world.to_move() or world.view(seat) != view for world in drawn):
            raise NoSampler(
                f"{context.game.name}: resample() returned a match whose view differs for seat {seat}. Return a match "
                "that is consistent with the seat's observations and moves."
            )
        return "resample", drawn


class MatchContext:
    """State shared by all asks in one match: the match, the players' random streams, and the players' memory."""

    __slots__ = ("_logs", "_make_engine_error", "_worlds", "asked", "game", "key", "match", "memory", "rngs", "seed")

    def __init__(
        self, match: Match, key: str, seed: int, make_engine_error: Callable[[Exception], GymposiumError] | None = None
    ) -> None:
        """`make_engine_error` creates the error to raise if the game's engine fails while a player reads the match."""
        self._make_engine_error = make_engine_error
        self.match = match
        self.game: Game = match.game
        self.key = key
        self.seed = seed
        self.rngs: dict[int, random.Random] = {}
        self.asked = [0] * match.game.seats
        self.memory: dict[int, dict[str, Any]] = {}
        # for search; made on first use, and dropped with the match
        self._logs: dict[int, ViewLog] = {}
        self._worlds: dict[int, Worlds] = {}

    def log(self, seat: int) -> list[Item]:
        """Return the seat's observations and moves so far."""
        if seat not in self._logs:
            self._logs[seat] = ViewLog(self.match, seat)
        return self._logs[seat].items()

    def worlds(self, seat: int) -> Worlds:
        """Return the seat's worlds, kept from its last decision."""
        if seat not in self._worlds:
            self._worlds[seat] = Worlds(self.game, seat)
        return self._worlds[seat]

    def look(self, view: Callable[[Match], T]) -> T:
        """Return the result of a player's query of the match.

        If the game's engine fails, raises the error from `make_engine_error`. Gymposium's own errors pass through."""
        try:
            return view(self.match)
        except Exception as error:
            if self._make_engine_error is None or isinstance(error, GymposiumError):
                raise
            raise self._make_engine_error(error) from error

    def ask(self, seat: int, reason: str | None = None) -> Ask:
        """Return the seat's next ask."""
        turn = self.asked[seat]
        self.asked[seat] = turn + 1
        return Ask(self, seat, turn, reason)


class Ask:
    """A request for one seat's decision."""

    __slots__ = ("_context", "_legal", "reason", "seat", "turn")

    def __init__(self, context: MatchContext, seat: int, turn: int, reason: str | None = None) -> None:
        self._context = context
        self._legal: list[str] | None = None
        self.seat = seat
        self.turn = turn
        """Number of the seat's earlier asks in this match, including retries."""
        self.reason = reason
        """Why the last reply was rejected, if this is a retry."""

    @property
    def game(self) -> Game:
        return self._context.game

    @property
    def key(self) -> str:
        """Key of the match, unique among the matches in progress."""
        return self._context.key

    @property
    def seed(self) -> int:
        """Seed for the players' streams in this match."""
        return self._context.seed

    @property
    def legal_moves(self) -> list[str] | None:
        legal = list_legal_moves(self)
        return None if legal is None else legal.copy()

    @property
    def legal_actions(self) -> list[int]:
        """Return the indices of the legal moves in the action space, ascending; [] for free text."""
        return self._context.look(lambda match: match.legal_actions(self.seat))

    @property
    def view(self) -> str:
        """Return the seat's view (`Match.view`), a key that is equal for positions the seat cannot distinguish."""
        return self._context.look(lambda match: match.view(self.seat))

    def tensor(self) -> np.ndarray:
        """Return the seat's observation as float32, with shape `game.tensor_shape`."""
        return self._context.look(lambda match: match.tensor(self.seat))

    def observe(self, style: Style = "full") -> Observation:
        """Return the position as text, showing only what the seat may see."""
        observation = self._context.look(lambda match: match.observe(self.seat, style))
        if self._legal is None and observation.legal_moves is not None:
            self._legal = observation.legal_moves.copy()
        return observation

    def draw_picture(self) -> Picture:
        """Return a picture of the position, showing only what the seat may see. Without one, it shows the text."""
        from gymposium.games.pictures.pixels import draw_position  # imported late, because few players see

        return self._context.look(lambda match: draw_position(match, self.seat))

    @property
    def rng(self) -> random.Random:
        """The seat's random stream in this match."""
        rngs = self._context.rngs
        rng = rngs.get(self.seat)
        if rng is None:
            rng = rngs[self.seat] = stream(self.seed, "seat", self.seat)
        return rng

    @property
    def memory(self) -> dict[str, Any]:
        """The player's store for this seat, kept until the end of the match.

        Its contents must depend only on this seat's asks and replies, so the match can be replayed."""
        return self._context.memory.setdefault(self.seat, {})

    @property
    def sampler(self) -> Sampler:
        return Sampler(self)


def list_legal_moves(ask: Ask) -> list[str] | None:
    """Return the legal moves that the driver accepts, computed once per decision.

    Players get copies, so they cannot change what is legal."""
    if ask._legal is None:
        ask._legal = ask._context.look(lambda match: match.legal_moves(ask.seat))
    return ask._legal


class Player(Protocol):
    """Protocol of a player, which makes decisions for seats in any number of matches at once."""

    name: str
    """Name in commands and records: `mcts-100`."""
    reader: Reader
    """Reader that parses the player's replies."""
    style: Style
    """Style of the player's prompts."""

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """Return one reply per ask, in order."""
        ...


@runtime_checkable
class Concurrent(Protocol):
    """Optional protocol: a player that answers each ask separately, such as a server's client.

    The streaming schedule uses `submit` if available; `rounds` uses `act`."""

    def submit(self, ask: Ask) -> Future[Reply]:
        """Start replying to one ask. Only the player may use the ask until the future is done."""
        ...


@runtime_checkable
class DistributionPlayer(Protocol):
    """Optional protocol: a player that knows its move probabilities, as required for exact figures
    (`gymposium.analysis.exact`)."""

    def distributions(self, asks: Sequence[Ask]) -> Sequence[MoveDistribution]:
        """Return one distribution per ask, in order, without playing or remembering anything.

        Raises `GymposiumError` if a distribution depends on more than the ask, for example on earlier replies."""
        ...


@runtime_checkable
class TeachingPlayer(Protocol):
    """Optional protocol: a player that recommends moves to a learner, other than by the moves it plays
    (`gymposium.players.teaching`). A search, for example, recommends moves in proportion to its visits."""

    def teach(self, asks: Sequence[Ask]) -> Sequence[MoveDistribution]:
        """Return one distribution per ask, in order, for a learner to imitate, without playing or remembering anything.

        All probabilities are 0 if the player has no recommendation."""
        ...


class SelectivePlayer(Protocol):
    """Optional protocol: a player that plays only some games, and rejects others before the first move."""

    def check_game(self, game: Game) -> None:
        """Raise `GymposiumError` with the reason if the player does not play this game."""
        ...


def check_plays(player: Player, game: Game) -> None:
    """Raise `GymposiumError` if the player rejects the game (`SelectivePlayer`)."""
    check = getattr(player, "check_game", None)  # isinstance with a protocol is slow, and this runs for each match
    if check is not None:
        check(game)


def check_only_game(player: str, wanted: str, game: Game) -> None:
    """Raise `BadOption` for any game but `wanted`, whatever its parameters. `player` is the name of the player."""
    if parse_name(game.name)[0] != wanted:
        raise BadOption(f"{player} plays only {wanted}, not {game.name}. Choose another player.")


class SolvingPlayer(SelectivePlayer, Protocol):
    """Optional protocol: a player that solves a game at its first move. Some games are too large."""

    def check_size(self, game: Game, *, teaching: bool = False) -> None:
        """Raise `GymposiumError` if a game that `check_game` accepts is too large, with `teaching` also for a
        recommendation. May take as long as the first move."""
        ...


def check_size(player: Player, game: Game, *, teaching: bool = False) -> None:
    """Raise `GymposiumError` if the game is too large for the player (`SolvingPlayer`)."""
    check = getattr(player, "check_size", None)
    if check is not None:
        check(game, teaching=teaching)


class DeterministicPlayer(Protocol):
    """Optional protocol: a player that says whether equal asks get equal replies.

    If all players in a match are deterministic and the game has no chance, a second match would repeat the first.
    Tournaments therefore add random opening moves."""

    deterministic: bool


def is_deterministic(player: Player) -> bool:
    """Return whether the player says that it is deterministic."""
    return getattr(player, "deterministic", False) is True


Repeats = Literal["quickly", "slowly", "up_to_rounding"]


class RepeatablePlayer(Protocol):
    """Optional protocol: a player whose replies depend only on its asks and their streams.

    In a replay of a record, it gives the recorded replies. `gymposium leaderboard verify` relies on this. Other
    players' replies cannot be verified."""

    repeats: Repeats
    """When a verifier asks the player again.

    - `quickly`: in every match.
    - `slowly`: in a sample of matches, because the player searches.
    - `up_to_rounding`: on demand, because other machines round differently, as with a language model."""


def get_repeats(player: Player) -> Repeats | None:
    """Return the player's `repeats`, or None."""
    repeats = getattr(player, "repeats", None)
    return repeats if repeats in get_args(Repeats) else None


@runtime_checkable
class TieReporter(Protocol):
    """Optional protocol: a player that repeats `up_to_rounding` and can tell when rounding alone decided its reply."""

    def is_tie(self, ask: Ask, given: Reply, other: Reply) -> bool:
        """Return whether different rounding would turn the player's last reply, `given`, into `other`.

        Both are then equally likely to the player."""
        ...


@runtime_checkable
class IdentifiedPlayer(Protocol):
    """Optional protocol: a player that reports what determines its moves besides its code, such as weights."""

    def identity(self) -> Identity:
        """Return the identity. Players with equal identities and code play alike."""
        ...


class RemarkingPlayer(Protocol):
    """Optional protocol: a player with remarks for the user about its matches."""

    def remarks(self) -> Sequence[str]:
        """Return sentences for the user: `3 of 200 moves were random, as no world was found to search.`"""
        ...
