"""The driver's input and output: match jobs, turns and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, SupportsIndex

from gymposium.errors import BadOption, GymposiumError, WorldFailure, WrongType
from gymposium.games.protocol import Event, Game, find_seat_result
from gymposium.match.ending import Ending, find_cut_off_seats
from gymposium.match.failures import FailurePolicy, compute_forfeit_returns
from gymposium.players.protocol import Player, Usage
from gymposium.replies.lenient import Repair
from gymposium.replies.reading import Kind
from gymposium.util.streams import derive_seed
from gymposium.util.strict_json import is_integer
from gymposium.util.visible import quantity

FORFEIT = FailurePolicy("forfeit")


@dataclass(slots=True)
class MatchJob:
    """A match to play: its game, players and seeds."""

    id: str
    game: Game
    players: Sequence[Player]
    """One player per seat."""
    seed: int
    """Seed for the match's chance."""
    player_seed: int | None = None
    """Seed for the players' random streams, by default derived from the match seed.

    Players can see it, so it must differ from the match seed, which determines the deal. Matches in a training group
    share the match seed and differ in this one."""
    on_illegal: FailurePolicy = FORFEIT
    opening: int = 0
    """Number of random plies in the opening, drawn from the match's seed (`gymposium.match.opening`)."""
    store_returns: bool = False
    """True to store the seat's return before each turn (`Turn.before`), for per-turn rewards."""
    number: int | None = None
    """The match's index in its run's plan, from 0; None for a single match."""

    def __post_init__(self) -> None:
        """Validate the fields.

        Raises `WrongType` for names instead of objects and for seeds that are not integers. Raises `BadOption` for an
        integer of more than 64 bits, because record readers reject it."""
        if not hasattr(self.game, "new"):
            raise WrongType("MatchJob: game", "a game, such as load_game('tic_tac_toe')", self.game)
        players: object = self.players
        if isinstance(players, str) or not isinstance(players, Sequence):
            raise WrongType("MatchJob: players", "a sequence with one player per seat", players)
        for player in self.players:
            if not hasattr(player, "act"):
                raise WrongType("MatchJob: each player", "a player, such as make_player('random')", player)
        example = "a policy, such as FailurePolicy.parse('random')"
        check_type("MatchJob: on_illegal", self.on_illegal, FailurePolicy, example)
        check_type("MatchJob: id", self.id, str, "text")
        check_integer("MatchJob: seed", self.seed)
        check_integer("MatchJob: player_seed", 0 if self.player_seed is None else self.player_seed)
        check_integer("MatchJob: opening", self.opening, least=0)

    @property
    def seed_for_players(self) -> int:
        """Seed for the players' streams: `player_seed`, or a seed derived from the match seed."""
        return derive_seed(self.seed, "players") if self.player_seed is None else self.player_seed


def check_type(what: str, value: object, kind: type, expected: str) -> None:
    """Raise `WrongType` unless an argument is of this type. `what` names the argument: `play: swap`."""
    if not isinstance(value, kind):
        raise WrongType(what, expected, value)


def check_integer(what: str, value: object, *, least: int | None = None) -> None:
    """Raise `WrongType` unless an argument is a Python or NumPy integer and not a boolean.

    Raises `BadOption` if it has more than 64 bits or is below `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, SupportsIndex)):  # the check of a protocol is slow
        raise WrongType(what, "an integer", value)
    if not is_integer(index(value)):
        raise BadOption(f"{what}={value}: give an integer of at most 64 bits.")
    if least is not None and index(value) < least:
        raise BadOption(f"{what}={value} must be at least {least}.")


@dataclass(slots=True)
class Turn:
    """One reply, with its reading."""

    seat: int
    reading: Kind
    text: str
    trace: Any = None
    action: int | None = None
    """The reply, if it was an index into the game's action space."""
    usage: Usage | None = None
    """The reply's time, tokens and cost, if its player reports them."""
    before: float | None = None
    """The seat's return when it was asked; None without `MatchJob.store_returns`."""
    penalty: float = 0.0
    """Penalty for a failed reply under `penalty(x)`, 0 or more. Forfeits are not penalties."""
    repaired: tuple[Repair, ...] = ()
    """Repairs that a lenient reader made to the reply."""


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The result of a match that ended or broke off."""

    job: MatchJob
    events: list[Event]
    turns: list[Turn]
    paid: tuple[float, ...]
    """Each seat's utility from the game, before any forfeit; () if the match broke off."""
    ending: Ending
    penalties: dict[int, float] = field(default_factory=dict)
    """Total penalty for failed replies, by seat. Seats without penalties are omitted."""
    unanswered: dict[int, Any] = field(default_factory=dict)
    """For each seat whose prompt left no space for a reply, the player's trace (`Reply.trace`)."""
    opening: int = 0
    """Number of random plies in the opening.

    It is less than the job's `opening` if the next ply would have ended the match."""
    reports: tuple[dict[str, float], ...] = ()
    """Extra figures that the match reports per seat (`Reports`), or ()."""

    @property
    def utilities(self) -> tuple[float, ...]:
        """Each seat's utility, after any forfeit; () if the match broke off."""
        seat = self.ending.seat
        return self.paid if seat is None else compute_forfeit_returns(self.job.game, seat, self.paid)

    @property
    def returns(self) -> tuple[float, ...]:
        """Each seat's utility minus penalties, used for learning and scores."""
        return tuple(u - self.penalties.get(seat, 0.0) for seat, u in enumerate(self.utilities))

    @property
    def cut_off(self) -> frozenset[int]:
        """The seats with a cut-off last reply."""
        return find_cut_off_seats((turn.seat, turn.reading) for turn in self.turns)

    def result(self, seat: int) -> str:
        """Return the seat's `win`, `draw`, `loss` or `score`, based on the utilities. Penalties do not change it."""
        return find_seat_result(self.utilities, seat, self.ending.seat)


class EngineError(GymposiumError):
    """An exception from a game's engine during a match, or a failed tool (`WorldFailure`).

    `played` is the match so far, ready for a record writer. The original exception is the cause (`__cause__`)."""

    def __init__(self, played: MatchResult, error: Exception) -> None:
        self.is_world_failure = isinstance(error, WorldFailure)
        """True if a tool failed, which affects only this match."""
        self.played = played
        super().__init__(self._format_message(error))
        self.add_note("The attribute `played` of this error holds the match so far.")
        self.__cause__ = error

    def _format_message(self, error: Exception) -> str:
        """Return the message."""
        job, events = self.played.job, self.played.events
        last = f", the last {events[-1].move!r} of seat {events[-1].seat}" if events else ""
        return (
            f"The {'world' if self.is_world_failure else 'engine'} of {job.game.name} failed in match {job.id} (seed "
            f"{job.seed}) after {quantity(len(events), 'event')}{last}: {self.played.ending.detail}."
        )


class GameRefused(EngineError):
    """A player's rejection of a game, before its match begins. The player's error is the cause (`__cause__`)."""

    def _format_message(self, error: Exception) -> str:
        return str(error)
