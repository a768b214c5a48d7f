"""What an environment server offers: its games, and the opponents that clients may choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self

from gymposium.envs.learner import LearnerOptions
from gymposium.errors import BadOption, UnknownName
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match.failures import FailurePolicy
from gymposium.match.watchdog import Watchdog
from gymposium.players.asking import blaming
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, Concurrent, Player, Reply

OPTIONS = ("game", "opponent", "prompt", "reply", "seat")
"""What a client may choose for a match, besides `seed` and `episode_id`."""
WATCHDOG = 300.0
"""Time limit of an opponent's answer in seconds, long enough for a language model on a slow machine."""


class SharedPlayer:
    """A player that many matches ask, each in its own thread. One thread at a time is in the player; a player that
    answers each ask by itself (`Concurrent`) may have asks of many matches under way."""

    def __init__(self, player: Player, seconds: float = WATCHDOG) -> None:
        """`seconds` is the time limit of an answer."""
        self.name, self.reader, self.style = player.name, player.reader, player.style
        self._player, self._lock, self._watchdog = player, Lock(), Watchdog(seconds)

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """The player's replies. Raises `TimeoutError` if it is too late, and what the player raises."""
        player = self._player
        if isinstance(player, Concurrent):
            with blaming(player):
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
    """The games and opponents of a server. The first of each is the default."""

    games: Mapping[str, Game]
    """By the names by which clients may ask for them."""
    opponents: Mapping[str, Player]
    on_illegal: FailurePolicy

    @classmethod
    def of(cls, games: Sequence[str], opponents: Sequence[str] = ("random",), on_illegal: str = "forfeit") -> Self:
        """The offer of these names. A game with parameters is known as it is written and by its full name.

        Raises `BadOption`, `UnknownName` and the errors of `load_game` and `make_player`."""
        loaded = {name: load_game(name) for name in games}
        if not loaded:
            raise BadOption("Name at least one game:  gymposium serve-env tic_tac_toe")
        if "human" in opponents:
            raise BadOption("--opponent human: a person at a terminal cannot be asked from here.")
        players = {name: SharedPlayer(make_player(name)) for name in dict.fromkeys(opponents or ("random",))}
        named = {**loaded, **{game.name: game for game in loaded.values()}}
        return cls(named, players, FailurePolicy.parse(on_illegal))

    @property
    def first(self) -> str:
        """The name of the game that clients play who name none."""
        return next(iter(self.games))

    def game(self, name: object) -> Game:
        """The game of this name. Raises `UnknownName` for one that is not offered."""
        if isinstance(name, str) and name in self.games:
            return self.games[name]
        raise UnknownName("game on this server", str(name)[:80], self.games)

    def chosen(self, game: str, given: dict[str, Any]) -> LearnerOptions:
        """The options of a match of this game, or of the one that the client has chosen instead. `given` are options
        of `OPTIONS`, except for `seat`. Raises `GymposiumError` for a wrong one."""
        played = self.game(given.pop("game", game))
        opponents = self._opponents(given.pop("opponent", next(iter(self.opponents))), played.seats - 1)
        for name, value in given.items():
            if not isinstance(value, str):
                raise BadOption(f"{name}={str(value)[:80]!r}: write a text.")
        return LearnerOptions(played, opponent=opponents, on_illegal=self.on_illegal, **given)

    def _opponents(self, names: object, count: int) -> list[Player]:
        chosen = [self._opponent(name) for name in (names if isinstance(names, list) else [names])]
        return chosen if isinstance(names, list) else chosen * count

    def _opponent(self, name: object) -> Player:
        if isinstance(name, str) and name in self.opponents:
            return self.opponents[name]
        raise UnknownName("opponent on this server", str(name)[:80], self.opponents)
