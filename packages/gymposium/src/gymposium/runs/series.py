"""Series of matches between the same players, for `run`, `eval` and `synth`.

A series is planned (`gymposium.match.seating`), and its missing matches are played in this process or by an executor.
Its records go to a run's folder (`gymposium.runs.folder`), which passes them on in plan order.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, MatchResult, Schedule, play
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import MatchPlan, Series
from gymposium.match.watchdog import Watchdog
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player, get_repeats
from gymposium.records import record_matches
from gymposium.runs.executors.cutting import PartCutter
from gymposium.runs.executors.protocol import Executor
from gymposium.runs.folder import PlanOrder, RunMatches
from gymposium.util.visible import plural

AT_ONCE = 256
"""Number of concurrent matches."""
GIVE_UP = 8
"""Number of consecutive matches that must all break off before the series stops."""


@dataclass(frozen=True, slots=True)
class SeriesMatches:
    """A series of matches between players named by the user."""

    series: Series
    players: tuple[str, ...]
    """The players as the user wrote them, one for each seat of the first match."""
    first: int = 0
    """Number of the first match in the run's plan."""

    @property
    def id(self) -> str:
        return self.series.tag

    def make_player(self, name: str) -> Player:
        return make_player(name)

    def jobs(self, players: Sequence[Player], numbers: Iterable[int]) -> Iterator[MatchJob]:
        return self.series.jobs(load_game(self.series.game), players, numbers, self.first)


@dataclass(frozen=True, slots=True)
class SeatedSeries:
    """A series of matches, with its players in this process."""

    matches: SeriesMatches
    players: Sequence[Player]
    """The players by seat in the first match."""
    title: str
    """Name of the series for a progress bar."""

    @property
    def plan(self) -> MatchPlan:
        """The plan of this series alone."""
        return MatchPlan((self.matches.series,))


def seat_series(
    tag: str,
    game: Game,
    texts: Iterable[str],
    players: Sequence[Player],
    *,
    matches: int,
    seed: int,
    swap: bool,
    on_illegal: FailurePolicy,
    first: int = 0,
    title: str | None = None,
) -> SeatedSeries:
    """Return a series between these players.

    `texts` are the players as the user wrote them. `first` is the number of the first match in the run's plan. The
    title is the game's name by default."""
    names = tuple(player.name for player in players)
    series = Series(tag, game.name, names, matches, seed, swap, on_illegal)
    return SeatedSeries(SeriesMatches(series, tuple(texts), first), players, title or game.name)


@dataclass(slots=True)
class BreakOffs:
    """Counts of matches without a result."""

    reasons: Counter[str] = field(default_factory=Counter)
    """Number of matches that broke off, by reason."""
    not_begun: int = 0
    """Number of matches that were not started, because the latest ones all broke off."""

    def add(self, other: BreakOffs) -> None:
        """Add the counts from another `BreakOffs`."""
        self.reasons += other.reasons
        self.not_begun += other.not_begun

    @property
    def description(self) -> str:
        """Describe in sentences how many matches have no result and why, or return ""."""
        if not self.reasons:
            return ""
        [(reason, count), *others] = self.reasons.most_common()
        noun = plural(self.reasons.total(), "match")
        why = f"{count} of them because: {reason}" if others else f"because: {reason}"
        more = f" {self.not_begun} more were not begun, because the last ones all broke off." if self.not_begun else ""
        return f"{self.reasons.total()} {noun} broke off and have no result, {why.rstrip('.')}.{more}"


def play_missing(
    seated: SeatedSeries,
    log: PlanOrder | RunMatches,
    executor: Executor | None = None,
    *,
    schedule: Schedule,
    at_once: int = AT_ONCE,
    watchdog: Watchdog | None = None,
    advance: Callable[[int], object] = lambda count: None,
) -> BreakOffs:
    """Play the matches of a series that are missing in `log`, and return the break-offs.

    Without an executor, they are played in this process.

    `advance` is called with the number of newly played matches. If the last `GIVE_UP` matches (with an executor, a
    whole batch) broke off, no further match is started, because a server is probably unreachable.

    Raises the errors of `gymposium.match.play` in this process, and `GymposiumError` if workers cannot play them."""
    matches, players = seated.matches, seated.players
    numbers = seated.plan.numbers()
    missing, count = numbers.find_missing(log.finished), numbers.count_missing(log.finished)
    if executor is None:
        begun = _JobFeed(matches.jobs(players, missing))
        for played in record_matches(play(begun, at_once=at_once, watchdog=watchdog, schedule=schedule), log.write):
            advance(1)
            begun.note(played)
        return BreakOffs(begun.reasons, count - begun.count)
    alike = all(get_repeats(player) in ("quickly", "slowly") for player in players)
    seconds = None if watchdog is None else watchdog.seconds
    cut = PartCutter(matches, missing, count, at_once=at_once, watchdog=seconds, whole_batches=not alike)
    error, broken, played_there = None, Counter[str](), 0
    for done in executor.run(cut.parts()):
        log.append(done.lines)
        cut.add(done)
        broken.update(done.broken)
        error = error or done.error
        played_there += len(done.lines)
        advance(len(done.lines))
    if error is not None:
        raise GymposiumError(f"A worker could not continue: {str(error).rstrip('.')}. Resume the run with --resume.")
    return BreakOffs(broken, count - played_there)


class _JobFeed:
    """An iterator over jobs that stops once the last `GIVE_UP` matches all broke off."""

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
