"""Servers that deviate from the service: faults are reported, and harmless deviations are accepted."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tinker

from gymposium.errors import GymposiumError
from gymposium_agents.chat.tokens import Policy
from gymposium_tinker.data import make_scoring_datum, read_logprobs
from gymposium_tinker.engine import TinkerEngine
from gymposium_tinker.model import _find_context, open_player
from gymposium_tinker.service import (
    check_answers,
    close_service,
    find_context,
    open_service,
    open_session,
    resolve_result,
    translate_errors,
)
from gymposium_tinker.settings import TinkerSettings
from gymposium_train.backends.protocol import BackendStart
from gymposium_train.config.checks import check_config
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.reading import build_config

from .runs import make_config
from .stand_in.running import Server, running
from .stand_in.service import StandIn


class Sparse(BaseHTTPRequestHandler):
    """A server that knows its model, and nothing else: neither its context nor the ends of sessions."""

    model = ""

    def do_GET(self) -> None:
        if self.path == "/api/v1/get_server_capabilities":
            self.answer(200, {"supported_models": [{"model_name": self.model}]})
        else:
            self.answer(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        known: dict[str, Any] = {
            "/api/v1/client/config": {"use_pyqwest_transport": False},
            "/api/v1/create_session": {"type": "create_session", "session_id": "s1"},
            "/api/v1/session_heartbeat": {"type": "session_heartbeat"},
        }
        if self.path in known:
            self.answer(200, known[self.path])
        else:
            self.answer(404, {"detail": "Not Found"})

    def answer(self, status: int, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def sparse(model_directory: Path) -> Iterator[TinkerSettings]:
    handler = type("Handler", (Sparse,), {"model": str(model_directory)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield TinkerSettings(base_url=f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


def test_documented_command_is_accepted(model_directory: Path) -> None:
    table = {
        "games": ["tic_tac_toe"],
        "steps": 3,
        "model": {"name": str(model_directory), "tune": "lora"},
        "credit": {"kind": "grpo"},
    }
    config = build_config({**table, "backend": {"kind": "tinker"}})
    check_config(config, at_hand=False)
    assert config.optimizer.epochs * config.optimizer.minibatches > 1
    assert config.optimizer.target_kl == 0.0
    assert build_config(table).optimizer.target_kl > 0.0
    given = build_config({**table, "backend": {"kind": "tinker"}, "optimizer": {"target_kl": 0.1}})
    with pytest.raises(GymposiumError, match=r"optimizer.target_kl = 0\.1: an optimizer step is sent together"):
        check_config(given, at_hand=False)


def test_missing_context_length_is_accepted(sparse: TinkerSettings, model_directory: Path) -> None:
    assert find_context(sparse, str(model_directory)) is None
    config = make_config(model_directory, str(sparse.base_url))
    own = json.loads((model_directory / "config.json").read_text())["max_position_embeddings"]
    assert _find_context(config, sparse) == own


def test_closing_404_does_not_hide_the_error(sparse: TinkerSettings) -> None:
    with pytest.raises(RuntimeError, match="the real one"), open_session(sparse):
        raise RuntimeError("the real one")
    with open_session(sparse):
        pass


def test_session_ends_with_its_player(model_directory: Path, server: Server, tmp_path: Path) -> None:
    config, settings = make_config(model_directory, server.url), TinkerSettings(base_url=server.url)
    ended: list[str] = []
    server.on_request = lambda path: ended.append(path) if path.endswith("/finish") else None
    with open_player(BackendStart(config=config, directory=RunDirectory(tmp_path)), settings, "cold start"):
        assert ended == []
    assert len(ended) == hasattr(tinker.ServiceClient, "close")


def test_closing_does_not_wait_for_a_dead_session(
    model_directory: Path, service: StandIn, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(service) as server:
        opened = open_service(TinkerSettings(base_url=server.url))
        resolve_result(opened.create_sampling_client(base_model=str(model_directory)))
    monkeypatch.setattr("gymposium_tinker.service.SECONDS", 0.1)
    close_service(opened, "errored")
    assert "The session was not closed" in caplog.text or not hasattr(opened, "close")


def test_unreachable_server_is_reported_at_once(model_directory: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        settings = TinkerSettings(base_url=f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(
            GymposiumError, match=r"No Tinker service answers at http://127\.0\.0\.1:\d+ \(ConnectError"
        ):
            check_answers(settings)
        with pytest.raises(GymposiumError, match="No Tinker service answers"):
            check_config(make_config(model_directory, str(settings.base_url)))


def test_sdk_errors_are_translated_but_callback_errors_propagate() -> None:
    """The SDK asserts what it expects, and calls functions of ours, whose faults are no faults of the service."""
    calls: dict[str, Any] = {"__name__": "tinker.lib.somewhere"}
    code = "def fail():\n    assert False, 'promises always carry ids'\ndef call(function):\n    function()\n"
    exec(compile(code, "somewhere.py", "exec"), calls)
    with pytest.raises(GymposiumError, match=r"failed: AssertionError: promises always carry ids"), translate_errors():
        calls["fail"]()

    def ours() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), translate_errors():
        calls["call"](_as_of_gymposium(ours))
    with pytest.raises(ZeroDivisionError), translate_errors():
        ours()


def _as_of_gymposium(function: Any) -> Any:
    """The function, called from a module of gymposium."""
    scope: dict[str, Any] = {"__name__": "gymposium_train.somewhere", "function": function}
    exec(compile("def inner():\n    function()\n", "inner.py", "exec"), scope)
    return scope["inner"]


PROMPT, REPLY = (1, 2, 3), (4, 5)


class ScoringClient:
    """A client whose server tells these log-probabilities of any tokens."""

    def __init__(self, scores: list[float | None]) -> None:
        self._scores = scores

    def compute_logprobs(self, prompt: Any) -> Any:
        return SimpleNamespace(result=lambda: self._scores)


def engine(scores: list[float | None]) -> TinkerEngine:
    return TinkerEngine(64, frozenset(), Policy("learner", 0), ScoringClient(scores))  # type: ignore[arg-type] # its methods


@pytest.mark.parametrize("scores", [[None, -1.0, -2.0, -3.0, -4.0], [-1.0, -2.0, -3.0, -4.0]])
def test_first_logprob_may_be_missing(scores: list[float | None]) -> None:
    assert engine(scores).score([(PROMPT, REPLY)]) == [(-3.0, -4.0)]


@pytest.mark.parametrize("scores", [[-1.0, -2.0, -3.0], [None, -1.0, -2.0, -3.0, None], [-1.0] * 6])
def test_wrong_number_of_logprobs_is_an_error(scores: list[float | None]) -> None:
    with pytest.raises(GymposiumError, match=r"returned \d log-probabilities for 5 tokens"):
        engine(scores).score([(PROMPT, REPLY)])


def test_rows_with_wrong_logprob_counts_are_errors() -> None:
    output: Any = SimpleNamespace(loss_fn_outputs=[{"logprobs": SimpleNamespace(data=[-1.0, -2.0])}])
    with pytest.raises(GymposiumError, match="for 1 row of 2 tokens instead of 1 row of 3 tokens"):
        read_logprobs(output, [make_scoring_datum((1, 2, 3, 4))])
