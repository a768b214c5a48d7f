"""Series of matches, as executors play them for `run`, `eval` and `synth`."""

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
    """The matches of a series between players that the user named."""

    series: Series
    players: tuple[str, ...]
    """The players as the user wrote them, one for each seat of the first match."""
    first: int = 0
    """The number of the first match in the plan of the run."""

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
