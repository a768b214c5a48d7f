"""The state shared by all stages of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gymposium.games.protocol import Game
from gymposium.match import MatchResult
from gymposium.players.grammar import make_player
from gymposium.players.teaching import CachedTeacher
from gymposium.records import RecordWriter
from gymposium_train.backends.engines import RunEngine
from gymposium_train.backends.protocol import Backend, BackendStart, make_backend
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory
from gymposium_train.learner.parallel.world import ALONE, Processes
from gymposium_train.run.live import ProgressView, StageBar
from gymposium_train.run.watching import RunReporter
from gymposium_train.util.progress import Interruption


@dataclass(slots=True)
class RunContext:
    """A run in progress, as its stages use it: directory, config, view, and receivers of metrics."""

    directory: RunDirectory
    config: TrainConfig
    view: ProgressView
    interruption: Interruption
    watchers: RunReporter
    games: tuple[Game, ...]
    """The games to learn."""
    world: Processes = ALONE
    """The processes of the run."""
    engine: RunEngine = field(init=False)
    """The engine that training and evaluations share."""
    teacher: CachedTeacher | None = field(init=False)
    """The teacher of moves that all stages share, if the run has one."""
    _recorded: dict[str, set[str]] = field(default_factory=dict)
    """Ids of the matches in each record file."""

    def __post_init__(self) -> None:
        self.engine = RunEngine(self.config, self.directory.path / "versions")
        self.teacher = CachedTeacher(make_player(self.config.teacher)) if self.config.teaches_moves else None

    @property
    def start(self) -> BackendStart:
        """The run, as passed to its backend."""
        return BackendStart(config=self.config, directory=self.directory, world=self.world, engine=self.engine)

    @property
    def backend(self) -> Backend:
        """The backend that holds the learner's model."""
        return make_backend(self.start)

    def budget_used(self, began: float) -> float:
        """Return the share of the run's budget used by this process since the CPU time `began`. Returns 0 for a run
        with a fixed number of steps."""
        return 0.0 if self.config.steps is not None else (time.process_time() - began) / self.config.budget

    @contextmanager
    def open_recorder(self, name: str) -> Iterator[Callable[[MatchResult], object]]:
        """Append matches to one of the run's record files. Skips matches that the file already contains, because an
        interrupted run recorded them or because they are replayed for learning."""
        if name not in self._recorded:
            self._recorded[name] = self.directory.recorded_ids(name)
        known = self._recorded[name]
        with RecordWriter(self.directory.matches(name)) as writer:

            def record_match(played: MatchResult) -> None:
                if played.job.id not in known:
                    known.add(played.job.id)
                    writer.write(played)

            yield record_match

    @contextmanager
    def open_stoppable_recorder(
        self, name: str, bar: StageBar | None = None
    ) -> Iterator[Callable[[MatchResult], object]]:
        """Append matches like `open_recorder`, for stages that may stop after any match. Each match advances `bar`."""
        with self.open_recorder(name) as record:

            def each(played: MatchResult) -> None:
                record(played)
                if bar is not None:
                    bar.advance()
                self.interruption.stop_here()

            yield each
