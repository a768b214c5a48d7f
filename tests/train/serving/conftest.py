from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.serving.service import Service

from .serving import make_player, service_in


@pytest.fixture(scope="module")
def player(tiny: LoadedModel) -> LanguageModelPlayer:
    return make_player(tiny)


@pytest.fixture
def make(tmp_path: Path, player: LanguageModelPlayer) -> Iterator[Callable[..., Service]]:
    """Makes services over one directory, one after the other, as a restarted run does."""
    with ExitStack() as opened:

        def made(**settings: Any) -> Service:
            service = service_in(tmp_path, player, **settings)
            opened.callback(service.close)
            return service

        yield made


@pytest.fixture
def service(make: Callable[..., Service]) -> Service:
    return make()
