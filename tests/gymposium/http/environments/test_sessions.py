"""Sessions of many clients: refusals, limits, and isolation."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.gymposium.http.environments.conftest import EnvServer
from tests.gymposium.http.test_guard import ask
from websockets.exceptions import ConnectionClosed, InvalidStatus

from gymposium.envs.learner import LearnerTable
from gymposium.games.protocol import Style
from gymposium.http.bodies import MOST_BYTES
from gymposium.http.environments import EnvOffer, build_environments_app
from gymposium.http.environments.offer import OPTIONS, SharedPlayer
from gymposium.http.environments.session import GREATEST_SEED, EnvSession
from gymposium.http.environments.wire import LONGEST_REPLY, Incoming, WireError, format_message
from gymposium.players.protocol import Ask, Reply
from gymposium.records import read_records, verify_file
from gymposium.replies.reading import READERS, Reader
from gymposium.util.strict_json import DEEPEST


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("not json", "INVALID_JSON"),
        (b"\xff", "INVALID_JSON"),
        ('{"type": "state", "type": "reset"}', "INVALID_JSON"),
        (f'{{"type": "reset", "data": {{"seed": {GREATEST_SEED + 1}}}}}', "INVALID_JSON"),
        ('{"type": "reset", "data": ' + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1) + "}", "INVALID_JSON"),
        ('{"type": "reset", "data": ' + "[" * 500_000 + "]" * 500_000 + "}", "INVALID_JSON"),
        ("[]", "VALIDATION_ERROR"),
        ('{"type": "mcp", "data": {}}', "UNKNOWN_TYPE"),
        ("{}", "UNKNOWN_TYPE"),
        ('{"type": "reset", "data": []}', "VALIDATION_ERROR"),
        ('{"type": "reset", "more": 1}', "VALIDATION_ERROR"),
        ('{"type": "state", "data": {}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"text": 1}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"move": "b2"}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"text": "b2", "more": 1}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"text": "b2"}}', "EXECUTION_ERROR"),
    ],
)
def test_invalid_message_gets_an_error_and_the_session_continues(start_server, text: str | bytes, code: str) -> None:
    with start_server("tic_tac_toe").client() as client:
        answer = client.say(text)
        assert answer["type"] == "error"
        assert answer["data"]["code"] == code
        assert answer["data"]["message"]
        assert client.reset(seed=1)["observation"]["legal_moves"]


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ({"seed": -1}, "seed=-1"),
        ({"seed": True}, "seed=True"),
        ({"seed": 1.5}, "seed=1.5"),
        ({"episode_id": "x" * 256}, "255 characters"),
        ({"episode_id": 7}, "255 characters"),
        ({"game": "../../etc/passwd"}, "Unknown game on this server '../../etc/passwd'"),
        ({"game": "connect_four"}, "Unknown game on this server"),
        ({"opponent": "../../etc/passwd"}, "Unknown opponent on this server '../../etc/passwd'"),
        ({"opponent": "mcts-1000000"}, "Unknown opponent on this server"),
        ({"opponent": ["random", "random"]}, "got 2 players for 1 other"),
        ({"seat": 2}, "must be a seat from 0 to 1"),
        ({"seat": "white"}, "must be a seat from 0 to 1"),
        ({"prompt": "long"}, "Use 'full' or 'compact'"),
        ({"prompt": 3}, "must be a string"),
        ({"reply": "xml"}, "xml"),
        ({"on_illegal": "retry(9999999)"}, "Options: seed, episode_id, game, opponent, prompt, reply, seat"),
    ],
)
def test_invalid_option_error_says_what_to_write(start_server, option: dict[str, Any], why: str) -> None:
    with start_server("tic_tac_toe").client() as client:
        code, message = client.refused("reset", **option)
        assert code == "VALIDATION_ERROR"
        assert why in message
        assert client.reset(seed=1)["done"] is False


def test_client_names_never_become_paths(start_server) -> None:
    """An episode's name is told to its client, and stands in no file."""
    server = start_server("kuhn_poker")
    with server.client() as client:
        data = client.reset(seed=1, episode_id="../../etc/passwd")
        while not data["done"]:
            data = client.step(data["observation"]["legal_moves"][0])
        assert data["metadata"]["episode_id"] == "../../etc/passwd"
    assert "passwd" not in server.records.read_text(encoding="utf-8")
    [(_, record)] = read_records(server.records)
    assert record.id == data["metadata"]["match"]
    assert [path.name for path in server.records.parent.iterdir()] == ["matches.jsonl"]


