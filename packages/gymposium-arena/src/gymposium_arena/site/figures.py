"""Rank players by one figure per game, a rating or a mean return, and compare versions of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from gymposium.errors import BadOption
from gymposium_arena.ratings.ranks import Place
from gymposium_arena.results import words
from gymposium_arena.results.file import read_results
from gymposium_arena.results.model import GameResult, Interval, Mean, RatedBoard, Results, Standing


@dataclass(frozen=True, slots=True)
class PlayerFigure:
    """A player's figure in a game, or on the joint board."""

    player: str
    value: float | None
    """The figure's value; None without enough data."""
    text: str
    """The figure with its interval: `412 [380, 450]`."""
    place: Place | None

    @property
    def short(self) -> str:
        """The figure without its interval: `412`."""
        return "?" if self.value is None else self.text.partition(" [")[0]

    @property
    def close_rivals(self) -> int:
        """The number of players that may be as good as this leader, or better."""
        return 0 if self.place is None else self.place.worst - 1


def list_ratings(board: RatedBoard) -> list[PlayerFigure]:
    """Return a board's ratings, from best to worst."""
    return [PlayerFigure(row.player, row.rating, words.format_rating(row), row.place) for row in board.standings]


def rank_figures(game: GameResult) -> list[PlayerFigure]:
    """Return a game's figures from best to worst: ratings, or mean returns if these decide the order."""
    if game.board is not None and not game.by_return:
        return list_ratings(game.board)
    rows: Iterable[Standing | Mean] = game.means or () if game.board is None else game.board.standings
    figures = []
    for row in rows:
        won = get_return(row)
        figures.append(PlayerFigure(row.player, None if won is None else won.value, words.format_mean(won), row.place))
    return figures


def get_return(row: Standing | Mean) -> Interval | None:
    """Return a player's mean return, luck-corrected if known."""
    corrected = row.corrected if isinstance(row, Standing) else None
    return corrected or row.returned


def name_measure(game: GameResult) -> str:
    """Return the name of a game's figures."""
    if game.board is not None and not game.by_return:
        return "rating"
    return "mean return, less luck" if game.luck is not None else "mean return"


@dataclass(frozen=True, slots=True)
class Lead:
    """The leading players in a game, or on the joint board."""

    game: GameResult | None
    """The game's name; None for the joint board."""
    measure: str
    first: PlayerFigure
    model: PlayerFigure | None
    """The best language model, or None."""
    of: int
    """The number of players compared."""

    @classmethod
    def from_figures(
        cls, game: GameResult | None, measure: str, figures: Sequence[PlayerFigure], models: Iterable[str]
    ) -> Lead | None:
        """Return the lead among these figures, or None if no player is ranked. `models` names the language models."""
        ranked = [figure for figure in figures if figure.place is not None]
        if not ranked:
            return None
        model = next((figure for figure in ranked if figure.player in models), None)
        return cls(game, measure, ranked[0], model, len(ranked))


def sort_players(
    players: Iterable[str], joint: Sequence[PlayerFigure], games: Mapping[str, Sequence[PlayerFigure]]
) -> list[str]:
    """Return the players in the order of the joint board. Players that are not on it follow, by the mean share of
    players ranked above them in a game."""
    place = {figure.player: number for number, figure in enumerate(joint)}
    above: dict[str, list[float]] = {}
    for figures in games.values():
        for figure in figures:
            if figure.place is not None and len(figures) > 1:
                above.setdefault(figure.player, []).append((figure.place.rank - 1) / (len(figures) - 1))

    def key(player: str) -> tuple[float, float]:
        return place.get(player, len(place)), fmean(above.get(player, [1.0]))

    return sorted(players, key=key)


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
        """Return a player's figure in a game, or on the joint board without a game. Returns None if the player has no
        figure."""
        return (self.joint if game is None else self.games.get(game, {})).get(player)


def read_history(files: Sequence[Path], results: Results) -> list[BoardVersion]:
    """Return the versions in earlier `results.json` files, named after the files, and then the current one.

    Raises `BadRecord` for an invalid file, and `BadOption` for another suite or duplicate names."""
    versions = []
    for file in files:
        earlier = read_results(file)
        if earlier.suite.name != results.suite.name:
            raise BadOption(
                f"--earlier {file}: its suite is {earlier.suite.name}, not {results.suite.name}. Name results of the "
                "same suite."
            )
        versions.append(BoardVersion.from_results(file.stem, earlier))
    names = [version.name for version in versions] + [NOW]
    if len(set(names)) < len(names):
        raise BadOption(f"--earlier: the file names {', '.join(names)} are not unique. Rename the duplicates.")
    return [*versions, BoardVersion.from_results(NOW, results)]


def _index_by_player(figures: Iterable[PlayerFigure]) -> dict[str, PlayerFigure]:
    return {figure.player: figure for figure in figures}
