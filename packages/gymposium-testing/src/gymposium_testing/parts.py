"""Parts of plugins to check: players, rewards, loggers and executors, each with one example."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeVar, cast

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.players.asking import ask_player
from gymposium.players.protocol import MatchContext, Player
from gymposium.plugins.host import host
from gymposium.plugins.specs import ExecutorSpec, GameSpec, LoggerSpec, OpponentSpec, RewardSpec, resolve_entry_point
from gymposium.util.streams import stream
from gymposium_testing.contract import CheckFailed, NotApplicable

GAMES = ("tic_tac_toe", "kuhn_poker", "goofspiel(num_cards=4)", "pig(winscore=20)", "blackjack")
"""Games used for players and rewards whose plugin adds no games."""

_MAX_GAMES = 3
"""Maximum number of games per player."""
_T = TypeVar("_T")

PartSpec = OpponentSpec | RewardSpec | LoggerSpec | ExecutorSpec


@dataclass(frozen=True, slots=True)
class PluginPart:
    """A player, reward, logger or executor of a plugin, with one of its examples."""

    spec: PartSpec
    example: str | Mapping[str, Any] | None
    """A player's or reward's text, or a logger's settings; None without an example, as for executors."""

    @property
    def name(self) -> str:
        """The example's text, or else the spec's name: `mcts-5`, `mcts-N`, `tensorboard`."""
        if isinstance(self.example, str):
            return self.example
        return self.spec.name if isinstance(self.spec, LoggerSpec | ExecutorSpec) else self.spec.form

    def make(self) -> Any:
        """Create a player or reward function from the example.

        Raises `NotApplicable` without an example, and `CheckFailed` if the example does not match the pattern."""
        assert not isinstance(self.spec, LoggerSpec | ExecutorSpec)
        groups = self.spec.parse(cast(str, self.get_example()))
        if groups is None:
            raise CheckFailed(
                f"the example {self.name!r} does not match the pattern {self.spec.pattern!r}.",
                fix="give examples that match the whole pattern.",
            )
        return resolve_entry_point(self.spec.entry_point)(**groups)

    def get_example(self) -> str | Mapping[str, Any]:
        """Return the example. Raises `NotApplicable` without one."""
        if self.example is None:
            raise NotApplicable("its spec gives no examples to try")
        return self.example


def make_parts(spec: PartSpec) -> list[PluginPart]:
    """Return one part per example in the spec, and at least one.

    A form without placeholders serves as the example, unless the player opens something such as the terminal."""
    if isinstance(spec, ExecutorSpec):
        return [PluginPart(spec, None)]
    if spec.examples:
        return [PluginPart(spec, example) for example in spec.examples]
    opens = isinstance(spec, OpponentSpec) and spec.opens
    if opens or isinstance(spec, LoggerSpec) or re.search("[A-Z]", spec.form):
        return [PluginPart(spec, None)]
    return [PluginPart(spec, spec.form)]


def list_games(part: PluginPart) -> list[Game]:
    """Return the games in the part's plugin, each with its last example, or else those in `GAMES`."""
    plugin = host().owner(part.spec)
    own = [] if plugin.name == "builtin" else [spec for spec in plugin.specs if isinstance(spec, GameSpec)]
    return [load_game(spec.name, **spec.examples[-1]) for spec in own] or list(map(load_game, GAMES))


def find_playable_games(part: PluginPart) -> Iterator[Game]:
    """Yield up to three games whose first decision the player answers. Raises the errors of `run_attempts`."""

    def begin(game: Game) -> Game:
        player: Player = part.make()
        match = game.new(0)
        for seat in match.to_move():
            ask_player(player, [MatchContext(match, "first", 0).ask(seat)])
        return game

    return islice(run_attempts((game.name, partial(begin, game)) for game in list_games(part)), _MAX_GAMES)


def run_attempts(attempts: Iterable[tuple[str, Callable[[], _T]]]) -> Iterator[_T]:
    """Yield the results of attempts by game name. Attempts that raise a gymposium error are skipped.

    Raises `NotApplicable` with the errors if every attempt fails."""
    refusals: dict[str, None] = {}
    accepts = False
    for name, attempt in attempts:
        try:
            result = attempt()
        except GymposiumError as error:
            refusals[f"{name}: {error}"] = None
        else:
            accepts = True
            yield result
    if not accepts:
        raise NotApplicable(f"it refuses every tested game ({'; '.join(refusals)})")


def derive_seeds(seed: int, count: int) -> list[int]:
    """Derive `count` match seeds from the seed of a check."""
    rng = stream(seed, "parts")
    return [rng.getrandbits(31) for _ in range(count)]