def test_long_replies_are_refused(start_server) -> None:
    with start_server("tic_tac_toe").client() as client:
        client.reset(seed=1)
        assert client.refused("step", text="x" * (LONGEST_REPLY + 1))[0] == "VALIDATION_ERROR"
        assert client.step("\ud800")["done"] is True  # a reply that UTF-8 cannot encode is a reply


def test_oversized_message_ends_only_its_session(start_server) -> None:
    server = start_server("tic_tac_toe")
    with server.client() as other:
        other.reset(seed=1)
        with server.client() as client, pytest.raises(ConnectionClosed):  # 1009 is lost if the client still sends
            client.say(" " * (5 * 2**20))
        assert MOST_BYTES < 5 * 2**20
        assert other.send("state")["data"]["step_count"] == 0


def test_number_of_clients_is_bounded(start_server) -> None:
    server = start_server("tic_tac_toe", sessions=2)
    with server.client() as one, server.client() as two:
        one.reset()
        two.reset()
        with server.client() as three:
            answer = json.loads(three.socket.recv())
            assert answer["data"]["code"] == "CAPACITY_REACHED"
            assert (answer["data"]["active_sessions"], answer["data"]["max_sessions"]) == (2, 2)
            with pytest.raises(ConnectionClosed):
                three.socket.recv()
        two.socket.send('{"type": "close"}')
        with pytest.raises(ConnectionClosed):
            two.socket.recv()
        with server.client() as four:
            assert four.reset()["done"] is False


def test_idle_session_ends(start_server) -> None:
    with start_server("tic_tac_toe", idle=0.05).client() as client:
        answer = json.loads(client.socket.recv())
        assert answer["data"]["code"] == "SESSION_ERROR"
        with pytest.raises(ConnectionClosed):
            client.socket.recv()


def test_matches_of_all_clients_are_recorded(start_server) -> None:
    server = start_server("goofspiel(num_cards=3)", "kuhn_poker", opponents=("mcts-5",))
    with server.client() as one, server.client("/kuhn_poker/ws") as two, server.client() as three:
        clients = (one, two, three)
        shown = {client: client.reset(seed=5) for client in clients}
        for _ in range(20):
            for client, data in shown.items():
                moves = data["observation"]["legal_moves"]
                shown[client] = client.reset(seed=5) if data["done"] else client.step(moves[0])
    verified = verify_file(server.records)
    assert verified.matches > 10
    assert verified.problems == []


class FailingPlayer:
    """A player that raises, with what no client may read."""

    name = "failing"
    reader: Reader = READERS["move"]
    style: Style = "full"

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        raise RuntimeError("the deal is J Q")


def test_player_failure_costs_only_its_match(start, caplog, tmp_path: Path) -> None:
    offer = EnvOffer.from_names(["kuhn_poker"], ["random"])
    kept: list[Any] = []
    port = start(
        build_environments_app(EnvOffer(offer.games, {"failing": FailingPlayer()}, offer.on_illegal), kept.append)
    ).port
    with EnvServer(port, tmp_path).client() as client:
        client.reset(seed=1)
        code, message = client.refused("step", text="bet")
        assert (code, "J Q" in message) == ("EXECUTION_ERROR", False)
        assert client.refused("step", text="bet")[1] == "There is no match in progress. Send reset first."
        assert client.reset(seed=1)["done"] is False
    assert kept == []
    assert "the deal is J Q" in caplog.text


