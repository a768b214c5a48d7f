"""The schedule: a suite and its entries become lineups, and a lineup becomes matches with their seeds.

This module plays no match and reads no file. A match group is one deal, played once with each player in each seat. Its
deal follows only from the seed, the game and the group's number, so all lineups with one seed have the same deals. A
new entry adds lineups with lower-numbered entries and changes no existing lineup.
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
from gymposium_arena.slugs import joint_slug, slug
from gymposium_arena.suite import Suite, SuiteGame, plays_alone

_PLACE = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")
"""The end of a match's id: its group and the rotation of seats."""


@dataclass(frozen=True, slots=True)
class Lineup:
    """Players that meet in a game. Their matches are in one file, in the folder of the last player's entry."""

    suite: Suite
    game: SuiteGame
    players: tuple[str, ...]
    """The players in the order of their entries; one player if it plays alone."""
    slugs: tuple[str, ...]
    """The slugs of their entries."""
    seed: int
    """The seed of the last player's entry."""
    rotations: int
    """Number of matches in a group."""

    @property
    def id(self) -> str:
        """The lineup's id, which begins the ids of its matches: `quick/tic_tac_toe/random--mcts-25`."""
        return f"{self.suite.name}/{slug(self.game.name)}/{joint_slug(self.slugs)}"

    @property
    def matches(self) -> int:
        """Number of matches."""
        return self.game.groups * self.rotations

    def match_id(self, number: int) -> str:
        """Return the id of the match with this number, from 0: the lineup's id, the group and the rotation of seats."""
        group, rotation = divmod(number, self.rotations)
        return f"{self.id}/{group}-{rotation}"

    def numbers(self) -> MatchNumbers:
        """Return each match's number by its id."""
        begin = f"{self.id}/"

        def find(match_id: str) -> int | None:
            place = _PLACE.fullmatch(match_id.removeprefix(begin)) if match_id.startswith(begin) else None
            number = self.matches if place is None else int(place[1]) * self.rotations + int(place[2])
            return number if number < self.matches else None

        return MatchNumbers(self.matches, find, self.match_id)


def lineups(suite: Suite, entries: Sequence[Entry]) -> list[Lineup]:
    """Return all lineups of a board, game by game. Entries without a seed have none yet."""
    planned: list[Lineup] = []
    for game in suite.games:
        loaded = game.load()
        rotations = 1 if plays_alone(loaded) else loaded.seats
        playing = [entry for entry in entries if game.name in entry.games]
        for number, entry in enumerate(playing):
            if entry.seed is None:
                continue
            earlier = [index for index in range(number) if entry.meets(playing[index])]
            for opponents in _opponents(earlier, entry, entry.seed, loaded, game.lineups):
                table = [*(playing[index] for index in opponents), entry]
                texts, slugs = tuple(one.player for one in table), tuple(one.slug for one in table)
                planned.append(Lineup(suite, game, texts, slugs, entry.seed, rotations))
    return planned


def unseated_games(suite: Suite, entries: Sequence[Entry]) -> dict[str, str]:
    """Return the reason for each game of a suite that has no lineup: no entry has enough opponents for its seats."""
    seated = {lineup.game.name for lineup in lineups(suite, entries)}
    missing = {game.name: game.load().seats for game in suite.games if game.name not in seated}
    return {
        name: f"left out {name}: it has {quantity(seats, 'seat')}, but no player has "
        f"{quantity(seats - 1, 'opponent')} in it. Add players with --add PLAYER."
        for name, seats in missing.items()
    }


def _opponents(earlier: Sequence[int], entry: Entry, seed: int, game: Game, most: int) -> list[tuple[int, ...]]:
    """Return the opponents of an entry in each of its lineups, chosen from the `earlier` entries that it meets. It has
    none if it plays alone, each one in a two-seat game, and a balanced sample of at most `most` combinations in a
    larger game."""
    if plays_alone(game):
        return [()]
    if game.seats == 2:
        return [(index,) for index in earlier]
    rng = stream(seed, "lineups", game.name, entry.slug)
    size = game.seats - 1
    seated: Counter[int] = Counter()
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < most:
        # players seated least are called first, in random order
        lots = {index: rng.random() for index in earlier}
        waiting = sorted(earlier, key=lambda index: (seated[index], lots[index]))
        fresh = _fresh(waiting[: 2 * size + 2], size, chosen, seated) or _fresh(waiting, size, chosen, seated)
        if fresh is None:
            break  # every combination is chosen
        chosen.add(fresh)
        seated.update(fresh)
    return sorted(chosen)


def _fresh(
    waiting: Sequence[int], size: int, chosen: set[tuple[int, ...]], seated: Counter[int]
) -> tuple[int, ...] | None:
    """Return the unchosen combination of `size` players that were seated least; None if all are chosen."""
    tables = (tuple(sorted(table)) for table in combinations(waiting, size))
    return min(
        (table for table in tables if table not in chosen),
        key=lambda table: sum(seated[index] for index in table),
        default=None,
    )


def jobs(lineup: Lineup, players: Sequence[Player], numbers: Iterable[int] | None = None) -> Iterator[MatchJob]:
    """Yield a lineup's matches with these numbers, by default all of them, group by group. `players` are the
    lineup's players, in order. Raises `BadOption` for players with other names."""
    job = job_maker(lineup, players)
    return map(job, range(lineup.matches) if numbers is None else numbers)


def job_maker(lineup: Lineup, players: Sequence[Player]) -> Callable[[int], MatchJob]:
    """Return the function that makes a lineup's match from its number. Raises like `jobs`."""
    game = lineup.game.load()
    for text, player in zip(lineup.players, players, strict=True):
        if player.name != text:
            raise BadOption(f"Player {text!r} is not a canonical name. Use {player.name!r}.")
    opening = lineup.game.opening if all(map(is_deterministic, players)) else 0
    policy = FailurePolicy.parse(lineup.suite.on_illegal)

    def seed(name: str, *key: str | int) -> int:
        return stream(lineup.seed, name, lineup.game.name, *key).getrandbits(48)

    def job(number: int) -> MatchJob:
        group, rotation = divmod(number, lineup.rotations)
        return MatchJob(
            id=lineup.match_id(number),
            game=game,
            players=[players[(seat - rotation) % len(players)] for seat in range(game.seats)],
            seed=seed("deal", group),
            player_seed=seed("players", *lineup.players, group, rotation),
            on_illegal=policy,
            opening=opening,
            number=number,
        )

    return job
