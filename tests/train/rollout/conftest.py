"""A source of players without weights: every version plays at random, and the source records its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from gymposium import load_game, make_player
from gymposium.players.protocol import Player
from gymposium_agents.chat.tokens import Policy
from gymposium_train.config import Pool, RolloutSettings, Stage, TrainConfig
from gymposium_train.rollout import MatchPlanner


def named(name: str) -> Player:
    player = make_player("random")
    player.name = name
    return player


@dataclass
class RandomCast:
    """A `PlayerSource`. `now` is the version of the weights that play."""

    now: int = 0
    kept: list[Policy] = field(default_factory=list)
    gone: list[Policy] = field(default_factory=list)
    player: Player = field(default_factory=lambda: named("learner"))

    def learner(self) -> Player:
        return self.player

    def past(self, policy: Policy) -> Player:
        assert policy in self.kept
        assert policy not in self.gone, "let go"
        return named(str(policy))

    def keep(self) -> Policy:
        self.kept.append(Policy("learner", self.now))
        return self.kept[-1]

    def let_go(self, policy: Policy) -> None:
        self.gone.append(policy)


@pytest.fixture(scope="session")
def new_cast() -> Callable[..., RandomCast]:
    return RandomCast


@pytest.fixture(scope="session")
def who() -> Callable[..., MatchPlanner]:
    """Makes a `MatchPlanner`: `who(cast, ["tic_tac_toe"], {"self": 1.0}, {"random": 1.0}, groups=3)`. A stage is given
    by its opponents or as a `Stage`."""

    def make(
        cast: RandomCast,
        games: Sequence[str],
        *stages: dict[str, float] | Stage,
        groups: int = 4,
        group_size: int = 3,
        growth: float = 1.0,
        pool: Pool | None = None,
        **settings: Any,
    ) -> MatchPlanner:
        config = TrainConfig(
            games=tuple(games),
            rollout=RolloutSettings(groups=groups, group_size=group_size, growth=growth),
            stages=tuple(s if isinstance(s, Stage) else Stage(opponents=s) for s in stages) or (Stage(),),
            pool=pool or Pool(),
            **settings,
        )
        return MatchPlanner(config, [load_game(name) for name in games], cast)

    return make
