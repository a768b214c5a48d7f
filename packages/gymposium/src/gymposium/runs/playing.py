"""Many matches between players with scores, for `gymposium run` and `gymposium.play`."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from gymposium.errors import BadOption, GymposiumError, WrongType
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match import SCHEDULES, MatchJob, MatchResult, Schedule, play as play_jobs
from gymposium.match.ending import FAILURES
from gymposium.match.failures import FailurePolicy
from gymposium.match.result import check_integer, check_type
from gymposium.match.seating import MatchPlan, Series, assign_seats
from gymposium.match.watchdog import Watchdog
from gymposium.players.grammar import resolve_player
from gymposium.players.protocol import Player, check_plays, get_repeats
from gymposium.plugins.command_line import command_line
from gymposium.records import Record, RecordLine, recorded
from gymposium.records.scores import Score
from gymposium.runs.executors.cutting import Cut
from gymposium.runs.executors.protocol import Executor
from gymposium.runs.executors.series import SeriesMatches
from gymposium.runs.folder import RunFolder, RunMatches, check_new
from gymposium.util.visible import plural

AT_ONCE = 256
"""Number of concurrent matches."""
GIVE_UP = 8
"""If this many consecutive matches all break off, no further match begins."""
_RESULTS = ("win", "draw", "loss")
_READINGS = ("illegal", "unparsable", "cut off")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings that determine a run's matches."""

    game: str
    players: str
    """Comma-separated player names, one per seat."""
    matches: int
    seed: int
    swap: bool
    on_illegal: str
    watchdog: float | None
    schedule: str


class MatchLog(Protocol):
    """Protocol of a store for a run's matches."""

    finished: set[str]
    """Ids of the finished matches."""

    def write(self, played: MatchResult) -> None:
        """Store a match that ended or broke off."""

    def append(self, lines: Sequence[RecordLine]) -> None:
        """Store the matches that an executor played."""


@dataclass(slots=True)
class BreakOffs:
    """A run's matches without a result."""

    reasons: Counter[str] = field(default_factory=Counter)
    """Number of matches that broke off, by reason."""
    not_begun: int = 0
    """Number of matches not begun, because the last ones all broke off."""

    def add(self, other: BreakOffs) -> None:
        """Add the counts of other matches."""
        self.reasons += other.reasons
        self.not_begun += other.not_begun

    @property
    def in_words(self) -> str:
        """Describe how many matches have no result and why, in sentences, or return ""."""
        if not self.reasons:
            return ""
        [(reason, count), *others] = self.reasons.most_common()
        noun = plural(self.reasons.total(), "match")
        why = f"{count} of them because: {reason}" if others else f"because: {reason}"
        more = f" {self.not_begun} more were not begun, because the last ones all broke off." if self.not_begun else ""
        return f"{self.reasons.total()} {noun} broke off and have no result, {why.rstrip('.')}.{more}"


class Comparison:
    """Matches between players, and each player's score."""

    def __init__(self, settings: RunSettings, given: Sequence[str | Player]) -> None:
        """`given` are the players named in `settings`.

        Raises `GymposiumError` for unplayable settings."""
        if settings.matches < 1:
            raise BadOption(f"n={settings.matches} must be at least 1.")
        self.settings = settings
        self.game = load_game(settings.game)
        self.policy = FailurePolicy.parse(settings.on_illegal)
        self._schedule = read_schedule(settings.schedule)
        self._watchdog = None if settings.watchdog is None else Watchdog(settings.watchdog)
        self.players = make_players(self.game, given)
        for player in dict.fromkeys(self.players):
            check_plays(player, self.game)
        self.scores = [Score() for _ in self.players]
        self.break_offs = BreakOffs()
        # matches with equal ids are equal: the id contains a digest of everything that they depend on
        inputs = f"{self.game.name} {settings.players} {settings.seed} {settings.swap} {self.policy}"
        tag = f"run-{blake2b(inputs.encode(), digest_size=4).hexdigest()}"
        names = tuple(player.name for player in self.players)
        self._series = Series(
            tag, self.game.name, names, settings.matches, settings.seed, settings.swap, str(self.policy)
        )
        self.plan = MatchPlan((self._series,))
        self._numbers = self.plan.numbers()

    def play(
        self, log: MatchLog, executor: Executor | None = None, advance: Callable[[int], object] = lambda count: None
    ) -> None:
        """Play the matches missing in `log`, in this process without an executor.

        `advance` is called with the number of newly played matches."""
        self.break_offs = play_missing(
            SeriesMatches(self._series, tuple(split_names(self.settings.players))),
            self.players,
            log,
            executor,
            at_once=AT_ONCE,
            schedule=self._schedule,
            watchdog=self._watchdog,
            advance=advance,
        )

    def count(self, record: Record) -> None:
        """Add a finished match to the scores."""
        seats = assign_seats(self._numbers[record.id], self.game.seats, swap=self.settings.swap)
        for seat, index in enumerate(seats):
            self.scores[index].add_record(record, self.game, seat)

    @property
    def title(self) -> str:
        """Return a title with the game, number of matches, seed and seat swapping."""
        settings = self.settings
        seats = "" if self.game.seats == 1 else ", seats swapped" if settings.swap else ", seats fixed"
        return f"{self.game.name}: {settings.matches} {plural(settings.matches, 'match')}, seed {settings.seed}{seats}"

    def headings(self) -> list[str]:
        """Return the players' names, numbered if several are the same."""
        names = [player.name for player in self.players]
        return [f"{name} ({n})" if names.count(name) > 1 else name for n, name in enumerate(names, start=1)]

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the lines of a score table: a label, and its value per player."""
        scores = self.scores
        if self.game.seats > 1:
            for result in _RESULTS:
                yield result, [str(score.result_rate(result)) for score in scores]
        yield "mean return", [str(score.mean_return()) for score in scores]
        for kind in _READINGS:
            yield kind, [str(score.reading_rate(kind)) for score in scores]
        if any(score.repaired for score in scores):
            yield "repaired", [str(score.repaired_rate()) for score in scores]
        yield "forfeits", [str(score.forfeits) for score in scores]
        for failure in FAILURES:
            if failure != "no legal move" and any(score.failures[failure] for score in scores):
                yield failure, [str(score.failures[failure]) for score in scores]
        for name in dict.fromkeys(name for score in scores for name in score.reports):
            whole = all(score.reports_all(name) for score in scores if score.reports)
            label = name.replace("_", " ")
            yield label if whole else f"{label}, if ended", [str(score.mean_report(name)) for score in scores]

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain data."""
        return {
            "game": self.game.name,
            "matches": self.scores[0].matches,
            "seed": self.settings.seed,
            "swap": self.settings.swap,
            "on_illegal": str(self.policy),
            "players": [
                {"player": player.name, **score.as_dict()}
                for player, score in zip(self.players, self.scores, strict=True)
            ],
        }


