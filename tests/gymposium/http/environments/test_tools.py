"""Clients that call tools at `/mcp`, in sessions that a websocket joins."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from typing import Any

import pytest
import yaml
from tests.gymposium.http.environments.conftest import EnvServer
from tests.gymposium.http.test_guard import ask

from gymposium.http.environments import EnvOffer
from gymposium.http.environments.manifest import build_manifest
from gymposium.http.environments.session import EnvSession
from gymposium.http.environments.tools import describe_outcome
from gymposium.http.environments.wire import WireError
from gymposium.match import MatchResult
from gymposium.records import verify_file


def rpc(server: EnvServer, method: str, path: str = "/mcp", **params: Any) -> dict[str, Any]:
    """The answer to a JSON-RPC request."""
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()
    answer = ask(server.port, "POST", path, body, Content_Type="application/json")
    assert answer.status == 200
    assert (answer.data["jsonrpc"], answer.data["id"]) == ("2.0", 7)
    return answer.data


def call(server: EnvServer, session: str, name: str, **arguments: Any) -> dict[str, Any]:
    """What a tool returns, as OpenEnv's client reads it."""
    result = rpc(server, "tools/call", session_id=session, name=name, arguments=arguments)["result"]
    assert result["content"] == [{"type": "text", "text": result["data"]["text"]}]
    return result["data"]


def create(server: EnvServer, path: str = "/mcp") -> str:
    return rpc(server, "openenv/session/create", path)["result"]["session_id"]


def test_tools_play_the_match_that_a_websocket_begins(start_server) -> None:
    server = start_server("tic_tac_toe")
    session = create(server)
    assert [tool["name"] for tool in rpc(server, "tools/list")["result"]["tools"]] == ["move", "legal_moves", "resign"]
    with server.client(f"/ws?session_id={session}") as client:
        first = client.reset(seed=3, reply="tags")
        assert call(server, session, "legal_moves")["legal_moves"] == first["observation"]["legal_moves"]
        step = client.send("step", type="call_tool", tool_name="move", arguments={"move": "b2"})["data"]
        assert (step["done"], step["metadata"]["reading"]) == (False, "move")
        end = call(server, session, "resign")
        assert (end["done"], end["result"], end["reward"]) == (True, "loss", -1.0)
        assert "no match in progress" in rpc(server, "tools/call", session_id=session, name="move")["error"]["message"]
    verified = verify_file(server.records)
    assert (verified.matches, verified.problems) == (1, [])


def test_tasks_have_their_own_tools(start_server) -> None:
    server = start_server("qa", "mail")
    own = ["search_inbox", "read_email", "return_final_answer"]
    assert [tool["name"] for tool in rpc(server, "tools/list")["result"]["tools"]] == ["move"]
    assert [tool["name"] for tool in rpc(server, "tools/list", "/mail/mcp")["result"]["tools"]] == own
    session = create(server, "/mail/mcp")
    with server.client(f"/mail/ws?session_id={session}") as client:
        client.reset(seed=1)
        assert "Give keywords" in call(server, session, "search_inbox")["text"]
        assert call(server, session, "return_final_answer", answer="I don't know", sources=[])["done"] is True
        listed = client.send("step", type="list_tools")["data"]["observation"]["tools"]
        assert [tool["name"] for tool in listed] == own


@pytest.mark.parametrize(
    ("method", "params", "code", "why"),
    [
        ("initialize", {}, -32601, "Unknown method 'initialize'. Methods: openenv/session/create"),
        ("tools/call", {"name": "move"}, -32602, "needs the session_id"),
        ("tools/call", {"name": "move", "session_id": "no"}, -32602, "Unknown session 'no'"),
        ("tools/call", {"name": "fly", "session_id": None}, -32602, "Unknown tool 'fly'. Tools: move, legal_moves"),
        ("tools/call", {"name": "move", "session_id": None}, -32000, "no match in progress. Send reset first"),
        ("tools/call", {"name": "move", "arguments": [], "session_id": None}, -32602, "must be a JSON object"),
        ("openenv/session/close", {}, -32602, "Unknown session"),
    ],
)
def test_invalid_request_gets_an_error(start_server, method: str, params: dict[str, Any], code: int, why: str) -> None:
    server = start_server("tic_tac_toe")
    if params.get("session_id", "") is None:
        params = {**params, "session_id": create(server)}
    error = rpc(server, method, **params)["error"]
    assert error["code"] == code
    assert why in error["message"]


