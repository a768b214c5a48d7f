"""Plans for comparing players: the seats and seeds of each match."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate
from math import lcm

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.match import MatchJob
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Player
from gymposium.util.streams import stream
from gymposium.util.strict_json import is_integer
from gymposium.util.visible import quantity


def round_up_matches(matches: int, *games: Game) -> int:
    """Round a number of matches up to a common multiple of the games' seat counts."""
    round_length = lcm(*(game.seats for game in games))
    return -(-matches // round_length) * round_length


def plan_jobs(
    game: Game, players: Sequence[Player], matches: int, *, seed: int, swap: bool, tag: str, on_illegal: FailurePolicy
) -> Iterator[tuple[MatchJob, list[int]]]:
    """Yield the jobs of a new series, each with the player index for each seat."""
    names = tuple(player.name for player in players)
    series = Series(tag, game.name, names, matches, seed, swap, on_illegal)
    for number, job in enumerate(series.jobs(game, players, range(matches))):
        yield job, assign_seats(number, game.seats, swap=swap)


def make_tag(command: str, *inputs: object) -> str:
    """Return the tag of a series.

    `inputs` are everything that the matches depend on. The tag contains their digest, so equal match ids mean equal
    matches."""
    return f"{command}-{blake2b(' '.join(map(str, inputs)).encode(), digest_size=4).hexdigest()}"


def assign_seats(number: int, seats: int, *, swap: bool) -> list[int]:
    """Return the player index for each seat of a match."""
    shift = number % seats if swap else 0
    return [(seat - shift) % seats for seat in range(seats)]


def derive_seeds(number: int, seats: int, *, seed: int, swap: bool) -> tuple[int, int]:
    """Return a match's seed and the seed for its players' streams."""
    deal = number // seats if swap else number
    return stream(seed, "deal", deal).getrandbits(48), stream(seed, "players", number).getrandbits(48)


class MatchNumbers(Mapping[str, int]):
    """A lazy mapping from match ids to match numbers, in order, for plans of any size."""

    def __init__(self, count: int, find: Callable[[str], int | None], name: Callable[[int], str]) -> None:
        """`find` returns a match's number, or None for an unknown id. `name` returns the id for a number."""
        self._count, self._find, self._name = count, find, name

    def __getitem__(self, match_id: str) -> int:
        number = self._find(match_id)
        if number is None or self._name(number) != match_id:  # "m-07" is not the id of match 7
            raise KeyError(match_id)
        return number

    def __iter__(self) -> Iterator[str]:
        return map(self._name, range(self._count))

    def __len__(self) -> int:
        return self._count

    def find_missing(self, finished: Set[str]) -> Iterator[int]:
        """Yield the numbers of unfinished matches, in order."""
        return (number for number in range(self._count) if self._name(number) not in finished)

    def count_missing(self, finished: Set[str]) -> int:
        """Return the number of unfinished matches."""
        return self._count - sum(match_id in self for match_id in finished)


@dataclass(frozen=True, slots=True)
class Series:
    """Matches of one game between the same players: one part of a run's plan.

    With `swap`, players shift by one seat per match, and the matches of one rotation share a match seed. So every
    player plays every deal in every seat. The players' random streams differ between matches."""

    tag: str
    """Prefix of the match ids."""
    game: str
    players: tuple[str, ...]
    """Player names, one per seat of the first match."""
    matches: int
    seed: int
    swap: bool
    on_illegal: FailurePolicy

    def __post_init__(self) -> None:
        """Validate the fields.

        Raises `ValueError` for a series without players or with a negative number of matches, and `BadOption` for a
        seed of more than 64 bits."""
        if not self.players or self.matches < 0:
            raise ValueError(
                f"a series needs at least one player and 0 or more matches, not {len(self.players)} and {self.matches}"
            )
        if not is_integer(self.seed):
            raise BadOption(f"seed={self.seed} is too large. Use an integer of at most 64 bits.")

    def match(self, number: int) -> dict[str, object]:
        """Return the record fields that are known before the match is played."""
        seats = len(self.players)
        match_seed, player_seed = derive_seeds(number, seats, seed=self.seed, swap=self.swap)
        return {
            "id": f"{self.tag}-{number}",
            "game": self.game,
            "players": [self.players[index] for index in assign_seats(number, seats, swap=self.swap)],
            "seed": match_seed,
            "player_seed": player_seed,
            "on_illegal": str(self.on_illegal),
        }

    def jobs(self, game: Game, players: Sequence[Player], numbers: Iterable[int], first: int = 0) -> Iterator[MatchJob]:
        """Yield the jobs with these numbers. `first` is the number of the series' first match in the run's plan."""
        for number in numbers:
            match_seed, player_seed = derive_seeds(number, game.seats, seed=self.seed, swap=self.swap)
            yield MatchJob(
                id=f"{self.tag}-{number}",
                game=game,
                players=[players[index] for index in assign_seats(number, game.seats, swap=self.swap)],
                seed=match_seed,
                player_seed=player_seed,
                on_illegal=self.on_illegal,
                number=first + number,
            )


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """All matches of a run, numbered from 0 across its series."""

    series: tuple[Series, ...]
    _ends: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """For each series, one more than its last match number."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", tuple(accumulate(series.matches for series in self.series)))

    @property
    def count(self) -> int:
        """The number of matches."""
        return self._ends[-1] if self._ends else 0

    def numbers(self) -> MatchNumbers:
        """Return the match numbers by id."""
        ends = accumulate((series.matches for series in self.series), initial=0)
        begins = {series.tag: (begin, series.matches) for series, begin in zip(self.series, ends)}

        def find(match_id: str) -> int | None:
            tag, _, digits = match_id.rpartition("-")
            begin, matches = begins.get(tag, (0, 0))
            number = int(digits) if digits.isdecimal() and len(digits) < 20 else matches
            return begin + number if number < matches else None

        return MatchNumbers(self.count, find, self.match_id)

    def match_id(self, number: int) -> str:
        """Return a match's id. Raises `IndexError` for a number outside the plan."""
        series, inside = self._locate(number)
        return f"{series.tag}-{inside}"

    def match(self, number: int) -> dict[str, object]:
        """Return the record fields that are known before the match is played.

        Raises `IndexError` for a number outside the plan."""
        series, inside = self._locate(number)
        return series.match(inside)

    def _locate(self, number: int) -> tuple[Series, int]:
        """Return a match's series and its number within that series."""
        if not 0 <= number < self.count:
            raise IndexError(
                f"match {number} is not in the plan, which has {quantity(self.count, 'match')}, numbered from 0"
            )
        place = bisect_right(self._ends, number)
        series = self.series[place]
        return series, number - self._ends[place] + series.matches
