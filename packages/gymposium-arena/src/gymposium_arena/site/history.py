"""Earlier results of a board beside the current ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gymposium.errors import BadOption
from gymposium_arena.results.file import read_results
from gymposium_arena.results.model import Results
from gymposium_arena.site.figures import PlayerFigure, by_rating, rank_figures

NOW = "now"
"""The name of the current results."""


@dataclass(frozen=True, slots=True)
class BoardVersion:
    """A board's figures at one time."""

    name: str
    joint: Mapping[str, PlayerFigure]
    """Ratings on the joint board, by player."""
    games: Mapping[str, Mapping[str, PlayerFigure]]
    """Figures by game and player."""

    @classmethod
    def from_results(cls, name: str, results: Results) -> BoardVersion:
        """Return the figures in these results."""
        return cls(
            name,
            {} if results.joint is None else _by_player(by_rating(results.joint)),
            {game.game: _by_player(rank_figures(game)) for game in results.games},
        )

    def find_figure(self, player: str, game: str | None) -> PlayerFigure | None:
        """Return a player's figure in a game, or (None) on the joint board; None if it has none."""
        return (self.joint if game is None else self.games.get(game, {})).get(player)


def read_history(files: Sequence[Path], results: Results) -> list[BoardVersion]:
    """Return the versions in earlier `results.json` files, named after the files, and the current one, oldest first.

    Raises `BadRecord` for a file that cannot be read, and `BadOption` for another suite or duplicate names."""
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


def _by_player(figures: Iterable[PlayerFigure]) -> dict[str, PlayerFigure]:
    return {figure.player: figure for figure in figures}
