"""The games of an environment server, and the opponents that clients may choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self, TypeVar

from gymposium.envs.learner import LearnerOptions
from gymposium.errors import BadOption, UnknownName
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match.failures import FailurePolicy
from gymposium.match.watchdog import Watchdog
from gymposium.players.asking import blame_errors
from gymposium.players.grammar import make_player, reject_person
from gymposium.players.protocol import Ask, Concurrent, Player, Reply

T = TypeVar("T")

OPTIONS = ("game", "opponent", "prompt", "reply", "seat")
"""Options that a client may set for a match, in addition to `seed` and `episode_id`."""
WATCHDOG = 300.0
"""Time limit in seconds for an opponent's answer. It is long enough for a language model on a slow machine."""


class SharedPlayer:
    """A player shared by many matches in separate threads.

    Only one thread at a time calls the player. A player that answers each ask separately (`Concurrent`) may have asks
    from many matches in progress."""

    def __init__(self, player: Player, seconds: float = WATCHDOG) -> None:
        """`seconds` is the time limit per answer."""
        self.name, self.reader, self.style = player.name, player.reader, player.style
        self._player, self._lock, self._watchdog = player, Lock(), Watchdog(seconds)

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """Return the player's replies. Raises `TimeoutError`, and any error from the player."""
        player = self._player
        if isinstance(player, Concurrent):
            with blame_errors(player):
                with self._lock:
                    futures = [player.submit(ask) for ask in asks]
                return [future.result(self._watchdog.seconds) for future in futures]
        with self._lock:
            replies = self._watchdog.act(player, asks)
        if replies is None:
            raise TimeoutError(f"{self.name} did not answer within {self._watchdog.seconds:g} seconds")
        return replies


@dataclass(frozen=True)
class EnvOffer:
    """A server's games and opponents. The first game and the first opponent are the defaults."""

    games: Mapping[str, Game]
    """Games by the names that clients use."""
    opponents: Mapping[str, Player]
    on_illegal: FailurePolicy

    @classmethod
    def from_names(
        cls, games: Sequence[str], opponents: Sequence[str] = ("random",), on_illegal: str = "forfeit"
    ) -> Self:
        """Build an offer from these names. Clients may call a game with parameters by its given name or its full name.

        Raises `BadOption`, `UnknownName` and the errors of `load_game` and `make_player`."""
        loaded = {name: load_game(name) for name in games}
        if not loaded:
            raise BadOption("No game given. Name at least one:  gymposium serve-env tic_tac_toe")
        reject_person("--opponent", opponents, next(iter(loaded)))
        players = {name: SharedPlayer(make_player(name)) for name in dict.fromkeys(opponents or ("random",))}
        named = {**loaded, **{game.name: game for game in loaded.values()}}
        return cls(named, players, FailurePolicy.parse(on_illegal))

    def reject_unused_opponents(self, given: Sequence[str]) -> None:
        """Raise `BadOption` if the user gave opponents, and no game has a seat for them."""
        if given and all(game.seats == 1 for game in self.games.values()):
            names = ", ".join(dict.fromkeys(game.name for game in self.games.values()))
            raise BadOption(f"--opponent {given[0]} has no effect: each game has one seat ({names}). Remove it.")

    @property
    def first(self) -> str:
        """Name of the default game."""
        return next(iter(self.games))

    def game(self, name: object) -> Game:
        """Return the game with this name. Raises `UnknownName` if it is not offered."""
        return _find_offered("game", name, self.games)

    def choose_options(self, game: str, given: dict[str, Any]) -> LearnerOptions:
        """Return the options for a match of this game, unless the client chooses another game.

        `given` are the client's options from `OPTIONS`, except `seat`. Raises `GymposiumError` for an invalid
        option."""
        played = self.game(given.pop("game", game))
        opponents = self._choose_opponents(given.pop("opponent", next(iter(self.opponents))), played.seats - 1)
        for name, value in given.items():
            if not isinstance(value, str):
                raise BadOption(f"{name}={str(value)[:80]!r} must be a string.")
        return LearnerOptions(played, opponent=opponents, on_illegal=self.on_illegal, **given)

    def _choose_opponents(self, names: object, count: int) -> list[Player]:
        if isinstance(names, list):
            return [_find_offered("opponent", name, self.opponents) for name in names]
        return [_find_offered("opponent", names, self.opponents)] * count


def _find_offered(kind: str, name: object, offered: Mapping[str, T]) -> T:
    if isinstance(name, str) and name in offered:
        return offered[name]
    raise UnknownName(f"{kind} on this server", str(name)[:80], offered)
