"""The driver's input and output: the job of a match, its turns, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, SupportsIndex

from gymposium.errors import BadOption, GymposiumError, WorldBroke, WrongType
from gymposium.games.protocol import Event, Game, seat_result
from gymposium.match.ending import Ending, cut_off_last
from gymposium.match.failures import FailurePolicy, forfeit_returns
from gymposium.players.protocol import Player, Usage
from gymposium.replies.lenient import Repair
from gymposium.replies.reading import Kind
from gymposium.util.streams import derived_seed
from gymposium.util.strict_json import is_integer

FORFEIT = FailurePolicy("forfeit")


@dataclass(slots=True)
class MatchJob:
    """A match to be played: its game, players and seeds."""

    id: str
    game: Game
    players: Sequence[Player]
    """The players, one for each seat."""
    seed: int
    """Seed of the match's own chance."""
    player_seed: int | None = None
    """Seed of the players' streams. Players can see it, so it must not be the match's seed, from which the deal
    follows. By default it is derived from the match's seed. Groups for learning share the match seed and differ
    here."""
    on_illegal: FailurePolicy = FORFEIT
    opening: int = 0
    """Random plies with which the match begins, drawn from its seed (`gymposium.match.opening`)."""
    note_pay: bool = False
    """True to note in each turn what the match had paid its seat before (`Turn.before`), for rewards by turn."""
    number: int | None = None
    """The match's place in the plan of its run, from 0; None if it is not planned with others."""

    def __post_init__(self) -> None:
        """Raises `WrongType` for names in place of objects and for seeds that are not integers, and `BadOption` for an
        integer of more than 64 bits, which no reader of records accepts."""
        if not hasattr(self.game, "new"):
            raise WrongType("MatchJob: game", "a game, as load_game('tic_tac_toe') returns one", self.game)
        players: object = self.players
        if isinstance(players, str) or not isinstance(players, Sequence):
            raise WrongType("MatchJob: players", "a sequence with one player for each seat", players)
        for player in self.players:
            if not hasattr(player, "act"):
                raise WrongType("MatchJob: each player", "a player, as make_player('random') returns one", player)
        policy: object = self.on_illegal
        if not isinstance(policy, FailurePolicy):
            raise WrongType("MatchJob: on_illegal", "a policy, as FailurePolicy.parse('random') returns one", policy)
        check_type("MatchJob: id", self.id, str, "text")
        check_integer("MatchJob: seed", self.seed)
        check_integer("MatchJob: player_seed", 0 if self.player_seed is None else self.player_seed)
        check_integer("MatchJob: opening", self.opening)
        if self.opening < 0:
            raise BadOption(f"MatchJob: opening={self.opening}: give 0 or more random plies.")

    @property
    def seed_for_players(self) -> int:
        """The seed of the players' streams: as given, or derived from the match's seed."""
        return derived_seed(self.seed, "players") if self.player_seed is None else self.player_seed


def check_type(what: str, value: object, kind: type, expected: str) -> None:
    """Raise `WrongType` unless an argument is of this type. `what` names it: `play: swap`."""
    if not isinstance(value, kind):
        raise WrongType(what, expected, value)


def check_integer(what: str, value: object) -> None:
    """Raise `WrongType` unless an argument is an integer, Python's or NumPy's and no boolean, and `BadOption` if it has
    more than 64 bits."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise WrongType(what, "an integer", value)
    if not is_integer(index(value)):
        raise BadOption(f"{what}={value}: give an integer of at most 64 bits.")


@dataclass(slots=True)
class Turn:
    """One reply and its reading."""

    seat: int
    reading: Kind
    text: str
    trace: Any = None
    action: int | None = None
    """The reply, if it was an index into the game's action space."""
    usage: Usage | None = None
    """Time, tokens and cost of the reply, if its player reports them."""
    before: float | None = None
    """The return that the match had paid this seat when it was asked; None without `MatchJob.note_pay`."""
    penalty: float = 0.0
    """Penalty for a failed reply under `penalty(x)`, 0 or more. A forfeit is not a penalty."""
    repaired: tuple[Repair, ...] = ()
    """What a lenient reader repaired in the reply."""


@dataclass(slots=True)
class MatchResult:
    """The result of a match that has ended or broken off."""

    job: MatchJob
    events: list[Event]
    turns: list[Turn]
    paid: tuple[float, ...]
    """The utility that the game paid each seat before a forfeit changed it; () if the match broke off."""
    ending: Ending
    penalties: dict[int, float] = field(default_factory=dict)
    """Sum of the penalties for failed replies, by seat; seats without penalties are left out."""
    unanswered: dict[int, Any] = field(default_factory=dict)
    """The trace (`Reply.trace`) of a prompt that left its player no room to reply, by seat."""
    opening: int = 0
    """Number of random plies with which the match began; less than the job's if the next ply would have ended it."""
    reports: tuple[dict[str, float], ...] = ()
    """Values that the match reports of each seat beside its return (`Reports`); () if it reports none."""

    @property
    def utilities(self) -> tuple[float, ...]:
        """The utility of each seat, after a forfeit if there was one; () if the match broke off."""
        seat = self.ending.seat
        return self.paid if seat is None else forfeit_returns(self.job.game, seat, self.paid)

    @property
    def returns(self) -> tuple[float, ...]:
        """Utility less penalties of each seat, which learning and scores count."""
        return tuple(u - self.penalties.get(seat, 0.0) for seat, u in enumerate(self.utilities))

    @property
    def cut_off(self) -> frozenset[int]:
        """The seats whose last reply was cut off."""
        return cut_off_last((turn.seat, turn.reading) for turn in self.turns)

    def result(self, seat: int) -> str:
        """`win`, `draw`, `loss` or `score` by the utilities. Penalties do not change the result."""
        return seat_result(self.utilities, seat, self.ending.seat)


class EngineError(GymposiumError):
    """A game's engine raised during a match, or a tool that the match needs failed (`WorldBroke`). `played` is the
    match so far, as a record writer takes it; the cause is the exception."""

    def __init__(self, played: MatchResult, error: Exception) -> None:
        self.world_broke = isinstance(error, WorldBroke)
        """True if a tool failed, which costs this match alone."""
        self.played = played
        super().__init__(self._told(error))
        self.add_note("The attribute `played` of this error holds the match so far.")
        self.__cause__ = error

    def _told(self, error: Exception) -> str:
        """The message."""
        job, events = self.played.job, self.played.events
        last = f", the last {events[-1].move!r} of seat {events[-1].seat}" if events else ""
        return (
            f"The {'world' if self.world_broke else 'engine'} of {job.game.name} failed in match {job.id} (seed "
            f"{job.seed}) after {len(events)} events{last}: {self.played.ending.detail}."
        )


class GameRefused(EngineError):
    """A player does not play the game of a match, which has not begun; the cause is the player's own error."""

    def _told(self, error: Exception) -> str:
        return str(error)
