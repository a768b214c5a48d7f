"""Fixtures: a stand-in for the Tinker service, served on this machine. Torch has one thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tinker
import torch

from gymposium_tinker.service import open_session
from gymposium_tinker.settings import TinkerSettings

from .runs import guess_world, taught
from .stand_in.app import KEY
from .stand_in.running import Faults, Server, running
from .stand_in.service import StandIn

CONTEXT = 256


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKER_API_KEY", KEY)
    monkeypatch.setenv("TINKER_TELEMETRY", "0")


@pytest.fixture(scope="session")
def player_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model that plays tic-tac-toe at random, and calls the tool of the guess world."""
    with guess_world(tmp_path_factory.mktemp("world")) as world:
        return taught(tmp_path_factory.mktemp("taught"), "tic_tac_toe", world)


@pytest.fixture
def service(model_directory: Path, player_model: Path) -> StandIn:
    return StandIn({str(model_directory): CONTEXT, str(player_model): CONTEXT})


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def server(service: StandIn, faults: Faults) -> Iterator[Server]:
    with running(service, faults) as served:
        yield served


@pytest.fixture
def client(server: Server) -> Iterator[tinker.ServiceClient]:
    with open_session(TinkerSettings(base_url=server.url)) as opened:
        yield opened
