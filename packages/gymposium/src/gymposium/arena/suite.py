"""A suite: which games are played on a board, between whom, how often and by which rules. Declared in TOML.

    name = "cards"
    players = ["random", "mcts-100"]

    [[games]]
    name = "leduc_poker"
    players = ["random", "mcts-100", "cfr-200"]

What a suite leaves out is the default. A board holds its suite resolved, with everything written out, so that what was
played does not depend on what the defaults are one day.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, GymposiumError
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game, load_named_game
from gymposium.players.grammar import check_named_player
from gymposium.settings import read_settings

_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_OPENING = 4


@dataclass(frozen=True, slots=True)
class SuiteGame:
    """One game of a suite, with everything decided."""

    name: str
    """Its full name: `goofspiel(num_cards=5)`."""
    groups: int
    """Match groups for each lineup."""
    opening: int
    """Random plies with which a group begins where all its players draw nothing."""
    lineups: int
    """Where the game has more than two seats: at most so many lineups for each player, with those before it."""
    players: tuple[str, ...]
    """Those of the suite's own players that play it."""

    def load(self) -> Game:
        """The game itself."""
        return load_game(self.name)


@dataclass(frozen=True, slots=True)
class Suite:
    """What a tournament plays."""

    name: str
    title: str
    seed: int
    """Of the suite's own players."""
    watchdog: float
    """Seconds for each answer."""
    on_illegal: str
    """What a reply costs that is no legal move (`FailurePolicy`)."""
    at_once: int
    """Matches side by side: what is asked of a player at once."""
    games: tuple[SuiteGame, ...]

    @property
    def players(self) -> tuple[str, ...]:
        """The suite's own players, in order."""
        return tuple(dict.fromkeys(player for game in self.games for player in game.players))

    @property
    def digest(self) -> str:
        """Of all that the suite says."""
        return sha256(self.text().encode()).hexdigest()[:16]

    def text(self) -> str:
        """The suite as TOML, with nothing left out; equal suites have equal texts."""
        head = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "games"}
        tables = [{field.name: getattr(game, field.name) for field in fields(game)} for game in self.games]
        return "\n[[games]]\n".join("".join(f"{k} = {_toml(v)}\n" for k, v in one.items()) for one in [head, *tables])

    def rules(self) -> str:
        """How failures are scored, in words for whoever reads results."""
        return (
            f"A reply that is no legal move costs: {self.on_illegal}. A player that raises or gives something that is "
            f"no reply, or does not answer within {self.watchdog:g} s, forfeits that match. Where a game's engine "
            f"fails or a player cannot be asked, because its server is gone, say, the match is nobody's loss: it "
            f"breaks off, is counted apart, and is played again by the next run."
        )


@dataclass(frozen=True, slots=True)
class _Whole:
    """What may stand at the top of a file."""

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
class _Table:
    """What may stand under `[[games]]`."""

    name: str
    groups: int | None = None
    opening: int | None = None
    lineups: int | None = None
    players: tuple[str, ...] | None = None


def read_suite(path: Path) -> Suite:
    """The suite in a file. Raises `GymposiumError` with the file and what is wrong in it."""
    try:
        return parse_suite(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadOption(f"The suite {path} cannot be read: {error}") from error
    except GymposiumError as error:
        raise BadOption(f"The suite {path}: {error}") from error


def parse_suite(text: str) -> Suite:
    """The suite that a TOML text declares. Names that nobody knows are refused with the nearest; so are games and
    players that are not there."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadOption(f"not TOML: {error}") from error
    tables = found.pop("games", None)
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise BadOption("name at least one game, each under a line [[games]].")
    whole = read_settings("the suite", _Whole, found)
    games = [_game(whole, read_settings(f"game {number}", _Table, table)) for number, table in enumerate(tables, 1)]
    if not _NAME.fullmatch(whole.name):
        raise BadOption(f"name = {whole.name!r}: write lower-case letters and digits, with single hyphens between.")
    if not whole.watchdog > 0:
        raise BadOption(f"watchdog = {whole.watchdog}: give seconds, more than 0.")
    _at_least(1, "at_once", whole.at_once)
    _no_twins("games", [game.name for game in games])
    policy = str(FailurePolicy.parse(whole.on_illegal))
    return Suite(whole.name, whole.title, whole.seed, whole.watchdog, policy, whole.at_once, tuple(games))


def _game(whole: _Whole, table: _Table) -> SuiteGame:
    loaded = load_named_game(table.name)
    players = whole.players if table.players is None else table.players
    _no_twins(f"players of {loaded.name}", players)
    for player in players:
        if player == "human":
            raise BadOption("a person cannot be asked by a tournament: leave out the player human.")
        check_named_player(player)
    groups = whole.groups if table.groups is None else table.groups
    lineups = whole.lineups if table.lineups is None else table.lineups
    _at_least(1, "groups", groups)
    _at_least(1, "lineups", lineups)
    opening = _opening(loaded, whole.opening) if table.opening is None else table.opening
    _at_least(0, "opening", opening)
    if opening and loaded.spec.free_text:
        raise BadOption(f"{loaded.name} takes free text, so there are no moves to draw an opening from: opening = 0.")
    return SuiteGame(loaded.name, groups, opening, lineups, tuple(players))


def _opening(game: Game, given: int | None) -> int:
    """Where chance makes every deal another there is nothing to add, and alone nobody meets the same opponent twice."""
    spec = game.spec
    if spec.chance or spec.free_text or plays_alone(game):
        return 0
    return _OPENING if given is None else given


def plays_alone(game: Game) -> bool:
    """Whether one player takes all seats: there is one, or all win and lose together."""
    return game.seats == 1 or game.spec.utility == "cooperative"


def _at_least(least: int, name: str, value: int) -> None:
    if value < least:
        raise BadOption(f"{name} = {value}: give {least} or more.")


def _no_twins(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadOption(f"{what}: {name} stands there twice.")
        seen.add(name)


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)  # a TOML string as well: JSON's escapes are among TOML's
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)
