"""What all pages of a site are made from, and where each of them stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gymposium.arena.board import Board
from gymposium.arena.entries import Entry
from gymposium.arena.results import words
from gymposium.arena.results.model import GameResult, Results
from gymposium.arena.site.choice import Expected
from gymposium.arena.site.played import Played, PlayedLineup
from gymposium.arena.slugs import joint_slug, slug
from gymposium.viewer.pages import Tab, render

TABS = (
    Tab("Board", "index.html"),
    Tab("Games", "games.html"),
    Tab("Players", "players.html"),
    Tab("How it was made", "how.html"),
    Tab("Data", "data.html"),
)


@dataclass(frozen=True, slots=True)
class Site:
    """A board with everything that its pages tell of it."""

    board: Board
    results: Results
    entries: Mapping[str, Entry]
    """By player."""
    played: Played
    expected: Expected
    pages: Mapping[str, str]
    """Where matches that were chosen for it have a page of their own, by id."""
    games: Mapping[str, GameResult] = field(init=False)
    """By full name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "games", {game.game: game for game in self.results.games})

    def render(self, template: str, path: str, **values: Any) -> str:
        """The page of this path."""
        return render(f"board/{template}", path, TABS, __package__, site=self, words=words, **values)

    def game_path(self, game: str) -> str:
        """Where the page of a game stands."""
        return f"games/{slug(game)}.html"

    def anchor(self, game: str) -> str:
        """What a game's part of another page is called."""
        return slug(game)

    def player_path(self, player: str) -> str:
        """Where the page of a player stands."""
        return f"players/{self.entries[player].slug}.html"

    def pairing_path(self, one: str, other: str) -> str:
        """Where the page of two players stands, in whichever order they are given."""
        pair = sorted((self.entries[one], self.entries[other]), key=lambda entry: entry.number)
        return f"pairings/{joint_slug(entry.slug for entry in pair)}.html"

    def lineup_path(self, lineup: PlayedLineup) -> str:
        """The page that lists a lineup's matches: of its player where it plays alone, else of its first two."""
        first, *others = lineup.players
        return self.pairing_path(first, others[0]) if others else self.player_path(first)

    def lineups_of(self, game: str, *players: str) -> Sequence[PlayedLineup]:
        """Those of a game in which all these players sit."""
        return [one for one in self.played.lineups if one.game == game and set(players) <= set(one.players)]
