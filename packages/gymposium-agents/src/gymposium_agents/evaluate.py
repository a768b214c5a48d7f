"""Evaluation: one player against others, seats swapped, with intervals and records."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gymposium.driver import FORFEIT, MatchJob, Played, play
from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player
from gymposium.records import recorded
from gymposium.scores import Score
from gymposium.seating import seated_jobs


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
    each: Callable[[Played], object] = lambda played: None,
) -> Score:
    """The score of `player` in `matches` against `opponent`, who takes all other seats (None: the game has
    one seat). The player takes the seats in turn; the matches of one round over the seats share their deal.
    `each` is called with every match as it ends; match ids begin with `tag`.

    Raises `BadOption` where the seats cannot share the matches evenly, or the opponent is missing."""
    check_share(matches, game)
    if opponent is None and game.seats > 1:
        raise BadOption(f"{game.name} has {game.seats} seats; name an opponent.")
    players = [player, *[opponent or player] * (game.seats - 1)]
    seat_of: dict[str, int] = {}

    def jobs() -> Iterator[MatchJob]:
        for job, order in seated_jobs(game, players, matches, seed=seed, swap=True, tag=tag, on_illegal=on_illegal):
            seat_of[job.id] = order.index(0)
            yield job

    score = Score()
    for played in recorded(play(jobs(), at_once=at_once), each):
        score.add(played, seat_of.pop(played.job.id))
    return score
