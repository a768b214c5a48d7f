"""A site's data and page paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gymposium.plugins.command_line import format_command_line
from gymposium.plugins.hookspecs import PROJECT
from gymposium.plugins.host import host
from gymposium.plugins.specs import Spec
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry
from gymposium_arena.results import words
from gymposium_arena.results.model import GameResult, Results
from gymposium_arena.site.choice import ExpectedPoints
from gymposium_arena.site.figures import BoardVersion
from gymposium_arena.site.played import BoardMatches, PlayedLineup
from gymposium_arena.slugs import join_slugs, make_slug
from gymposium_viewer.pages import Tab, render_page
from gymposium_viewer.titles import game_title

TABS = (
    Tab("Board", "index.html"),
    Tab("Games", "games.html"),
    Tab("Players", "players.html"),
    Tab("How it was made", "how.html"),
    Tab("Data", "data.html"),
)


@dataclass(frozen=True)
class Site:
    """A board with the data for its pages."""

    board: Board
    results: Results
    entries: Mapping[str, Entry]
    """The entries by player."""
    played: BoardMatches
    expected: ExpectedPoints
    pages: Mapping[str, str]
    """Paths of match pages by match id."""
    versions: Sequence[BoardVersion]
    """Versions of the results, oldest first; the last one is current."""

    @cached_property
    def games(self) -> Mapping[str, GameResult]:
        """The results by game's full name."""
        return {game.game: game for game in self.results.games}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Unique display names by player."""
        return words.make_display_names({player: entry.label for player, entry in self.entries.items()})

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Game titles by full name, with parameters if titles are not unique."""
        shared = Counter(game.title for game in self.results.games)
        return {
            game.game: game.title if shared[game.title] == 1 else game_title(game.game) for game in self.results.games
        }

    @cached_property
    def models(self) -> frozenset[str]:
        """The language models: players whose replies are counted in tokens."""
        return frozenset(one.player for one in self.results.players if one.conduct.completion_tokens)

    @cached_property
    def plugins(self) -> list[str]:
        """The plugin distributions and files that provide the board's games, except gymposium."""
        owners = [host().owner(game.load().spec) for game in self.board.suite.games]
        return sorted(
            {
                f"{one.distribution} {one.version}" if one.distribution else Path(one.source).name
                for one in owners
                if one in host().plugins and one.distribution != PROJECT
            }
        )

    @property
    def commands(self) -> list[str]:
        """The shell commands that reproduce the board with its entered players."""
        begin, name = ["leaderboard"], self.board.suite.name
        entered = [
            [*begin, "run", "--out", name, "--add", entry.player, *self._list_options(entry)]
            for entry in self.entries.values()
            if not entry.own
        ]
        whole = [[*begin, "run", "suite.toml", "--out", name], *entered]
        lines = (*whole, [*begin, "rate", name], [*begin, "build", name])
        return [self.command(*line) for line in lines]

    def command(self, *arguments: str) -> str:
        """Return a gymposium command line that loads the board's plugins."""
        return format_command_line(*arguments, plugins=self._plugin_files)

    @cached_property
    def _plugin_files(self) -> list[Path]:
        """File names of the one-file plugins that provide the board's games and players."""
        forms = host().opponents.values()
        specs: list[Spec] = [game.load().spec for game in self.board.suite.games]
        specs += [form for form in forms if any(form.parse(player) is not None for player in self.entries)]
        owners = [host().owner(spec) for spec in specs]
        return sorted({Path(Path(one.source).name) for one in owners if one.source.endswith(".py")})

    def _list_options(self, entry: Entry) -> list[str]:
        """Return the command-line options to enter a player."""
        every = {game.name for game in self.board.suite.games} == set(entry.games)
        return [
            *([] if every else [part for game in entry.games for part in ("--game", game)]),
            *([] if entry.label == entry.player else ["--label", entry.label]),
            *([] if entry.by is None else ["--by", entry.by]),
            *([] if entry.seed is None else ["--seed", str(entry.seed)]),
        ]

    def render(self, template: str, path: str, **values: Any) -> str:
        """Render the page at this path."""
        return render_page(f"board/{template}", path, TABS, __package__, site=self, words=words, **values)

    def has_figure(self, player: str, game: str | None) -> bool:
        """Return whether any version has a player's figure in a game, or on the joint board without a game."""
        return any(version.find_figure(player, game) for version in self.versions)

    def game_path(self, game: str) -> str:
        """Return the path of a game's page."""
        return f"games/{make_slug(game)}.html"

    def anchor(self, game: str) -> str:
        """Return the id of a game's section on other pages."""
        return make_slug(game)

    def player_path(self, player: str) -> str:
        """Return the path of a player's page."""
        return f"players/{self.entries[player].slug}.html"

    def pairing_path(self, one: str, other: str) -> str:
        """Return the path of two players' page, in either order."""
        pair = sorted((self.entries[one], self.entries[other]), key=lambda entry: entry.number)
        return f"pairings/{join_slugs(entry.slug for entry in pair)}.html"

    def lineup_path(self, lineup: PlayedLineup) -> str:
        """Return the path of the page with a lineup's matches. It is the page of its first two players, or of its only
        player."""
        first, *others = lineup.players
        return self.pairing_path(first, others[0]) if others else self.player_path(first)

    def find_lineups(self, game: str, *players: str) -> Sequence[PlayedLineup]:
        """Return a game's lineups that contain all of these players."""
        return [one for one in self.played.lineups if one.game == game and set(players) <= set(one.players)]
