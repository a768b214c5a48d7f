"""A suite: a board's games, players, number of matches and failure policy, in TOML.

    name = "cards"
    players = ["random", "mcts-100"]

    [[games]]
    name = "leduc_poker"
    players = ["random", "mcts-100", "cfr-200"]

A board stores its suite with all defaults written out, so that later defaults do not affect it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, GymposiumError
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game, load_named_game
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import check_named_player, reject_person
from gymposium.util.plain_file import read_plain_text
from gymposium.util.settings import read_settings
from gymposium.util.strict_toml import parse_strict_toml

_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_OPENING = 4


@dataclass(frozen=True, slots=True)
class SuiteGame:
    """A game in a suite, with resolved settings."""

    name: str
    """The game's full name: `goofspiel(num_cards=5)`."""
    groups: int
    """Match groups per lineup."""
    opening: int
    """Number of random opening moves in a group, if all its players are deterministic."""
    lineups: int
    """Maximum number of a player's lineups with earlier entries, in games with more than two seats."""
    players: tuple[str, ...]
    """The suite's own players that play this game."""

    def load(self) -> Game:
        """Load the game."""
        return load_game(self.name)


@dataclass(frozen=True, slots=True)
class Suite:
    """A tournament's definition."""

    name: str
    title: str
    seed: int
    """The seed of the suite's own players."""
    watchdog: float
    """Time limit per answer, in seconds."""
    on_illegal: str
    """The policy for illegal and unparsable replies (`FailurePolicy`), as text."""
    at_once: int
    """Number of simultaneous matches, which bounds a player's batch size."""
    games: tuple[SuiteGame, ...]

    @property
    def players(self) -> tuple[str, ...]:
        """The suite's own players, in order."""
        return tuple(dict.fromkeys(player for game in self.games for player in game.players))

    @property
    def digest(self) -> str:
        """SHA-256 of all settings, shortened to 16 hex digits."""
        return sha256(self.text().encode()).hexdigest()[:16]

    def text(self) -> str:
        """Serialize the suite to TOML with all settings; equal suites have equal texts."""
        head = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "games"}
        tables = [{field.name: getattr(game, field.name) for field in fields(game)} for game in self.games]
        return "\n[[games]]\n".join(
            "".join(f"{k} = {_format_toml(v)}\n" for k, v in one.items()) for one in [head, *tables]
        )

    def describe_rules(self) -> str:
        """Describe the failure policy in sentences."""
        return (
            f"The policy for a reply that is not a legal move is: {self.on_illegal}. A player that raises an error, "
            f"returns something that is not a reply, or does not answer within {self.watchdog:g} s, forfeits that "
            f"match. If a game's engine fails, or a player cannot be asked, for example because its server is gone, "
            f"the match breaks off. It has no result, is counted separately, and is played again by the next run."
        )


@dataclass(frozen=True, slots=True)
class _SuiteTable:
    """The settings at the top of a suite file."""

    name: str
    title: str = ""
    seed: int = 0
    groups: int = 40
    watchdog: float = 60.0
    on_illegal: str = "forfeit"
    opening: int | None = None
    lineups: int = 12
    at_once: int = 64
    players: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _GameTable:
    """The settings under `[[games]]`; None means the suite's setting."""

    name: str
    groups: int | None = None
    opening: int | None = None
    lineups: int | None = None
    players: tuple[str, ...] | None = None


def read_suite(path: Path) -> Suite:
    """Read a suite from a file. Raises `BadOption` with the path and the reason."""
    try:
        return parse_suite(read_plain_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise BadOption(f"Cannot read the suite {path}: {str(error).rstrip('.')}. Name a TOML file.") from error
    except GymposiumError as error:
        raise BadOption(f"Invalid suite {path}: {error}") from error


def parse_suite(text: str) -> Suite:
    """Parse a suite from TOML. Raises `GymposiumError` for unknown settings, games or players, and for values out of
    range."""
    try:
        settings = parse_strict_toml(text)
    except ValueError as error:
        raise BadOption(f"invalid TOML: {error}") from error
    tables = settings.pop("games", None)
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise BadOption("no games. Add at least one [[games]] table.")
    suite = read_settings("the suite", _SuiteTable, settings)
    games = [
        _make_game(suite, read_settings(f"game {number}", _GameTable, table)) for number, table in enumerate(tables, 1)
    ]
    if not _NAME.fullmatch(suite.name):
        raise BadOption(f"name = {suite.name!r}: use lower-case letters, digits and single hyphens.")
    if not suite.watchdog > 0:
        raise BadOption(f"watchdog = {suite.watchdog}: give a number of seconds greater than 0.")
    _check_least(1, "at_once", suite.at_once)
    _check_unique("games", [game.name for game in games])
    policy = str(FailurePolicy.parse(suite.on_illegal))
    return Suite(suite.name, suite.title, suite.seed, suite.watchdog, policy, suite.at_once, tuple(games))


def _make_game(suite: _SuiteTable, table: _GameTable) -> SuiteGame:
    game = load_named_game(table.name)
    players = suite.players if table.players is None else table.players
    _check_unique(f"players of {game.name}", players)
    for player in players:
        reject_person("players", [player], game.name)
        check_named_player(player)
    groups = suite.groups if table.groups is None else table.groups
    lineups = suite.lineups if table.lineups is None else table.lineups
    opening = _choose_opening(game, suite.opening) if table.opening is None else table.opening
    _check_least(1, "groups", groups)
    _check_least(1, "lineups", lineups)
    _check_least(0, "opening", opening)
    if opening and game.spec.free_text:
        raise BadOption(f"{game.name} takes free text, so an opening cannot be drawn. Set opening = 0.")
    return SuiteGame(game.name, groups, opening, lineups, players)


def _choose_opening(game: Game, default: int | None) -> int:
    """Return the length of the random opening, which varies the matches of deterministic players.

    It is 0 if chance already varies the deals or a player plays alone. Its default is at most half of the longest
    match."""
    if game.spec.chance or game.spec.free_text or plays_alone(game):
        return 0
    return min(_OPENING, game.max_decisions // 2) if default is None else default


def plays_alone(game: Game) -> bool:
    """Return whether one player takes all seats: the game has one seat or is cooperative."""
    return game.seats == 1 or game.spec.utility == "cooperative"


def _check_least(least: int, name: str, value: int) -> None:
    if value < least:
        raise BadOption(f"{name} = {value}: give {least} or more.")


def _check_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadOption(f"duplicate in {what}: {name}. Remove it.")
        seen.add(name)


def _format_toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)  # also a TOML string: TOML has all of JSON's escapes
    if isinstance(value, tuple):
        return f"[{', '.join(map(_format_toml, value))}]"
    return repr(value)
