"""`gymposium engine` as a user runs it, and a server of another process with another model, without adapters, or with
raw log-probabilities."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from gymposium.errors import GymposiumError
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import Policy, Sampling, TokenRequest
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.home import find_engine_home
from gymposium_agents.engines.vllm.server import run_server, run_servers
from gymposium_agents.engines.vllm.settings import ServerSettings
from gymposium_agents.engines.vllm.setup import set_up
from gymposium_agents.models.small import make_small_model

from .conftest import FIRST

GYMPOSIUM = [str(Path(sys.executable).with_name("gymposium"))]


@dataclass
class StartedServer:
    process: subprocess.Popen[str]
    model: Path
    url: str
    line: str


@pytest.fixture(scope="module")
def started(
    tmp_path_factory: pytest.TempPathFactory, game_texts: list[str], game_moves: list[str]
) -> Iterator[StartedServer]:
    """A process of `gymposium engine start` that is ready, with its output."""
    model = tmp_path_factory.mktemp("models") / "foreign"
    size = SmallModel(hidden=64, layers=2, heads=2, feed_forward=128)
    make_small_model(model, game_texts, seed=2, size=size, moves=game_moves)
    options = ["--model", str(model), "--port", "0", "--kv-cache-gib", "1", "--", "--logprobs-mode", "raw_logprobs"]
    command = [*GYMPOSIUM, "engine", "start", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()  # printed when the server is ready
        yield StartedServer(process, model, line.partition("?engine=")[2], line)
        process.kill()


def status() -> list[dict[str, object]]:
    done = subprocess.run([*GYMPOSIUM, "engine", "status", "--json"], capture_output=True, text=True, check=True)
    servers: list[dict[str, object]] = json.loads(done.stdout)["servers"]
    return servers


def test_setup_is_idempotent(capsys: pytest.CaptureFixture[str]) -> None:
    home, said = find_engine_home(), []
    noted = home.require()
    assert set_up(home, noted["build"], say=said.append) == noted
    assert "Nothing to do" in said[0]


def test_start_prints_the_player_to_use(started: StartedServer) -> None:
    assert started.line == f"lm:{started.model}?engine={started.url}"
    assert httpx.get(f"{started.url}/health").is_success
    [running] = status()
    assert (running["url"], running["state"], running["model"]) == (started.url, "ready", str(started.model))


def test_refuses_a_server_with_another_model(started: StartedServer, model_directory: Path) -> None:
    with pytest.raises(GymposiumError, match=rf"serves another model: base \({started.model}\); expected"):
        VllmEngine(started.url, model=str(model_directory), stops=frozenset({4}))


def test_refuses_a_server_without_adapters(started: StartedServer, adapters: dict[Policy, Path]) -> None:
    with VllmEngine(started.url, model=str(started.model), stops=frozenset({4})) as engine:
        with pytest.raises(GymposiumError, match=r"started without LoRA.*--lora-rank 4"):
            engine.publish(adapters[FIRST], FIRST)
        assert engine.adapters == ()


def test_raw_logprobs_require_temperature_1(started: StartedServer, make_request: Callable[..., TokenRequest]) -> None:
    with VllmEngine(started.url, model=str(started.model), stops=frozenset({4})) as engine:
        with pytest.raises(GymposiumError, match="--logprobs-mode processed_logprobs"):
            engine.generate([make_request(0)], Sampling(0.6, 4))
        [completion] = engine.generate([make_request(0)], Sampling(1.0, 4))
        assert engine.score([(make_request(0).prompt, completion.ids)])[0] == pytest.approx(
            completion.logprobs, abs=1e-4
        )


def test_occupied_port_is_an_error(started: StartedServer) -> None:
    port = int(started.url.rpartition(":")[2])
    with (
        pytest.raises(GymposiumError, match=f"Port {port} .* is not available"),
        run_server(ServerSettings(str(started.model), port=port)),
    ):
        pass


def test_failing_server_shows_its_log(started: StartedServer, tmp_path: Path) -> None:
    with (
        pytest.raises(GymposiumError, match=r"died before it was ready\. The end of its log"),
        # the one that loads already is ended, too
        run_servers([ServerSettings(str(started.model)), ServerSettings(str(tmp_path / "nothing"))]),
    ):
        pass


def test_server_ends_with_its_supervisor(started: StartedServer) -> None:
    """The last test of this server, because its supervisor is killed."""
    address = httpx.URL(started.url)
    with socket.create_connection((address.host, address.port), timeout=60) as open_line:
        os.kill(started.process.pid, signal.SIGKILL)
        started.process.wait()
        assert open_line.recv(1) == b""  # the server has closed it
    assert status() == []
    with pytest.raises(GymposiumError, match=r"No vLLM server answers .*gymposium engine start --model"):
        VllmEngine(started.url, model=str(started.model), stops=frozenset({4}))
