"""The plan of a comparison between players: the seats and seeds of each match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import lcm

from gymposium.driver import MatchJob
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player
from gymposium.streams import stream


def even_share(matches: int, *games: Game) -> int:
    """Round a number of matches up so that the seats of each game share them evenly."""
    round_length = lcm(*(game.seats for game in games))
    return -(-matches // round_length) * round_length


def seated_jobs(
    game: Game,
    players: Sequence[Player],
    matches: int,
    *,
    seed: int,
    swap: bool,
    tag: str,
    on_illegal: FailurePolicy,
    first: int = 0,
) -> Iterator[tuple[MatchJob, list[int]]]:
    """The jobs of a series, each with the index of the player in each seat. With `swap` the players move one seat on
    from match to match, and the matches of one round over the seats share a match seed, so that every player gets every
    deal. The players' own streams differ from match to match. Ids begin with `tag`; `first` is the number of the first
    match in the plan of the run."""
    for number in range(matches):
        job = seated_job(game, players, number, seed=seed, swap=swap, tag=tag, on_illegal=on_illegal, first=first)
        yield job, seats_of(number, game.seats, swap=swap)


def seated_job(
    game: Game,
    players: Sequence[Player],
    number: int,
    *,
    seed: int,
    swap: bool,
    tag: str,
    on_illegal: FailurePolicy,
    first: int = 0,
) -> MatchJob:
    """The job of one match of a series, as `seated_jobs` plans it."""
    match_seed, player_seed = seeds_of(number, game.seats, seed=seed, swap=swap)
    return MatchJob(
        id=f"{tag}-{number}",
        game=game,
        players=[players[index] for index in seats_of(number, game.seats, swap=swap)],
        seed=match_seed,
        player_seed=player_seed,
        on_illegal=on_illegal,
        number=first + number,
    )


def seats_of(number: int, seats: int, *, swap: bool) -> list[int]:
    """The index of the player in each seat of a match."""
    shift = number % seats if swap else 0
    return [(seat - shift) % seats for seat in range(seats)]


def seeds_of(number: int, seats: int, *, seed: int, swap: bool) -> tuple[int, int]:
    """The seed of a match, and the seed of its players' streams."""
    deal = number // seats if swap else number
    return stream(seed, "deal", deal).getrandbits(48), stream(seed, "players", number).getrandbits(48)


@dataclass(frozen=True, slots=True)
class Series:
    """Matches of one game between the same players, as `seated_jobs` plans them: one part of a run's plan."""

    tag: str
    """Beginning of the match ids."""
    game: str
    players: tuple[str, ...]
    """Names of the players, one for each seat of the first match."""
    matches: int
    seed: int
    swap: bool
    on_illegal: str

    def __post_init__(self) -> None:
        """Raises `ValueError` for a series without players or with a negative number of matches."""
        if not self.players or self.matches < 0:
            raise ValueError("a series needs at least one player and 0 or more matches")

    def match(self, number: int) -> dict[str, object]:
        """The fields of the record of this match that are known before it is played."""
        seats = len(self.players)
        match_seed, player_seed = seeds_of(number, seats, seed=self.seed, swap=self.swap)
        return {
            "id": f"{self.tag}-{number}",
            "game": self.game,
            "players": [self.players[index] for index in seats_of(number, seats, swap=self.swap)],
            "seed": match_seed,
            "player_seed": player_seed,
            "on_illegal": self.on_illegal,
        }


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """All matches of a run, numbered from 0 over its series."""

    series: tuple[Series, ...]

    @property
    def count(self) -> int:
        """The number of matches."""
        return sum(series.matches for series in self.series)

    def numbers(self) -> dict[str, int]:
        """The number of each match by its id."""
        ids = (f"{series.tag}-{number}" for series in self.series for number in range(series.matches))
        return {match_id: number for number, match_id in enumerate(ids)}

    def match(self, number: int) -> dict[str, object]:
        """The fields of the record of this match that are known before it is played. Raises `IndexError` for a number
        that is not in the plan."""
        for series, end in zip(self.series, accumulate(series.matches for series in self.series)):
            if 0 <= number < end:
                return series.match(number - end + series.matches)
        raise IndexError(f"the plan has {self.count} matches")
