"""What a site shows of a board's matches: one pass over the records, of which a little is kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gymposium.arena.board import Board
from gymposium.arena.outcomes import MatchOutcome, outcomes_of
from gymposium.arena.results.model import Conduct, Results
from gymposium.arena.results.tally import BoardTally
from gymposium.ending import FAILURES, Ending, EndingKind
from gymposium.errors import BadRecord
from gymposium.reading import KINDS
from gymposium.records import Problem, Record


@dataclass(frozen=True, slots=True, eq=False)
class PlayedMatch:
    """A match that came to an end."""

    id: str
    seed: int
    """Matches of a group share it."""
    players: tuple[str, ...]
    """By seat."""
    returns: tuple[float, ...]
    results: tuple[str, ...]
    ending: Ending
    failed: int
    """Replies that were no legal move."""
    counts: bool
    """False where the same match was played before: it counts once."""

    @property
    def group(self) -> str:
        """The number of its group, as it stands in its id."""
        return self.id.rpartition("/")[2].rpartition("-")[0] or self.id


@dataclass(frozen=True, slots=True, eq=False)
class PlayedLineup:
    """Everything that these players played in a game: one file of matches."""

    game: str
    file: str
    """Below the board's directory."""
    players: tuple[str, ...]
    """In the order of their entries; one where it plays alone."""
    groups: list[list[PlayedMatch]]

    @property
    def matches(self) -> list[PlayedMatch]:
        """All of them."""
        return [match for group in self.groups for match in group]


@dataclass(slots=True)
class Spent:
    """What a player's replies took, as far as they tell it."""

    seconds: float = 0.0
    timed: int = 0
    """Of how many replies the time is known."""
    cost: float = 0.0
    priced: int = 0
    """Of how many replies the cost is known."""

    def add(self, turn: Mapping[str, Any]) -> None:
        """Count one reply."""
        if "seconds" in turn:
            self.seconds += turn["seconds"]
            self.timed += 1
        if "cost" in turn:
            self.cost += turn["cost"]
            self.priced += 1


@dataclass(slots=True)
class Played:
    """All that was played on a board."""

    lineups: list[PlayedLineup]
    """Game by game, in the order of the suite, then of the entries."""
    conduct: Mapping[str, Mapping[str, Conduct]]
    """How each player behaved in each game."""
    spent: Mapping[str, Spent]
    """What each player's replies took."""
    versions: Mapping[str, tuple[str, ...]]
    """Of what played: more than one where matches were added later."""

    def conduct_of(self, player: str) -> Conduct:
        """How a player behaved in all games."""
        return total(games.get(player, _NOTHING) for games in self.conduct.values())

    def check(self, results: Results) -> None:
        """Raises `BadRecord` where results are not those of these matches."""
        wrong = [one.player for one in results.players if one.conduct != self.conduct_of(one.player)]
        if wrong or {game.game for game in results.games} != set(self.conduct):
            raise BadRecord(
                "results.json is not of the matches that stand on the board now. Make it again with:  "
                "gymposium leaderboard rate"
            )


_NOTHING = Conduct(
    matches=0,
    replies=dict.fromkeys(KINDS, 0),
    forfeits=0,
    failures=dict.fromkeys(FAILURES, 0),
    prompt_tokens=0,
    completion_tokens=0,
)


def total(parts: Iterable[Conduct]) -> Conduct:
    """Several games together."""
    figures: Counter[str] = Counter()
    replies: Counter[str] = Counter()
    failures: Counter[EndingKind] = Counter()
    for part in parts:
        replies.update(part.replies)
        failures.update(part.failures)
        figures.update(part.model_dump(exclude={"replies", "failures"}))
    return Conduct(replies=dict(replies), failures=dict(failures), **figures)


@dataclass(slots=True)
class _Gathering:
    """What was read so far."""

    tallies: dict[str, BoardTally]
    files: dict[str, list[PlayedMatch]] = field(default_factory=lambda: defaultdict(list))
    lineup_of: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    spent: dict[str, Spent] = field(default_factory=lambda: defaultdict(Spent))
    versions: set[tuple[str, str]] = field(default_factory=set)
    seen: set[tuple[str, tuple[str, ...], str]] = field(default_factory=set)

    def add(self, file: str, record: Record) -> None:
        self.tallies[record.game].add([record])
        self.versions.update(record.versions.items())
        if record.ending.broke_off:
            return
        for turn in record.turns:
            self.spent[record.players[turn["seat"]]].add(turn)
        self.lineup_of.setdefault(file, (record.game, frozenset(record.players)))
        (outcome,) = outcomes_of([record])
        self.files[file].append(_match(record, self._is_first(outcome)))

    def _is_first(self, outcome: MatchOutcome) -> bool:
        key = (outcome.game, outcome.players, outcome.digest)
        first = key not in self.seen
        self.seen.add(key)
        return first


def read_played(board: Board) -> Played:
    """Read a board's records. Lines that are none are left out; results count them."""
    players = [entry.player for entry in board.entries()]
    games = [game.name for game in board.suite.games]
    found = _Gathering({game: BoardTally() for game in games})
    for path, record in board.records():
        if isinstance(record, Problem):
            continue
        if record.game not in games or not set(record.players) <= set(players):
            raise BadRecord(
                f"{path}: match {record.id} is of {record.game} between {', '.join(record.players)}, which this board "
                f"does not have."
            )
        found.add(path.relative_to(board.path).as_posix(), record)
    lineups = [
        PlayedLineup(game, file, tuple(player for player in players if player in sat), _groups(found.files[file]))
        for file, (game, sat) in found.lineup_of.items()
    ]
    place = {player: number for number, player in enumerate(players)}
    lineups.sort(key=lambda lineup: (games.index(lineup.game), [place[player] for player in lineup.players]))
    return Played(
        lineups,
        {game: {p: tally.player(p).conduct() for p in [*tally.players]} for game, tally in found.tallies.items()},
        {player: found.spent[player] for player in players},
        {name: tuple(sorted({v for n, v in found.versions if n == name})) for name, _ in sorted(found.versions)},
    )


def _groups(matches: Iterable[PlayedMatch]) -> list[list[PlayedMatch]]:
    """Matches on the same deal, in the order in which they stand."""
    groups: dict[int, list[PlayedMatch]] = {}
    for match in matches:
        groups.setdefault(match.seed, []).append(match)
    return [*groups.values()]


def _match(record: Record, counts: bool) -> PlayedMatch:
    return PlayedMatch(
        record.id,
        record.seed,
        tuple(record.players),
        tuple(record.returns),
        tuple(record.results),
        record.ending,
        sum(turn["reading"] != "move" for turn in record.turns),
        counts,
    )
