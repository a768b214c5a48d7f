"""The state that all stages of a run share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gymposium.driver import MatchResult
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.reading import Reader, reader
from gymposium.records import RecordWriter
from gymposium_agents.settings import PlayerSettings
from gymposium_train.config import TrainConfig
from gymposium_train.directory import RunDirectory
from gymposium_train.live import View
from gymposium_train.parallel.world import ALONE, Processes
from gymposium_train.progress import Interruption
from gymposium_train.run.watching import Watchers


@dataclass(slots=True)
class UnderWay:
    """A run in progress: its directory and config, the view, and the watchers of its metrics."""

    directory: RunDirectory
    config: TrainConfig
    view: View
    interruption: Interruption
    watchers: Watchers
    world: Processes = ALONE
    """The processes of the run."""
    games: tuple[Game, ...] = ()
    _recorded: dict[str, set[str]] = field(default_factory=dict)
    """Ids of the matches in each record file."""

    def __post_init__(self) -> None:
        self.games = tuple(load_game(name) for name in self.config.games)

    @property
    def reader(self) -> Reader:
        return reader(self.config.asking.reply)

    @property
    def on_illegal(self) -> FailurePolicy:
        return FailurePolicy.parse(self.config.asking.on_illegal)

    @property
    def asked(self) -> PlayerSettings:
        """Prompting and sampling of the model in evaluations, which are greedy."""
        return asked(self.config)

    @contextmanager
    def recorder(self, name: str) -> Iterator[Callable[[MatchResult], object]]:
        """Appends matches to one of the run's files, passing over those that stand there already: an interrupted run
        recorded them, or they are played again for what can be learned from them."""
        if name not in self._recorded:
            self._recorded[name] = self.directory.recorded(name)
        known = self._recorded[name]
        with RecordWriter(self.directory.matches(name)) as writer:

            def record(played: MatchResult) -> None:
                if played.job.id not in known:
                    known.add(played.job.id)
                    writer.write(played)

            yield record


def asked(config: TrainConfig, temperature: float = 0.0) -> PlayerSettings:
    """Prompting and sampling of the run's model, as written to `player.json` beside the model."""
    asking = config.asking
    return PlayerSettings(asking.prompt, asking.reply, asking.max_tokens, asking.context, temperature, asking.thinking)