def test_anything_else_gets_an_error_in_json_rpc(start_server) -> None:
    server = start_server("tic_tac_toe")
    for sent in ({}, {"jsonrpc": "2.0"}, {"jsonrpc": "1.0", "method": "tools/list"}, {"jsonrpc": "2.0", "params": 1}):
        answer = ask(server.port, "POST", "/mcp", json.dumps(sent).encode(), Content_Type="application/json")
        assert answer.status == 200
        assert answer.data["jsonrpc"] == "2.0"
        assert answer.data["error"]["code"] in (-32600, -32601)
    assert ask(server.port, "POST", "/connect_four/mcp", b"{}", Content_Type="application/json").status == 404


def test_sessions_count_as_clients_and_end(start_server) -> None:
    server = start_server("tic_tac_toe", sessions=1)
    session = create(server)
    assert "limit of 1 client" in rpc(server, "openenv/session/create")["error"]["message"]
    with server.client() as client:
        assert json.loads(client.socket.recv())["data"]["code"] == "CAPACITY_REACHED"
    with server.client(f"/ws?session_id={session}") as client:
        client.reset()
        with server.client(f"/ws?session_id={session}") as other:
            assert "already has a websocket" in other.socket.recv()
        closed = rpc(server, "openenv/session/close", session_id=session)["result"]
        assert closed == {"session_id": session, "closed": False}
        assert client.step("b2")["done"] is False
    for _ in range(100):
        if "result" in (answer := rpc(server, "openenv/session/create")):
            break
        time.sleep(0.02)
    assert rpc(server, "openenv/session/close", session_id=answer["result"]["session_id"])["result"]["closed"] is True


def test_idle_tool_session_ends(start_server) -> None:
    server = start_server("tic_tac_toe", idle=0.05)
    session = create(server)
    time.sleep(0.3)
    assert "Unknown session" in rpc(server, "tools/list", session_id=session)["error"]["message"]


def test_websocket_stays_open_while_tools_are_called(start_server) -> None:
    server = start_server("tic_tac_toe", idle=0.8)
    session = create(server)
    with server.client(f"/ws?session_id={session}") as client:
        client.reset()
        for _ in range(10):
            call(server, session, "legal_moves")
            time.sleep(0.1)
        assert client.step("b2")["done"] is False


def test_resigning_ends_the_match_under_every_policy_that_offers_it() -> None:
    for policy in ("forfeit", "retry(2)", "penalty(0.5,2)"):
        session = EnvSession(
            EnvOffer.from_names(["tic_tac_toe"], on_illegal=policy), "tic_tac_toe", lambda played: None
        )
        session.reset({"seed": 1})
        assert session.call_tool("resign", {})["done"] is True
    drawn = EnvSession(EnvOffer.from_names(["tic_tac_toe"], on_illegal="random"), "tic_tac_toe", lambda played: None)
    assert [tool.name for tool in drawn.list_tools()] == ["move", "legal_moves"]
    drawn.reset({"seed": 1})
    with pytest.raises(WireError, match="move: "):
        drawn.call_tool("move", {"to": "a1"})


def test_what_tools_return_depends_only_on_what_the_seat_may_know() -> None:
    played: list[MatchResult] = []
    told, hidden = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    session = EnvSession(EnvOffer.from_names(["kuhn_poker"]), "kuhn_poker", played.append)
    for seed in range(60):
        view, answers = [], []
        shown = session.reset({"seed": seed})
        while not shown["done"]:
            assert session._table is not None
            view.append(session._table.match.observe(0).text)
            answers += [describe_outcome(session.call_tool("legal_moves", {})), describe_outcome(shown)]
            shown = session.call_tool("move", {"move": "pass"})
        told["".join(view)].add(json.dumps(answers))
        hidden["".join(view)].add(str(played[-1].events[:2]))
    assert all(len(answers) == 1 for answers in told.values())
    assert any(len(deals) > 1 for deals in hidden.values())


def test_manifest_names_games_and_the_range_of_rewards() -> None:
    offer = EnvOffer.from_names(["goofspiel(num_cards=3)", "kuhn_poker"], on_illegal="penalty(0.5,2)")
    manifest = yaml.safe_load(build_manifest(offer))
    assert manifest["name"] == "goofspiel"
    assert manifest["validation"]["reward"]["range"] == [-3.0, 2.0]
    assert manifest["validation"]["types"]["tags"] == ["gymposium", "goofspiel", "kuhn_poker"]