@dataclass(frozen=True, slots=True, repr=False)
class MatchesPlayed:
    """The result of `gymposium.play`. Printing it shows the table of `gymposium run`."""

    comparison: Comparison
    records: list[Record]
    """Match records in plan order. Matches that broke off are missing."""
    folder: Path | None = None
    """The folder of the run; None if nothing was written."""

    @property
    def scores(self) -> list[Score]:
        """Each player's score, in the order the players were given.

        A score has `result_rate("win")`, `mean_return()` and others, each with a 95 % interval."""
        return self.comparison.scores

    @property
    def broken(self) -> Counter[str]:
        """Number of matches that broke off without a result, by reason.

        If the last ones all broke off, the remaining matches were not begun."""
        return self.comparison.break_offs.reasons

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain data, as printed by `gymposium run --json`."""
        return self.comparison.as_dict()

    def __repr__(self) -> str:
        rows = [("", self.comparison.headings()), *self.comparison.rows()]
        lines = [[label, *cells] for label, cells in rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "\n".join([self.comparison.title, *table])


def play(
    game: str,
    players: Sequence[str | Player],
    n: int = 1,
    *,
    seed: int = 0,
    swap: bool = True,
    on_illegal: str = "forfeit",
    watchdog: float | None = None,
    schedule: str = "rounds",
    out: str | Path | None = None,
) -> MatchesPlayed:
    """Play `n` matches between players, one per seat, and return their scores and records::

        gymposium.play("kuhn_poker", ["mcts-100", "random"], n=100)

    This plays the same matches as `gymposium run`. A player is a name from `gymposium list`, or an object that
    implements `Player`. With `swap`, players shift by one seat per match, and the matches of one rotation share cards
    and dice. The same arguments give the same matches. `on_illegal` is the policy for illegal replies: `forfeit`,
    `random`, `retry(n)` or `penalty(x,k)`. With a `watchdog`, a player that does not answer within this number of
    seconds forfeits. `schedule` is as in `gymposium.match.play`.

    Nothing is written unless `out` names a new or empty folder. It then holds the run, as written by `gymposium run
    --out`, for `gymposium view` and `gymposium verify`.

    Raises `GymposiumError` for unplayable arguments, `EngineError` if the game's engine fails, and every exception from
    a player."""
    if isinstance(players, str) or not isinstance(players, Sequence):
        raise WrongType("players", "a list with one player per seat, such as ['mcts-100', 'random']", players)
    check_integer("play: n", n)
    check_integer("play: seed", seed)
    check_type("play: swap", swap, bool, "True or False")
    if out is not None and not isinstance(out, str | Path):
        raise WrongType("play: out", "a path", out)
    names = ",".join(player if isinstance(player, str) else resolve_player(player).name for player in players)
    settings = RunSettings(game, names, n, seed, swap, on_illegal, watchdog, schedule)
    comparison = Comparison(settings, players)
    if out is None:
        kept = _InMemory()
        comparison.play(kept)
        records = kept.in_order()
        folder = None
    else:
        check_new(Path(out))
        folder = RunFolder.create(Path(out), "run", asdict(settings))
        with folder.removed_on_error(), RunMatches(folder.matches, comparison.plan) as log:
            comparison.play(log)
            records = list(log.in_order())
    for record in records:
        comparison.count(record)
    return MatchesPlayed(comparison, records, None if folder is None else folder.path)


@dataclass(slots=True)
class _InMemory:
    """The match store of a run that writes no files."""

    finished: set[str] = field(default_factory=set)
    _records: list[Record] = field(default_factory=list)

    def write(self, played: MatchResult) -> None:
        self.append([RecordLine.from_match(played)])

    def append(self, lines: Sequence[RecordLine]) -> None:
        for line in lines:
            if line.finished:
                self._records.append(Record.parse(line.text))
                self.finished.add(line.id)

    def in_order(self) -> list[Record]:
        return sorted(self._records, key=lambda record: record.number or 0)


def split_names(players: str) -> list[str]:
    """Split the player names in `a,b`."""
    return [name.strip() for name in players.split(",")]


def read_schedule(text: str) -> Schedule:
    """Return the schedule with this name. Raises `BadOption`."""
    for schedule in SCHEDULES:
        if text == schedule:
            return schedule
    raise BadOption(f"Unknown schedule={text!r}. Use {' or '.join(SCHEDULES)}.")


def make_players(game: Game, given: Sequence[str | Player]) -> list[Player]:
    """Return one player per seat. Equal names share one player, which is asked for all its seats together.

    Raises `BadOption` for a wrong number of players, and the errors of `make_player`."""
    names = [player if isinstance(player, str) else resolve_player(player).name for player in given]
    if len(names) != game.seats:
        needed = f"{game.seats} {plural(game.seats, 'player')}"
        raise BadOption(f"players {','.join(names)}: {game.name} needs {needed}, not {len(names)}.")
    if "human" in names:
        raise BadOption(
            f"players {','.join(names)}: a person plays one match at a time. Use:  {command_line('play', game.name)}"
        )
    made = {player: resolve_player(player) for player in dict.fromkeys(p for p in given if isinstance(p, str))}
    return [made[player] if isinstance(player, str) else player for player in given]


def play_missing(
    matches: SeriesMatches,
    players: Sequence[Player],
    log: MatchLog,
    executor: Executor | None,
    *,
    at_once: int,
    schedule: Schedule,
    watchdog: Watchdog | None = None,
    advance: Callable[[int], object],
) -> BreakOffs:
    """Play the matches of a series that `log` lacks, in this process without an executor, and return the break-offs.

    `players` are the series' players in this process, by seat. If the last `GIVE_UP` matches (with an executor, a whole
    batch) broke off, no further match begins, because a server is gone.

    Raises the errors of `gymposium.match.play` in this process, and `GymposiumError` if workers cannot play them."""
    planned = MatchPlan((matches.series,)).numbers()
    missing, count = planned.missing(log.finished), planned.count_missing(log.finished)
    if executor is None:
        begun = _Begun(matches.jobs(players, missing))
        for played in recorded(play_jobs(begun, at_once=at_once, watchdog=watchdog, schedule=schedule), log.write):
            advance(1)
            begun.note(played)
        return BreakOffs(begun.reasons, count - begun.count)
    alike = all(get_repeats(player) in ("quickly", "slowly") for player in players)
    seconds = None if watchdog is None else watchdog.seconds
    cut = Cut(
        matches,
        missing,
        count,
        at_once=at_once,
        watchdog=seconds,
        whole_batches=not alike,
    )
    error, broken, played_there = None, Counter[str](), 0
    for done in executor.run(cut.parts()):
        log.append(done.lines)
        cut.add(done)
        broken.update(done.broken)
        error = error or done.error
        played_there += len(done.lines)
        advance(len(done.lines))
    if error is not None:
        raise GymposiumError(f"A worker could not continue: {error}")
    return BreakOffs(broken, count - played_there)


class _Begun:
    """Jobs begun one after the other, until the last `GIVE_UP` of them have all broken off."""

    def __init__(self, jobs: Iterable[MatchJob]) -> None:
        self._jobs = jobs
        self._last: deque[str] = deque(maxlen=GIVE_UP)
        self._broken: set[str] = set()
        self.count = 0
        """Number of jobs begun."""
        self.reasons: Counter[str] = Counter()
        """Number of matches that broke off, by reason."""

    def __iter__(self) -> Iterator[MatchJob]:
        for job in self._jobs:
            if len(self._last) == GIVE_UP and self._broken.issuperset(self._last):
                return
            self._last.append(job.id)
            self.count += 1
            yield job

    def note(self, played: MatchResult) -> None:
        """Count a match that ended or broke off."""
        if played.ending.broke_off:
            self._broken.add(played.job.id)
            self.reasons[played.ending.detail] += 1
