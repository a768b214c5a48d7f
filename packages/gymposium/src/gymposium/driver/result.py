"""What the driver is given and what it returns: the job of a match, its turns, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.ending import Ending
from gymposium.errors import GymposiumError, WrongType
from gymposium.failures import FailurePolicy, forfeit_returns
from gymposium.games.protocol import Event, Game, seat_result
from gymposium.players.protocol import Player, Usage
from gymposium.reading import Kind
from gymposium.streams import derived_seed

FORFEIT = FailurePolicy("forfeit")


@dataclass(slots=True)
class MatchJob:
    """A match to be played: who sits where, and from which seeds."""

    id: str
    game: Game
    players: Sequence[Player]
    """One for each seat."""
    seed: int
    """Seed of the match's own chance."""
    player_seed: int | None = None
    """Seed of the players' streams. Players are shown it, so it must not be the match's seed, from which the deal
    follows; where none is given, one is derived from that. Groups for learning share the match seed and differ here."""
    on_illegal: FailurePolicy = FORFEIT
    opening: int = 0
    """Random plies with which the match begins, drawn from its seed (`gymposium.driver.opening`)."""
    note_pay: bool = False
    """Whether each turn is to say what the match had paid its seat before it (`Turn.before`), for rewards by turn."""
    number: int | None = None
    """The match's place in the plan of its run, from 0; None if it is not planned with others."""

    def __post_init__(self) -> None:
        """Raises `WrongType` where names stand in the place of what they name."""
        if not hasattr(self.game, "new"):
            raise WrongType("MatchJob: game", "a game, as load_game('tic_tac_toe') returns one", self.game)
        players: object = self.players
        if isinstance(players, str) or not isinstance(players, Sequence):
            raise WrongType("MatchJob: players", "a sequence with one player for each seat", players)
        for player in self.players:
            if not hasattr(player, "act"):
                raise WrongType("MatchJob: each player", "a player, as make_player('random') returns one", player)

    @property
    def seed_for_players(self) -> int:
        """The seed of the players' streams: as given, or derived from the match's seed."""
        return derived_seed(self.seed, "players") if self.player_seed is None else self.player_seed


@dataclass(slots=True)
class Turn:
    """One reply and what became of it."""

    seat: int
    reading: Kind
    text: str
    trace: Any = None
    action: int | None = None
    """Set where the reply was an index into the game's action space."""
    usage: Usage | None = None
    """What the reply took, where its player says so."""
    before: float | None = None
    """What the match had paid this seat when it was asked, where the job wanted that noted."""
    penalty: float = 0.0
    """What this reply cost, 0 or more: a failed one under `penalty(x)`. A forfeit is no penalty."""


@dataclass(slots=True)
class MatchResult:
    """A finished match."""

    job: MatchJob
    events: list[Event]
    turns: list[Turn]
    paid: tuple[float, ...]
    """What the game itself paid each seat, without regard to a forfeit; () if the match broke off."""
    ending: Ending
    penalties: dict[int, float] = field(default_factory=dict)
    unanswered: dict[int, Any] = field(default_factory=dict)
    """By seat, the trace (`Reply.trace`) of a prompt that left its player no room to reply."""
    opening: int = 0
    """Random plies with which the match began; fewer than the job's where the next would have ended it."""
    reports: tuple[dict[str, float], ...] = ()
    """For each seat what the match itself reports beside the return, where it does (`Reports`)."""

    @property
    def utilities(self) -> tuple[float, ...]:
        """What each seat gets: what the game paid, or what a forfeit makes of it; () if the match broke off."""
        seat = self.ending.seat
        return self.paid if seat is None else forfeit_returns(self.job.game, seat, self.paid)

    @property
    def returns(self) -> tuple[float, ...]:
        """Utilities less penalties: what learning and scores count."""
        return tuple(u - self.penalties.get(seat, 0.0) for seat, u in enumerate(self.utilities))

    def result(self, seat: int) -> str:
        """Win, draw or loss by the game's own utilities: a penalty costs reward, it turns no draw into a loss."""
        return seat_result(self.utilities, seat, self.ending.seat)


class EngineError(GymposiumError):
    """A game's engine raised in the middle of a match. `played` is the match so far, as a record writer takes it;
    the engine's own exception is the cause."""

    def __init__(self, played: MatchResult, error: Exception) -> None:
        events = played.events
        last = f", the last {events[-1].move!r} of seat {events[-1].seat}" if events else ""
        super().__init__(
            f"The engine of {played.job.game.name} failed in match {played.job.id} (seed {played.job.seed}) after "
            f"{len(events)} events{last}: {played.ending.detail}."
        )
        self.add_note("The match so far stands in this error's `played`.")
        self.played = played
        self.__cause__ = error