class WaitingPlayer(FailingPlayer):
    """A player that answers when it is allowed to."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        self.may_answer.wait()
        return [Reply("pass") for _ in asks]


def test_unresponsive_player_costs_only_its_match(start, caplog, tmp_path: Path) -> None:
    offer, player = EnvOffer.from_names(["kuhn_poker"]), WaitingPlayer()
    offer = EnvOffer(offer.games, {"waiting": SharedPlayer(player, 0.05), **offer.opponents}, offer.on_illegal)
    with EnvServer(start(build_environments_app(offer, lambda played: None)).port, tmp_path).client() as client:
        for _ in range(2):
            client.reset(seed=1)
            assert client.refused("step", text="bet")[0] == "EXECUTION_ERROR"
        assert "did not answer within 0.05 seconds" in caplog.text
        client.reset(seed=1, opponent="random")
        assert client.step("bet")["done"] is True
        player.may_answer.set()


def test_http_endpoints_describe_the_server(start_server) -> None:
    server = start_server("tic_tac_toe", "goofspiel(num_cards=3)")
    assert ask(server.port, path="/health") == (200, {"status": "healthy"})
    about = ask(server.port, path="/metadata").data
    assert about["name"] == "tic_tac_toe"
    assert "Games on this server: tic_tac_toe, goofspiel(num_cards=3)." in about["readme_content"]
    assert ask(server.port, path="/goofspiel(num_cards=3)/metadata").data["name"] == "goofspiel(num_cards=3)"
    assert set(ask(server.port, path="/schema").data) == {"action", "observation", "state"}
    for path in ("/nothing", "/connect_four/metadata", "/../../etc/passwd/schema", "/%2e%2e%2fetc%2fpasswd/schema"):
        answer = ask(server.port, path=path)
        assert answer.status == 404
        assert answer.code in ("no_such_route", "unknown_game")


def test_unserved_game_has_no_socket(start_server) -> None:
    server = start_server("tic_tac_toe")
    for path in ("/connect_four/ws", "/ws?game=connect_four", "/..%2f..%2fetc%2fpasswd/ws"):
        with pytest.raises(InvalidStatus) as refused, server.client(path):
            pass
        assert refused.value.response.status_code == 404


def test_token_protects_everything_but_health(start_server) -> None:
    server = start_server("tic_tac_toe", token="s3cret")
    assert ask(server.port, path="/health").status == 200
    assert ask(server.port, path="/metadata").code == "no_token"
    assert ask(server.port, path="/tic_tac_toe/health").status == 401
    with pytest.raises(InvalidStatus, match="401"), server.client():
        pass
    for path, headers in (("/ws?token=s3cret", {}), ("/ws", {"Authorization": "Bearer s3cret"})):
        with server.client(path, additional_headers=headers) as client:
            assert client.reset()["done"] is False


def test_foreign_hosts_and_origins_get_no_socket(start_server) -> None:
    server = start_server("tic_tac_toe")
    with pytest.raises(InvalidStatus, match="403"), server.client(origin="http://evil.example"):
        pass
    assert ask(server.port, path="/metadata", Host="evil.example").status == 421


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, ["a"], True, [[]], "\ud800", -1, 1.5], ids=ascii)
def test_reset_field_of_another_type_is_accepted_or_refused(value: Any) -> None:
    session = EnvSession(EnvOffer.from_names(["tic_tac_toe"]), "tic_tac_toe", lambda played: None)
    for field in ("seed", "episode_id", *OPTIONS):
        with suppress(WireError):
            assert format_message("observation", session.reset({field: value}))
    session.reset({"seed": 1})
    for action in ({"text": value}, {"text": "a1", "metadata": value}):
        with suppress(WireError):
            assert format_message("observation", session.step(action))
    for sent in (value, {"type": value}, {"type": "reset", "data": value}):
        with suppress(WireError):
            assert Incoming.parse(json.dumps(sent))


def test_abandoned_match_releases_its_resources(start_server, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    all_closed = threading.Event()

    def close(table: LearnerTable) -> None:
        closed.append(table.job.game.name)
        if len(closed) == 2:
            all_closed.set()

    monkeypatch.setattr(LearnerTable, "close", close)
    with start_server("tic_tac_toe", "kuhn_poker").client() as client:
        client.reset(seed=1)
        client.reset(seed=2, game="kuhn_poker")
        assert closed == ["tic_tac_toe"]
    assert all_closed.wait(60)
    assert closed == ["tic_tac_toe", "kuhn_poker"]
