"""Read a board's matches for its site, in one pass over the records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from gymposium.errors import BadRecord
from gymposium.match.ending import Ending
from gymposium.records import Record
from gymposium_arena.board import Board
from gymposium_arena.results.file import rate_command
from gymposium_arena.results.model import Conduct, Results
from gymposium_arena.results.tally import BoardTally


@dataclass(frozen=True, slots=True, eq=False)
class PlayedMatch:
    """A finished match."""

    id: str
    seed: int
    """The deal's seed, shared by all matches in a group."""
    players: tuple[str, ...]
    """The player in each seat."""
    returns: tuple[float, ...]
    results: tuple[str, ...]
    ending: Ending
    counts: bool
    """False for a duplicate of an earlier match."""

    @property
    def group(self) -> str:
        """The number of the match's group, from its id."""
        return self.id.rpartition("/")[2].rpartition("-")[0] or self.id


@dataclass(frozen=True, slots=True, eq=False)
class PlayedLineup:
    """A lineup's finished matches, from one file."""

    game: str
    players: tuple[str, ...]
    """The players in the order of their entries. A player that plays alone is the only one."""
    groups: list[list[PlayedMatch]]

    @property
    def matches(self) -> list[PlayedMatch]:
        """The finished matches of all groups."""
        return [match for group in self.groups for match in group]


@dataclass(slots=True)
class ReplyCosts:
    """Recorded time and cost of a player's replies."""

    seconds: float = 0.0
    timed: int = 0
    """Number of replies with a recorded time."""
    cost: float = 0.0
    priced: int = 0
    """Number of replies with a recorded cost."""

    def add(self, turn: Mapping[str, Any]) -> None:
        """Add a reply."""
        if "seconds" in turn:
            self.seconds += turn["seconds"]
            self.timed += 1
        if "cost" in turn:
            self.cost += turn["cost"]
            self.priced += 1


@dataclass(slots=True)
class BoardMatches:
    """All matches of a board."""

    lineups: list[PlayedLineup]
    """The lineups by game, in suite order, then by players, in entry order."""
    conduct: Mapping[str, Mapping[str, Conduct]]
    """Conduct by game and player."""
    overall: Mapping[str, Conduct]
    """Conduct in all games, by player."""
    spent: Mapping[str, ReplyCosts]
    """Time and cost by player."""
    spent_in: Mapping[str, Mapping[str, ReplyCosts]]
    """Time and cost by game and player."""
    versions: Mapping[str, tuple[str, ...]]
    """Versions of the software that played, by name."""

    def check(self, results: Results, board: Board) -> None:
        """Raise `BadRecord` unless the results belong to these matches."""
        wrong = [one.player for one in results.players if one.conduct != self.overall.get(one.player)]
        if wrong or {game.game for game in results.games} != set(self.conduct):
            raise BadRecord(
                f"results.json does not match the matches now on the board. Recompute it with:  "
                f"{rate_command(board.path)}"
            )


def read_board_matches(board: Board) -> BoardMatches:
    """Read a board's matches. Lines that are not records are skipped."""
    players = [entry.player for entry in board.entries()]
    games = [game.name for game in board.suite.games]
    tally = BoardTally()
    matches: defaultdict[Path, list[PlayedMatch]] = defaultdict(list)
    lineup_of: dict[Path, tuple[str, frozenset[str]]] = {}
    spent: defaultdict[str, ReplyCosts] = defaultdict(ReplyCosts)
    spent_in: defaultdict[str, defaultdict[str, ReplyCosts]] = defaultdict(lambda: defaultdict(ReplyCosts))
    versions: defaultdict[str, set[str]] = defaultdict(set)
    seen: set[tuple[str, tuple[str, ...], str]] = set()
    for file, record in board.records():
        if not isinstance(record, Record):
            continue
        tally.add(record)
        for name, version in record.versions.items():
            versions[name].add(version)
        if record.ending.broke_off:
            continue
        for turn in record.turns:
            player = record.players[turn["seat"]]
            spent[player].add(turn)
            spent_in[record.game][player].add(turn)
        outcome = tally.games[record.game].outcomes[-1]
        key = (outcome.game, outcome.players, outcome.digest)
        match = PlayedMatch(
            record.id,
            record.seed,
            tuple(record.players),
            tuple(record.returns),
            tuple(record.results),
            record.ending,
            counts=key not in seen,
        )
        seen.add(key)
        matches[file].append(match)
        lineup_of.setdefault(file, (record.game, frozenset(record.players)))
    lineups = [
        PlayedLineup(game, tuple(player for player in players if player in seated), _group_by_deal(matches[file]))
        for file, (game, seated) in lineup_of.items()
    ]
    place = {player: number for number, player in enumerate(players)}
    lineups.sort(key=lambda lineup: (games.index(lineup.game), [place[player] for player in lineup.players]))
    return BoardMatches(
        lineups,
        {game: {player: one.to_conduct() for player, one in tally.games[game].players.items()} for game in games},
        {player: tally.players[player].to_conduct() for player in players},
        {player: spent[player] for player in players},
        {game: dict(spent_in[game]) for game in games},
        {name: tuple(sorted(versions[name])) for name in sorted(versions)},
    )


def _group_by_deal(matches: Iterable[PlayedMatch]) -> list[list[PlayedMatch]]:
    """Group matches by deal."""
    groups: defaultdict[int, list[PlayedMatch]] = defaultdict(list)
    for match in matches:
        groups[match.seed].append(match)
    return [*groups.values()]


@dataclass(frozen=True, slots=True)
class SeatLine:
    """A player's results in one game against one opponent from one seat, without duplicates."""

    game: str
    opponent: str
    seat: int
    matches: int
    won: int
    drawn: int
    lost: int
    decided: bool
    """False in games without winners."""
    returned: float
    """The mean return."""


def make_seat_lines(player: str, lineups: Iterable[PlayedLineup]) -> Iterator[SeatLine]:
    """Yield a player's lines by game and opponent in lineup order, then by seat."""
    met: defaultdict[tuple[str, str], defaultdict[int, list[PlayedMatch]]] = defaultdict(lambda: defaultdict(list))
    for lineup in lineups:
        for opponent in lineup.players:
            if opponent == player or player not in lineup.players:
                continue
            for match in lineup.matches:
                if match.counts:
                    met[lineup.game, opponent][match.players.index(player)].append(match)
    for (game, opponent), seats in met.items():
        for seat, matches in sorted(seats.items()):
            results = [match.results[seat] for match in matches]
            won, drawn, lost = (results.count(how) for how in ("win", "draw", "loss"))
            returned = fmean(match.returns[seat] for match in matches)
            decided = won + drawn + lost > 0
            yield SeatLine(game, opponent, seat, len(matches), won, drawn, lost, decided, returned)
