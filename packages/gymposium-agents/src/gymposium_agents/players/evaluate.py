"""Evaluation of one player against others, with swapped seats, intervals and records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.match import FORFEIT, MatchJob, MatchResult, Schedule, play
from gymposium.match.failures import FailurePolicy
from gymposium.match.result import check_integer
from gymposium.match.seating import assign_seats, plan_jobs
from gymposium.players.protocol import Player
from gymposium.records import Record, record_matches
from gymposium.records.scores import Score
from gymposium.util.visible import quantity


@dataclass(slots=True)
class Evaluation:
    """The scores of one player against one opponent."""

    overall: Score
    """The score over all matches."""
    by_seat: list[Score]
    """The scores over the matches with the player in seat 0, 1, …"""
    broken: int = 0
    """Number of matches without a result because a tool failed."""

    @classmethod
    def from_game(cls, game: Game) -> Evaluation:
        """Make an evaluation in `game` without matches."""
        return cls(Score(), [Score() for _ in range(game.seats)])

    def add(self, record: Record, game: Game, seat: int) -> None:
        """Count a match of `game` with the player in `seat`."""
        if record.ending.broke_off:
            self.broken += 1
            return
        self.overall.add_record(record, game, seat)
        self.by_seat[seat].add_record(record, game, seat)

    def as_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain data: the overall score, and each seat's score under `seats`. `broken` is the
        number of matches without a result, if above 0."""
        broken = {"broken": self.broken} if self.broken else {}
        return {**self.overall.as_dict(), "seats": [score.as_dict() for score in self.by_seat], **broken}


def check_share(matches: int, game: Game) -> None:
    """Raise `BadOption` if the seats of `game` cannot share the matches evenly."""
    if matches % game.seats:
        raise BadOption(
            f"{quantity(matches, 'match')} cannot be shared evenly by {game.seats} seats. Use a "
            f"multiple of {game.seats}."
        )


def evaluate_player(
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
    """Play `matches` of `player` against `opponent`, which takes all other seats (None in a single-player game), and
    count them. The player rotates over the seats, and the matches of one rotation share their deal. `each` is called
    with every finished match. Match ids begin with `tag`.

    Raises `BadOption` if the seats cannot share the matches evenly, or the opponent is missing, and `WrongType` for
    numbers that are not integers."""
    jobs = make_match_jobs(player, opponent, game, matches, seed=seed, tag=tag, on_illegal=on_illegal)
    evaluation = Evaluation.from_game(game)
    for played in record_matches(play(jobs, at_once=at_once, schedule=schedule), each):
        assert played.job.number is not None, "plan_jobs numbers its matches"
        evaluation.add(Record.from_match(played), game, find_seat(played.job.number, game))
    return evaluation


def make_match_jobs(
    player: Player,
    opponent: Player | None,
    game: Game,
    matches: int,
    *,
    seed: int,
    tag: str,
    on_illegal: FailurePolicy = FORFEIT,
) -> Iterator[MatchJob]:
    """Yield the matches of an evaluation. Raises `BadOption` like `evaluate`."""
    check_integer("evaluate: matches", matches, least=1)
    check_integer("evaluate: seed", seed)
    check_share(matches, game)
    if opponent is None and game.seats > 1:
        raise BadOption(f"{game.name} has {game.seats} seats. Name an opponent.")
    players = [player, *[opponent or player] * (game.seats - 1)]
    jobs = plan_jobs(game, players, matches, seed=seed, swap=True, tag=tag, on_illegal=on_illegal)
    return (job for job, _ in jobs)


def find_seat(number: int, game: Game) -> int:
    """Return the player's seat in an evaluation's match, by the match's number."""
    return assign_seats(number, game.seats, swap=True).index(0)
