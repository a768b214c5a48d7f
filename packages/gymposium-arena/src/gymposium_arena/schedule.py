"""Schedule a board's matches: make lineups from a suite and its entries, and matches with seeds from a lineup.

A match group is one deal, played once with each player in each seat. The deal follows from the seed, the game and the
group's number, so all lineups with the same seed share their deals. A new entry adds lineups with earlier entries and
changes no existing lineup.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.match import MatchJob
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import MatchNumbers
from gymposium.players.protocol import Player, is_deterministic
from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_arena.entries import Entry
from gymposium_arena.slugs import join_slugs, make_slug
from gymposium_arena.suite import Suite, SuiteGame, plays_alone

_PLACE = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")
"""The end of a match id: group and seat rotation."""


@dataclass(frozen=True, slots=True)
class Lineup:
    """The players of a series of matches in one game. The matches are in one file, in the last player's folder."""

    suite: Suite
    game: SuiteGame
    players: tuple[str, ...]
    """The players in the order of their entries. A player that plays alone is the only one."""
    slugs: tuple[str, ...]
    """The slugs of the players' entries."""
    seed: int
    """The seed of the last player's entry."""
    rotations: int
    """Number of matches in a group."""

    @property
    def id(self) -> str:
        """The prefix of the lineup's match ids: `quick/tic_tac_toe/random--mcts-25`."""
        return f"{self.suite.name}/{make_slug(self.game.name)}/{join_slugs(self.slugs)}"

    @property
    def matches(self) -> int:
        """Number of matches in the lineup."""
        return self.game.groups * self.rotations

    def match_id(self, number: int) -> str:
        """Return a match id: the lineup's id, the group and the seat rotation. Numbers start at 0."""
        group, rotation = divmod(number, self.rotations)
        return f"{self.id}/{group}-{rotation}"

    def numbers(self) -> MatchNumbers:
        """Return a mapping from match ids to match numbers."""
        begin = f"{self.id}/"

        def find(match_id: str) -> int | None:
            place = _PLACE.fullmatch(match_id.removeprefix(begin)) if match_id.startswith(begin) else None
            number = self.matches if place is None else int(place[1]) * self.rotations + int(place[2])
            return number if number < self.matches else None

        return MatchNumbers(self.matches, find, self.match_id)


def make_lineups(suite: Suite, entries: Sequence[Entry]) -> list[Lineup]:
    """Return a board's lineups, game by game, except those of entries without a seed."""
    planned: list[Lineup] = []
    for game in suite.games:
        loaded = game.load()
        rotations = 1 if plays_alone(loaded) else loaded.seats
        playing = [entry for entry in entries if game.name in entry.games]
        for number, entry in enumerate(playing):
            if entry.seed is None:
                continue
            earlier = [index for index in range(number) if entry.meets(playing[index])]
            for opponents in _choose_opponents(earlier, entry, entry.seed, loaded, game.lineups):
                table = [*(playing[index] for index in opponents), entry]
                texts, slugs = tuple(one.player for one in table), tuple(one.slug for one in table)
                planned.append(Lineup(suite, game, texts, slugs, entry.seed, rotations))
    return planned


def find_unseated_games(suite: Suite, entries: Sequence[Entry]) -> dict[str, str]:
    """Return a warning for each game without a lineup, since no entry has enough opponents for its seats."""
    seated = {lineup.game.name for lineup in make_lineups(suite, entries)}
    missing = {game.name: game.load().seats for game in suite.games if game.name not in seated}
    return {
        name: f"left out {name}: it has {quantity(seats, 'seat')}, but no player has "
        f"{quantity(seats - 1, 'opponent')} in it. Add players with --add PLAYER."
        for name, seats in missing.items()
    }


def _choose_opponents(earlier: Sequence[int], entry: Entry, seed: int, game: Game, most: int) -> list[tuple[int, ...]]:
    """Choose an entry's opponents in each of its lineups, as indices from the `earlier` entries that it meets.

    An entry that plays alone has no opponents. In a two-seat game, it meets each earlier entry. In a larger game, it
    meets a balanced sample of at most `most` combinations."""
    if plays_alone(game):
        return [()]
    if game.seats == 2:
        return [(index,) for index in earlier]
    rng = stream(seed, "lineups", game.name, entry.slug)
    size = game.seats - 1
    seated: Counter[int] = Counter()
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < most:
        # prefer players with the fewest lineups, in random order
        lots = {index: rng.random() for index in earlier}
        waiting = sorted(earlier, key=lambda index: (seated[index], lots[index]))
        fresh = _find_unchosen(waiting[: 2 * size + 2], size, chosen, seated) or _find_unchosen(
            waiting, size, chosen, seated
        )
        if fresh is None:
            break  # every combination is chosen
        chosen.add(fresh)
        seated.update(fresh)
    return sorted(chosen)


def _find_unchosen(
    waiting: Sequence[int], size: int, chosen: set[tuple[int, ...]], seated: Counter[int]
) -> tuple[int, ...] | None:
    """Return the unchosen combination of `size` players with the fewest lineups, or None."""
    tables = (tuple(sorted(table)) for table in combinations(waiting, size))
    return min(
        (table for table in tables if table not in chosen),
        key=lambda table: sum(seated[index] for index in table),
        default=None,
    )


def make_jobs(lineup: Lineup, players: Sequence[Player], numbers: Iterable[int] | None = None) -> Iterator[MatchJob]:
    """Yield a lineup's matches with these numbers, by default all. `players` are the lineup's players in order.

    Raises `BadOption` for players with other names."""
    job = make_job_factory(lineup, players)
    return map(job, range(lineup.matches) if numbers is None else numbers)


def make_job_factory(lineup: Lineup, players: Sequence[Player]) -> Callable[[int], MatchJob]:
    """Return a function that maps a match number to the lineup's match. Raises like `make_jobs`."""
    game = lineup.game.load()
    for text, player in zip(lineup.players, players, strict=True):
        if player.name != text:
            raise BadOption(f"Player {text!r} is not a canonical name. Use {player.name!r}.")
    opening = lineup.game.opening if all(map(is_deterministic, players)) else 0
    policy = FailurePolicy.parse(lineup.suite.on_illegal)

    def derive_seed(name: str, *key: str | int) -> int:
        return stream(lineup.seed, name, lineup.game.name, *key).getrandbits(48)

    def make_job(number: int) -> MatchJob:
        group, rotation = divmod(number, lineup.rotations)
        return MatchJob(
            id=lineup.match_id(number),
            game=game,
            players=[players[(seat - rotation) % len(players)] for seat in range(game.seats)],
            seed=derive_seed("deal", group),
            player_seed=derive_seed("players", *lineup.players, group, rotation),
            on_illegal=policy,
            opening=opening,
            number=number,
        )

    return make_job
