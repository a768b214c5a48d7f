"""Who meets whom, from which seeds: a suite and its entries become lineups, and a lineup becomes matches.

Nothing here plays or looks at a file. A match group is one deal, played once with each player in each seat. Its deal
follows from the seed, the game and the group alone, so whoever plays under one seed gets the same deals. What a new
entry adds are lineups of its own, with entries of smaller number: those that there were stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from gymposium.arena.entries import Entry
from gymposium.arena.slugs import joint_slug, slug
from gymposium.arena.suite import Suite, SuiteGame, plays_alone
from gymposium.driver import MatchJob
from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.players.protocol import Player, is_deterministic
from gymposium.streams import stream


@dataclass(frozen=True, slots=True)
class Lineup:
    """Players who meet in a game, group by group. Its matches stand in one file, with the last player's entry."""

    suite: str
    game: SuiteGame
    players: tuple[str, ...]
    """In the order of their entries; one where it plays alone."""
    slugs: tuple[str, ...]
    """Of their entries."""
    seed: int
    """Of the last player's entry."""
    rotations: int
    """Matches of a group."""
    on_illegal: str

    @property
    def id(self) -> str:
        """`quick/tic_tac_toe/random--mcts-25`, with which the ids of its matches begin."""
        return f"{self.suite}/{slug(self.game.name)}/{joint_slug(self.slugs)}"

    @property
    def matches(self) -> int:
        """How many there are."""
        return self.game.groups * self.rotations


def lineups(suite: Suite, entries: Sequence[Entry]) -> list[Lineup]:
    """All that a board is to hold, game by game. Entries whose seed is not drawn yet are left out."""
    found: list[Lineup] = []
    for game in suite.games:
        loaded = game.load()
        playing = [entry for entry in entries if game.name in entry.games]
        for number, entry in enumerate(playing):
            if entry.seed is None:
                continue
            for table in _tables(playing[:number], entry, loaded, game.lineups):
                rotations = 1 if plays_alone(loaded) else loaded.seats
                texts, slugs = tuple(one.player for one in table), tuple(one.slug for one in table)
                found.append(Lineup(suite.name, game, texts, slugs, entry.seed, rotations, suite.on_illegal))
    return found


def _tables(earlier: Sequence[Entry], entry: Entry, game: Game, most: int) -> Iterator[tuple[Entry, ...]]:
    """Whom the entry meets: alone, each one before it, or of more seats an even sample of all tables."""
    if plays_alone(game):
        yield (entry,)
        return
    others = game.seats - 1
    if others == 1:
        chosen = list(combinations(range(len(earlier)), 1))
    else:
        chosen = _even(len(earlier), others, most, entry, game)
    for table in chosen:
        yield (*(earlier[index] for index in table), entry)


def _even(count: int, size: int, most: int, entry: Entry, game: Game) -> list[tuple[int, ...]]:
    """At most so many different tables of `size` out of `count`, each one at as many as any other, give or take one or
    two: of those who sat least, by lot, the next are called."""
    everyone = range(count)
    rng = stream(entry.seed or 0, "lineups", game.name, entry.slug)
    sat: Counter[int] = Counter()
    found: set[tuple[int, ...]] = set()
    while len(found) < most:
        lots = {index: rng.random() for index in everyone}
        waiting = sorted(everyone, key=lambda index: (sat[index], lots[index]))
        fresh = _fresh(waiting[: 2 * size + 2], size, found, sat) or _fresh(waiting, size, found, sat)
        if fresh is None:
            break  # these are all there are
        found.add(fresh)
        sat.update(fresh)
    return sorted(found)


def _fresh(waiting: Sequence[int], size: int, found: set[tuple[int, ...]], sat: Counter[int]) -> tuple[int, ...] | None:
    """The table of those who waited longest that did not sit together yet."""
    tables = (tuple(sorted(table)) for table in combinations(waiting, size))
    return min(
        (table for table in tables if table not in found),
        key=lambda table: sum(sat[one] for one in table),
        default=None,
    )


def jobs(lineup: Lineup, players: Sequence[Player]) -> list[MatchJob]:
    """The lineup's matches, group by group. `players` are its own, in order."""
    game = lineup.game.load()
    for text, player in zip(lineup.players, players, strict=True):
        if player.name != text:
            raise BadOption(f"The player {text!r} calls itself {player.name!r}: write it so.")
    opening = lineup.game.opening if all(map(is_deterministic, players)) else 0
    policy = FailurePolicy.parse(lineup.on_illegal)
    return [
        MatchJob(
            id=f"{lineup.id}/{group}-{rotation}",
            game=game,
            players=[players[(seat - rotation) % len(players)] for seat in range(game.seats)],
            seed=deal_seed(lineup, group),
            player_seed=player_seed(lineup, group, rotation),
            on_illegal=policy,
            opening=opening,
            number=group * lineup.rotations + rotation,
        )
        for group in range(lineup.game.groups)
        for rotation in range(lineup.rotations)
    ]


def deal_seed(lineup: Lineup, group: int) -> int:
    """The match seed of a group: the same for all who play the game under one seed."""
    return stream(lineup.seed, "deal", lineup.game.name, group).getrandbits(48)


def player_seed(lineup: Lineup, group: int, rotation: int) -> int:
    """The seed of the players' streams, another in every match."""
    return stream(lineup.seed, "players", lineup.game.name, *lineup.players, group, rotation).getrandbits(48)
