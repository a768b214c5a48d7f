"""Earlier results of a board beside the present ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gymposium.errors import BadOption
from gymposium_arena.results.file import read_results
from gymposium_arena.results.model import Results
from gymposium_arena.site.figures import PlayerFigure, by_rating, figures_of

NOW = "now"
"""The name of the present results."""


@dataclass(frozen=True, slots=True)
class BoardVersion:
    """The figures of a board at one time."""

    name: str
    joint: Mapping[str, PlayerFigure]
    """Ratings on the joint board, by player."""
    games: Mapping[str, Mapping[str, PlayerFigure]]
    """Figures by game and player."""

    @classmethod
    def of(cls, name: str, results: Results) -> BoardVersion:
        """The figures of these results."""
        return cls(
            name,
            {} if results.joint is None else _by_player(by_rating(results.joint)),
            {game.game: _by_player(figures_of(game)) for game in results.games},
        )

    def of_player(self, player: str, game: str | None) -> PlayerFigure | None:
        """The figure of a player in a game, or (None) on the joint board; None if it has none."""
        return (self.joint if game is None else self.games.get(game, {})).get(player)


def read_history(files: Sequence[Path], results: Results) -> list[BoardVersion]:
    """The versions in earlier `results.json` files, named like the files, and the present one, the oldest first.

    Raises `BadRecord` for a file that cannot be read, and `BadOption` for one of another suite or two of one name."""
    versions = []
    for file in files:
        earlier = read_results(file)
        if earlier.suite.name != results.suite.name:
            raise BadOption(f"--earlier {file}: it is of the suite {earlier.suite.name}, not of {results.suite.name}.")
        versions.append(BoardVersion.of(file.stem, earlier))
    names = [version.name for version in versions] + [NOW]
    if len(set(names)) < len(names):
        raise BadOption(f"--earlier: the files are called {', '.join(names)}, each must have a name of its own.")
    return [*versions, BoardVersion.of(NOW, results)]


def _by_player(figures: Iterable[PlayerFigure]) -> dict[str, PlayerFigure]:
    return {figure.player: figure for figure in figures}
