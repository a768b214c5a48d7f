"""Fixtures: a stand-in for the Tinker service, served on this machine. Torch has one thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tinker
import torch

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


@pytest.fixture
def service(model_directory: Path) -> StandIn:
    return StandIn({str(model_directory): CONTEXT})


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def server(service: StandIn, faults: Faults) -> Iterator[Server]:
    with running(service, faults) as served:
        yield served


@pytest.fixture
def client(server: Server) -> Iterator[tinker.ServiceClient]:
    with tinker.ServiceClient(base_url=server.url, api_key=KEY) as opened:
        yield opened
