"""Evaluation: one player against others, seats swapped, with intervals and records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gymposium.driver import FORFEIT, MatchJob, MatchResult, Schedule, play
from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player
from gymposium.records import Record, recorded
from gymposium.scores import Score
from gymposium.seating import seated_jobs


@dataclass(slots=True)
class Evaluation:
    """How one player did against one opponent."""

    overall: Score
    by_seat: list[Score]
    """The same matches by the seat that the player had in them."""

    @classmethod
    def of(cls, game: Game) -> Evaluation:
        """Without a match yet."""
        return cls(Score(), [Score() for _ in range(game.seats)])

    def add(self, played: MatchResult, seat: int) -> None:
        """Count a finished match in which the player had `seat`."""
        self.overall.add(played, seat)
        self.by_seat[seat].add(played, seat)

    def add_record(self, record: Record, game: Game, seat: int) -> None:
        """The same of a match of this game that was recorded."""
        self.overall.add_record(record, game, seat)
        self.by_seat[seat].add_record(record, game, seat)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data: the scores overall, and under `seats` those of each seat."""
        return {**self.overall.as_dict(), "seats": [score.as_dict() for score in self.by_seat]}


def check_share(matches: int, game: Game) -> None:
    """Raises `BadOption` where the seats cannot share so many matches evenly."""
    if matches % game.seats:
        raise BadOption(
            f"{matches} matches cannot be shared evenly by {game.seats} seats; take a multiple of {game.seats}."
        )


def evaluate(
    player: Player,
    opponent: Player | None,
    game: Game,
    *,
    matches: int,
    seed: int,
    tag: str,
    on_illegal: FailurePolicy = FORFEIT,
    at_once: int = 512,
    schedule: Schedule = "rounds",
    each: Callable[[MatchResult], object] = lambda played: None,
) -> Evaluation:
    """How `player` does in `matches` against `opponent`, who takes all other seats (None: the game has one
    seat). The player takes the seats in turn; the matches of one round over the seats share their deal.
    `each` is called with every match as it ends; match ids begin with `tag`.

    Raises `BadOption` where the seats cannot share the matches evenly, or the opponent is missing."""
    seat_of: dict[str, int] = {}

    def jobs() -> Iterator[MatchJob]:
        for job, seat in contest(player, opponent, game, matches, seed=seed, tag=tag, on_illegal=on_illegal):
            seat_of[job.id] = seat
            yield job

    evaluation = Evaluation.of(game)
    for played in recorded(play(jobs(), at_once=at_once, schedule=schedule), each):
        evaluation.add(played, seat_of.pop(played.job.id))
    return evaluation


def contest(
    player: Player,
    opponent: Player | None,
    game: Game,
    matches: int,
    *,
    seed: int,
    tag: str,
    on_illegal: FailurePolicy = FORFEIT,
    first: int = 0,
) -> Iterator[tuple[MatchJob, int]]:
    """The matches of an evaluation, each with the seat that the player has in it. `first` is the number of the first
    one in the plan of the run. Raises as `evaluate` does."""
    check_share(matches, game)
    players = contestants(player, opponent, game)
    for job, order in seated_jobs(
        game, players, matches, seed=seed, swap=True, tag=tag, on_illegal=on_illegal, first=first
    ):
        yield job, order.index(0)


def contestants(player: Player, opponent: Player | None, game: Game) -> list[Player]:
    """The players of the first match of an evaluation, by seat. Raises `BadOption` if the opponent is missing."""
    if opponent is None and game.seats > 1:
        raise BadOption(f"{game.name} has {game.seats} seats; name an opponent.")
    return [player, *[opponent or player] * (game.seats - 1)]
