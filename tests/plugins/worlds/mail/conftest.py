"""The mail game and shared fixtures for its tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from gymposium import load_game
from gymposium.games.protocol import Game
from gymposium.tasks import Result, World
from gymposium.tasks.tools import Call


@pytest.fixture(scope="session")
def mail() -> Callable[..., Game]:
    """Makes the game with parameters."""
    return partial(load_game, "mail")


@pytest.fixture
def call() -> Callable[..., Result]:
    """Calls a tool of a world."""

    def done(world: World, name: str, **arguments: Any) -> Result:
        return asyncio.run(world.call(Call(name, arguments)))  # type: ignore[arg-type]

    return done
