"""Match series for executors, as used by `run`, `eval` and `synth`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gymposium.games.registry import load_game
from gymposium.match import MatchJob
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import Series, seated_job
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player


@dataclass(frozen=True, slots=True)
class SeriesMatches:
    """A series of matches between players named by the user."""

    series: Series
    players: tuple[str, ...]
    """The players as the user wrote them, one per seat in the first match."""
    first: int = 0
    """Number of the first match in the run's plan."""

    @property
    def id(self) -> str:
        return self.series.tag

    def make_player(self, name: str) -> Player:
        return make_player(name)

    def jobs(self, players: Sequence[Player], numbers: Iterable[int]) -> Iterator[MatchJob]:
        series = self.series
        game, policy = load_game(series.game), FailurePolicy.parse(series.on_illegal)
        for number in numbers:
            yield seated_job(
                game,
                players,
                number,
                seed=series.seed,
                swap=series.swap,
                tag=series.tag,
                on_illegal=policy,
                first=self.first,
            )
