"""Compare a board's current results with earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gymposium.errors import BadOption
from gymposium_arena.results.file import read_results
from gymposium_arena.results.model import Results
from gymposium_arena.site.figures import PlayerFigure, list_ratings, rank_figures

NOW = "now"
"""The name of the current results."""


@dataclass(frozen=True, slots=True)
class BoardVersion:
    """A board's figures in one version of its results."""

    name: str
    joint: Mapping[str, PlayerFigure]
    """Ratings on the joint board, by player."""
    games: Mapping[str, Mapping[str, PlayerFigure]]
    """Figures by game and player."""

    @classmethod
    def from_results(cls, name: str, results: Results) -> BoardVersion:
        """Collect the figures in these results."""
        return cls(
            name,
            {} if results.joint is None else _index_by_player(list_ratings(results.joint)),
            {game.game: _index_by_player(rank_figures(game)) for game in results.games},
        )

    def find_figure(self, player: str, game: str | None) -> PlayerFigure | None:
        """Return a player's figure in a game, or on the joint board if `game` is None; None if it has none."""
        return (self.joint if game is None else self.games.get(game, {})).get(player)


def read_history(files: Sequence[Path], results: Results) -> list[BoardVersion]:
    """Return the versions in earlier `results.json` files, named after the files, and then the current one.

    Raises `BadRecord` for an invalid file, and `BadOption` for another suite or duplicate names."""
    versions = []
    for file in files:
        earlier = read_results(file)
        if earlier.suite.name != results.suite.name:
            raise BadOption(f"--earlier {file}: its suite is {earlier.suite.name}, not {results.suite.name}.")
        versions.append(BoardVersion.from_results(file.stem, earlier))
    names = [version.name for version in versions] + [NOW]
    if len(set(names)) < len(names):
        raise BadOption(f"--earlier: the file names {', '.join(names)} are not unique. Rename the duplicates.")
    return [*versions, BoardVersion.from_results(NOW, results)]


def _index_by_player(figures: Iterable[PlayerFigure]) -> dict[str, PlayerFigure]:
    return {figure.player: figure for figure in figures}
