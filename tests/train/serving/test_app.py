"""The service over HTTP: routes and access control."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from gymposium.http.app import build_api
from gymposium.http.client import KEY
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config import TrainConfig
from gymposium_train.serving.app import Api, needs_token, stream_status_events
from gymposium_train.serving.checkpoints import ServedCheckpoints
from gymposium_train.serving.completions import format_error
from gymposium_train.serving.model_app import ModelApi
from gymposium_train.serving.service import Service
from gymposium_train.serving.settings import SessionSettings

ADDRESS = "http://127.0.0.1:8750"
HELLO = {"messages": [{"role": "user", "content": "hello"}]}

Ask = Callable[..., Any]


@asynccontextmanager
async def make_client(service: Service, directory: Path, token: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    config = TrainConfig(games=("tic_tac_toe",))
    routes = Api(service, ServedCheckpoints(directory, config), ADDRESS).routes()
    app = build_api(routes, names=["other.example"], token=token, needs_token=needs_token)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client:
        yield client


@pytest.fixture
def ask(service: Service, tmp_path: Path) -> Ask:
    """Sends a request, and returns the response."""

    def send(method: str, path: str, body: Any = None, token: str | None = None, **more: Any) -> httpx.Response:
        async def sent() -> httpx.Response:
            async with make_client(service, tmp_path, token) as client:
                return await client.request(method, path, json=body, **more)

        return asyncio.run(sent())

    return send


def make_path(session: Any) -> str:
    return str(session["base_url"]).removeprefix(ADDRESS)


def begin_session(ask: Ask, group: str = "a", **more: Any) -> Any:
    return ask("POST", "/v1/sessions", {"group": group}, **more).json()


def end_session(ask: Ask, session: Any, reward: float, **more: Any) -> Any:
    return ask("POST", f"/v1/sessions/{session['id']}/end", {"reward": reward}, headers={KEY: session["key"]}, **more)


def test_session_lifecycle_over_http(ask: Ask) -> None:
    response = ask("POST", "/v1/sessions", {"group": "a", "member": 1, "metadata": {"task": 3}})
    assert response.status_code == 201
    session = response.json()
    assert (session["group"], session["member"]) == ("a", 1)
    answer = ask("POST", f"{make_path(session)}/chat/completions", HELLO).json()
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["message"]["role"] == "assistant"
    assert ask("GET", f"{make_path(session)}/models").json()["data"][0]["id"] == answer["model"]
    for _ in range(2):
        answer = end_session(ask, session, 1.0)
        assert (answer.status_code, answer.json()["state"]) == (200, "ended")
    assert end_session(ask, session, 2.0).status_code == 409
    assert ask("POST", f"{make_path(session)}/chat/completions", HELLO).status_code == 410
    assert ask("GET", "/v1/status").json()["sessions"] == {"ended": 1}


def test_streamed_and_whole_replies_match(ask: Ask) -> None:
    session = begin_session(ask)
    path = f"{make_path(session)}/chat/completions"
    whole = ask("POST", path, HELLO).json()["choices"][0]
    again = {"x-stainless-retry-count": "1"}
    streamed = ask("POST", path, {**HELLO, "stream": True}, headers=again)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    events = [line.removeprefix("data: ") for line in streamed.text.splitlines() if line]
    assert events[-1] == "[DONE]"

    chunks = [json.loads(event)["choices"][0] for event in events[:-1]]
    assert "".join(chunk["delta"].get("content") or "" for chunk in chunks) == whole["message"]["content"]
    assert chunks[-1]["finish_reason"] == whole["finish_reason"]


def test_job_requests_wait_for_completion(ask: Ask, service: Service) -> None:
    for member in range(2):
        session = begin_session(ask)
        ask("POST", f"{make_path(session)}/chat/completions", HELLO)
        end_session(ask, session, float(member))
    job = ask("POST", "/v1/train", {}).json()
    assert job["state"] == "waiting"
    assert ask("POST", "/v1/train", {}).status_code == 409
    assert ask("GET", f"/v1/jobs/{job['id']}?wait=0").json()["state"] == "waiting"
    service.jobs.take(0, lambda: None)
    service.jobs.learned(0, {"train/rows": 2})
    assert ask("GET", f"/v1/jobs/{job['id']}?wait=30").json() == {
        "id": job["id"], "state": "done", "step": 0, "metrics": {"train/rows": 2}
    }  # fmt: skip
    assert ask("GET", "/v1/jobs/99").status_code == 404
    assert ask("GET", f"/v1/jobs/{job['id']}?wait=soon").status_code == 400


def test_errors_have_openai_format_and_suggest_a_fix(ask: Ask) -> None:
    session = begin_session(ask)
    path = f"{make_path(session)}/chat/completions"
    for body, status, said in [
        ({**HELLO, "n": 2}, 400, "n: 2 is not supported. Each request gets one reply."),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "user", "content": "long " * 9000}]}, 400, "the model's context"),
        ([], 400, "object"),
    ]:
        response = ask("POST", path, body)
        assert response.status_code == status, body
        assert said in response.json()["error"]["message"]
    assert ask("POST", path, {**HELLO, "n": 2}).json()["error"]["param"] == "n"


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("sessions", {"grup": "a"}, "grup"),
        ("sessions", {"group": ""}, "group"),
        ("sessions", {"group": "a", "member": -1}, "member"),
        ("sessions", {"group": "a", "seed": "x"}, "seed"),
        ("sessions", {"group": "a", "split": 1}, "split"),
        ("sessions", {"group": "a", "metadata": []}, "metadata"),
        ("sessions/ID/end", {}, "reward"),
        ("sessions/ID/end", {"reward": "x"}, "reward"),
        ("sessions/ID/end", {"reward": 1, "parts": {"x": "y"}}, "parts.x"),
        ("sessions/ID/end", {"reward": 1, "truncated": 1}, "truncated"),
        ("sessions/ID/end", {"reward": 1, "turn_rewards": [1, "x"]}, "turn_rewards[1]"),
        ("sessions/ID/end", {"reward": 1, "turn_rewards": [1, 2]}, "turn_rewards"),
        ("sessions/ID/end", {"reward": 1, "turn_rewards": [1]}, "turn_rewards"),
        ("groups", {"size": 0}, "size"),
        ("groups", {"key": 3}, "key"),
        ("train", {"groups": []}, "groups"),
        ("train", {"groups": ["b"]}, "groups"),
        ("train", {"groups": ["a", 3]}, "groups[1]"),
        ("train", {"group": "a"}, "group"),
    ],
)
def test_errors_name_the_invalid_field(path: str, body: Any, param: str, ask: Ask) -> None:
    session = begin_session(ask)
    response = ask("POST", f"/v1/{path.replace('ID', session['id'])}", body, headers={KEY: session["key"]})
    assert response.status_code in (400, 404, 409)
    assert response.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("/v1/nothing", "Completions are at the base_url"),
        ("/v1/responses", "Completions are at the base_url of a session"),
        ("/s/x/responses", "must end in /v1"),
        ("/s/x/v1/v1/messages", "Give them the base_url without its /v1"),
        ("/s/x/v1/v1/messages/count_tokens", "Give them the base_url without its /v1"),
        ("/s/x/v1/completions", "client.chat.completions.create"),
        ("/s/x/chat/completions", "must end in /v1"),
    ],
)
def test_wrong_paths_suggest_the_address(ask: Ask, path: str, advice: str) -> None:
    response = ask("POST", path, HELLO)
    assert response.status_code == 404
    message = response.json()["error"]["message"]
    assert message.startswith(f"POST {path}: Not Found. ")
    assert advice in message


def test_answers_list_overridden_fields(ask: Ask, service: Service) -> None:
    session = begin_session(ask)
    others = {"top_p": 0.9, "chat_template": "{{ cycler.__init__ }}", "lora_path": "/etc"}
    asked = {**HELLO, "response_format": {"type": "json_object"}, **others}
    names = ["response_format", *others]
    for stream in (False, True):
        response = ask("POST", f"{make_path(session)}/chat/completions", {**asked, "stream": stream})
        assert response.headers["x-gymposium-overridden"] == ", ".join(names)
    assert [turn.data["overridden"] for turn in service.file.turns(session["id"])] == [names] * 2
    assert ask("GET", "/v1/status").json()["overridden"] == dict.fromkeys(names, 2)


def test_strict_servers_refuse_other_sampling(ask: Ask, service: Service) -> None:
    service.sessions.settings = SessionSettings(strict=True)
    refused = ask("POST", f"{make_path(begin_session(ask))}/chat/completions", {**HELLO, "top_p": 0.9})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "top_p")


def test_session_address_cannot_end_the_session(ask: Ask, service: Service) -> None:
    """An agent has the address, and whoever gives the reward has the key."""
    session, other = begin_session(ask), begin_session(ask, "b")
    ask("POST", f"{make_path(session)}/chat/completions", HELLO)
    secret = make_path(session).split("/")[2]
    for key in (None, "", secret, session["id"], other["key"]):
        headers = {} if key is None else {KEY: key}
        for method, path, body in [("POST", "/end", {"reward": 1e6}), ("DELETE", "", None)]:
            response = ask(method, f"/v1/sessions/{session['id']}{path}", body, headers=headers)
            assert (response.status_code, response.json()["error"]["code"]) == (403, "wrong_key")
    assert service.file.session(session["id"]).state == "open"
    assert end_session(ask, session, 1.0).status_code == 200


@pytest.mark.parametrize("reward", [1e308, -1.7e308, 2e9, 10**400])
def test_rewards_too_large_to_compare_are_refused(ask: Ask, reward: float) -> None:
    session = begin_session(ask)
    ask("POST", f"{make_path(session)}/chat/completions", HELLO)
    assert end_session(ask, session, reward).status_code == 400


def test_long_messages_are_refused_before_tokenization(ask: Ask) -> None:
    path = f"{make_path(begin_session(ask))}/chat/completions"
    response = ask("POST", path, {"messages": [{"role": "user", "content": "<" * 3_900_000}]})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert "3,900,000 characters" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("/v1/v1/messages", "Give them the base_url without its /v1"),
        ("/v1/completions", "client.chat.completions.create"),
        ("/chat/completions", "must end in /v1"),
        ("/models", "must end in /v1"),
        ("/nothing", "Completions are at /v1/chat/completions"),
    ],
)
def test_model_only_api_also_suggests_the_address(player: LanguageModelPlayer, path: str, advice: str) -> None:
    async def sent() -> httpx.Response:
        transport = httpx.ASGITransport(build_api(ModelApi(player, "tiny", 0, strict=False).routes()))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client:
            return await client.post(path, json=HELLO)

    response = asyncio.run(sent())
    assert response.status_code == 404
    assert advice in response.json()["error"]["message"]


def test_anthropic_paths_have_errors_in_its_form(player: LanguageModelPlayer) -> None:
    routes = ModelApi(player, "tiny", 0, strict=False).routes()
    app = build_api(routes, token="right", needs_token=needs_token, format_error=format_error)

    async def send(path: str, key: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client:
            return await client.post(path, headers={"x-api-key": key}, **more)

    for path, key, more, status, kind in [
        ("/v1/messages", "wrong", {"json": HELLO}, 401, "authentication_error"),
        ("/v1/messages/count_tokens", "", {"json": HELLO}, 401, "authentication_error"),
        ("/v1/v1/messages", "right", {"json": HELLO}, 404, "not_found_error"),
        ("/v1/messages", "right", {"content": b"hello"}, 415, "invalid_request_error"),
        ("/v1/messages", "right", {"json": {**HELLO, "system": "x" * 5 * 2**20}}, 413, "request_too_large"),
    ]:
        response = asyncio.run(send(path, key, **more))
        told = response.json()
        assert (response.status_code, told["type"], told["error"]["type"]) == (status, "error", kind)
    assert asyncio.run(send("/v1/messages", "right", json=HELLO)).json()["type"] == "message"


def test_other_dialects_report_overridden_fields_by_their_names(ask: Ask, service: Service) -> None:
    session = begin_session(ask)
    for path, fields, reported in [
        (
            "messages",
            {"messages": HELLO["messages"], "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
            "thinking, output_config.effort",
        ),
        (
            "responses",
            {"input": "hello", "top_p": 0.5, "text": {"format": {"type": "json_object"}}},
            "top_p, text.format",
        ),
    ]:
        response = ask("POST", f"{make_path(session)}/{path}", fields)
        assert response.headers["x-gymposium-overridden"] == reported
        assert service.file.turns(session["id"])[-1].data["overridden"] == reported.split(", ")


def test_secret_opens_only_its_own_session(ask: Ask) -> None:
    session, other = begin_session(ask), begin_session(ask, "b")
    ask("POST", f"{make_path(session)}/chat/completions", HELLO)
    secret = make_path(session).split("/")[2]
    for wrong in (secret[:-1], secret + "x", session["id"], "..", "%2e%2e", "a" * 300):
        assert ask("POST", f"/s/{wrong}/v1/chat/completions", HELLO).status_code in (404, 421), wrong
    # the id of another session and the secret of this one do not make a pair
    assert ask("POST", f"/s/{secret}/v1/sessions/{other['id']}/end", {"reward": 1}).status_code == 404
    assert secret not in ask("GET", "/v1/status").text


def test_remote_requests_need_the_token_except_session_paths(ask: Ask) -> None:
    bearer = {"Authorization": "Bearer right"}
    session = begin_session(ask, token="right", headers=bearer)
    for method, path, body in [
        ("POST", "/v1/sessions", {}),
        ("POST", f"/v1/sessions/{session['id']}/end", {"reward": 1}),
        ("DELETE", f"/v1/sessions/{session['id']}", None),
        ("POST", "/v1/train", {}),
        ("GET", "/v1/status", None),
        ("GET", "/v1/events", None),
        ("GET", "/v1/checkpoints", None),
        ("POST", "/v1/checkpoints/1/promote", {}),
    ]:
        assert ask(method, path, body, token="right").status_code == 401, path
        wrong = ask(method, path, body, token="right", headers={"Authorization": "Bearer wrong"})
        assert wrong.status_code == 401, path
        assert "right" not in wrong.text
    assert ask("POST", f"{make_path(session)}/chat/completions", HELLO, token="right").status_code == 200
    assert ask("GET", "/health", token="right").status_code == 200


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/train", "/v1/groups"])
def test_foreign_origins_and_hosts_are_refused(ask: Ask, path: str) -> None:
    assert ask("POST", path, {}, headers={"Host": "evil.example"}).status_code == 421
    assert ask("POST", path, {}, headers={"Origin": "https://evil.example"}).status_code == 403
    assert ask("POST", path, {}, headers={"Host": "other.example:8750"}).status_code in (201, 409)
    assert ask("POST", path, content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415


def test_large_or_deep_bodies_are_refused(ask: Ask) -> None:
    path = f"{make_path(begin_session(ask))}/chat/completions"
    large = {"messages": [{"role": "user", "content": "x" * 5 * 2**20}]}
    assert ask("POST", path, large).status_code == 413
    deep = b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    json_type = {"Content-Type": "application/json"}
    assert ask("POST", path, content=deep, headers=json_type).status_code == 400
    schema: Any = {"type": "object"}
    for _ in range(50):
        schema = {"type": "object", "properties": {"a": schema}}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    assert ask("POST", path, {**HELLO, "tools": [tool]}).status_code == 400


@pytest.mark.parametrize("path", ["SESSION/chat/completions", "/v1/sessions", "END", "/v1/groups", "/v1/train"])
def test_field_names_with_lone_surrogates_are_refused(ask: Ask, path: str) -> None:
    session = begin_session(ask)
    path = path.replace("SESSION", make_path(session)).replace("END", f"/v1/sessions/{session['id']}/end")
    refused = ask("POST", path, content=rb'{"\ud800": 1}', headers={"Content-Type": "application/json"})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"]


@pytest.mark.parametrize("digits", [18, 19, 20, 5000])
@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/jobs/{}"), ("POST", "/v1/checkpoints/{}/promote")])
def test_huge_numbers_in_paths_are_refused(ask: Ask, method: str, path: str, digits: int) -> None:
    refused = ask(method, path.format("9" * digits))
    assert 400 <= refused.status_code < 500
    assert refused.json()["error"]["message"]


def test_names_are_never_used_as_paths(ask: Ask, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    hostile = "../../../etc/passwd"
    assert ask("POST", "/v1/sessions", {"group": hostile, "metadata": {"file": hostile}}).status_code == 201
    for method, path in [
        ("DELETE", "/v1/sessions/..%2f..%2fetc"),
        ("POST", "/v1/sessions/%2e%2e/end"),
        ("POST", "/v1/checkpoints/..%2f1/promote"),
        ("POST", "/v1/checkpoints/-1/promote"),
        ("POST", "/v1/checkpoints/1/promote"),
    ]:
        assert ask(method, path, {"reward": 1.0}).status_code in (404, 405), path
    for wrong in ("", "x" * 201, "a\nb", 3):
        assert ask("POST", "/v1/sessions", {"group": wrong}).status_code == 400, wrong
    assert sorted(tmp_path.rglob("*")) == before


def test_keys_and_secrets_are_not_logged(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    session = begin_session(ask, token="top-secret", headers={"Authorization": "Bearer top-secret"})
    key = {"Authorization": "Bearer sk-client-key"}
    assert ask("POST", f"{make_path(session)}/chat/completions", HELLO, token="top-secret", headers=key).is_success
    assert ask("GET", "/v1/status", token="top-secret", headers=key).status_code == 401
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("gymposium")]
    assert not any(word in line for line in ours for word in ("top-secret", "sk-client-key"))


def test_events_report_changes(service: Service, tmp_path: Path) -> None:
    async def first_two() -> list[str]:

        events = stream_status_events(service)
        first = await anext(events)
        service.jobs.add_group("a", 2)
        second = await anext(events)
        await events.aclose()
        return [first, second]

    first, second = asyncio.run(first_two())
    assert '"groups": {}' in first
    assert '"groups": {"open": 1}' in second
