"""The client against servers over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gymposium.cli.main import app
from gymposium.http import client
from gymposium.http.client import Server, ServerError, Session
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config import TrainConfig
from gymposium_train.serving.errors import RunOver
from gymposium_train.serving.server import serve
from gymposium_train.serving.service import Service
from gymposium_train.serving.settings import SessionSettings

from .serving import begin, service_in


@contextmanager
def served(directory: Path, player: LanguageModelPlayer, port: int = 0) -> Iterator[tuple[str, Service]]:
    """The address and the service of a run in a directory."""
    directory.mkdir(exist_ok=True)
    service = service_in(directory, player)
    given = SessionSettings(port=port)
    with serve(service, given, directory, TrainConfig(games=("tic_tac_toe",)), None) as address:
        yield address, service
    service.close()


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8750", "localhost", "http://127.0.0.1:8750/v1", "ftp://127.0.0.1:8750", "http://"]
)
def test_invalid_addresses_are_refused_at_once(url: str) -> None:
    with pytest.raises(ServerError, match=r"such as http://127\.0\.0\.1:8750"):
        Server(url)


def test_client_reports_waiting_and_then_times_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(client, "SILENCE", 0.0)
    monkeypatch.setattr(client, "PATIENCE", 0.5)
    said = r"No server answers at http://127\.0\.0\.1:9 .*gymposium serve"
    with Server("http://127.0.0.1:9") as server, pytest.raises(ServerError, match=said) as caught:
        server.status()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert [record.message for record in caplog.records if "Waiting for up to" in record.message] != []


def test_client_is_bound_to_its_first_run(tmp_path: Path, player: LanguageModelPlayer) -> None:
    with served(tmp_path / "one", player) as (address, _):
        server = Server(address)
        server.status()
    port = int(address.rpartition(":")[2])
    with served(tmp_path / "one", player, port=port) as (again, service):  # resumed
        assert again == address
        assert server.session("a").group == "a"
    with served(tmp_path / "two", player, port=port) as (_, service):
        with pytest.raises(ServerError, match="409: Another run is now at this address"):
            server.session("a")
        assert service.file.counts()["sessions"] == {}
        with Server(address) as other:
            assert other.session("a").group == "a"
    server.close()


def test_foreign_answers_do_not_bind_the_client(tmp_path: Path, player: LanguageModelPlayer) -> None:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as other:
        port = other.server_port
        thread = threading.Thread(target=other.serve_forever, args=(0.01,))
        thread.start()
        server = Server(f"http://127.0.0.1:{port}")
        with pytest.raises(ServerError, match="404"):
            server.status()
        other.shutdown()
        thread.join()
    with served(tmp_path, player, port=port):
        assert server.session("a").group == "a"
    server.close()


@pytest.mark.parametrize("result", [None, "good", "1.0", True, float("nan"), {"parts": {}}, {"reward": "1"}], ids=repr)
def test_invalid_agent_results_explain_the_expected_type(
    tmp_path: Path, player: LanguageModelPlayer, result: Any
) -> None:
    with served(tmp_path, player) as (address, service), Server(address) as server:
        with pytest.raises(ServerError, match=r" is no reward for a session\. Return a finite number"):
            server.play(lambda session: result, groups=1, size=2)
        assert service.file.counts()["sessions"] == {"dropped": 2}


def test_no_session_begins_after_the_last_step(tmp_path: Path, player: LanguageModelPlayer) -> None:
    def agent(session: Session[Server]) -> float:
        return 1.0

    with served(tmp_path, player) as (address, service), Server(address) as server:
        server.play(agent, groups=1, size=2)
        service.learner.steps = 3
        service.jobs.linger(0.0)
        for refused in (server.session, server.train, lambda: server.play(agent, groups=1, size=2)):
            with pytest.raises(ServerError, match=r"410: The run has completed its 3 steps\. Stop this client"):
                refused()
        with pytest.raises(RunOver):
            begin(service, "b")


def test_comparing_sources_require_groups_of_two(tmp_path: Path, player: LanguageModelPlayer) -> None:
    with served(tmp_path, player) as (address, service), Server(address) as server:
        service.sessions.needs_groups = True
        with pytest.raises(ServerError, match="size: give a whole number from 2"):
            server.play(lambda session: 1.0, groups=1, size=1)
        service.sessions.needs_groups = False
        assert server.play(lambda session: 1.0, groups=1, size=1) == [1.0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--run", "no-such-program x", "--reward", "rewards.py:score"], "not found"),
        (["--run", "python x.py", "--reward", "missing.py:score"], "cannot import missing.py"),
        (["--run", "python x.py", "--reward", "rewards.py:points"], "rewards.py has no function points"),
        (["--run", "python x.py", "--reward", "rewards.score"], "Write module:function"),
        (["--run", "python x.py"], "--run and --reward"),
        (["--host", "0.0.0.0"], "needs a token"),
    ],
    ids=str,
)
def test_missing_options_are_reported_before_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rewards.py").write_text("def score(ran):\n    return 0.0\n", encoding="utf-8")
    given = ["serve", "--model", "nowhere", "--out", "run", *options]
    outcome = CliRunner().invoke(app, given)
    assert outcome.exit_code != 0
    assert said in " ".join(f"{outcome.output} {outcome.exception}".split())
    assert not Path("run").exists()
