"""Answers, streams and errors against the types of the published protocols."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import httpx
import openai.types as openai_types
import pytest
from openai.types import chat as chat_types, responses as response_types
from pydantic import TypeAdapter
from tests.agents.serving.scripted import Break, Script

from gymposium.http.app import build_api
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import Sampling
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.serving.completions import format_error
from gymposium_train.serving.model_app import ModelApi

from .scripted import CALLS, MAX_TOKENS, TOOLS

anthropic_types = pytest.importorskip("anthropic.types", reason="anthropic is not installed: tox run -e tests")

HI: Any = [{"role": "user", "content": "hi"}]
FUNCTION: Any = TOOLS[0]["function"]
TOOL: Any = {"name": FUNCTION["name"], "input_schema": FUNCTION["parameters"]}
CHAT, MESSAGES, RESPONSES = "chat/completions", "messages", "responses"
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"messages": HI, "tools": TOOLS, "logprobs": True, "stream_options": {"include_usage": True}},
    MESSAGES: {"messages": HI, "tools": [TOOL]},
    RESPONSES: {
        "input": "hi",
        "tools": [{"type": "function", **FUNCTION}],
        "include": ["message.output_text.logprobs"],
        "instructions": "Be brief.",
        "metadata": {"task": "3"},
        "max_output_tokens": 150,
    },
}
WHOLE: dict[str, Any] = {
    CHAT: chat_types.ChatCompletion,
    MESSAGES: anthropic_types.Message,
    RESPONSES: response_types.Response,
}
PARTS: dict[str, Any] = {
    CHAT: chat_types.ChatCompletionChunk,
    MESSAGES: anthropic_types.RawMessageStreamEvent,
    RESPONSES: response_types.ResponseStreamEvent,
}


def ask(script: Script, chat: Chat, requests: Iterable[tuple[str, str, Any]]) -> list[httpx.Response]:
    """Send requests to a served model."""

    async def send_all() -> list[httpx.Response]:
        player = LanguageModelPlayer("lm:script", script, chat, sampling=Sampling(1.0, MAX_TOKENS))
        app = build_api(ModelApi(player, "tiny", 0, strict=False).routes(), format_error=format_error)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8750/v1/") as client:
            return [await client.request(method, path, json=body) for method, path, body in requests]

    return asyncio.run(send_all())


def read_events(text: str) -> list[dict[str, Any]]:
    """Return the objects of server-sent events, whose names must be their types."""
    events = []
    for event in text.split("\n\n"):
        *names, data = event.splitlines() or ["data: [DONE]"]
        if data != "data: [DONE]":
            events.append(json.loads(data.removeprefix("data: ")))
            assert names == ([f"event: {events[-1]['type']}"] if "type" in events[-1] else [])
    return events


def validate(kind: Any, value: Any) -> None:
    """Check a value against a type without conversions: the clients of OpenAI and Anthropic check nothing."""
    TypeAdapter(kind).validate_json(json.dumps(value), strict=True)


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("chat", ["qwen2.5", "qwen3"], indirect=True)
def test_answers_and_events_have_the_published_types(path: str, chat: Chat) -> None:
    assert chat.dialect is not None
    calls = chat.dialect.write(CALLS[:2])
    thoughts = ["", "<think>\nhm\n</think>\n\n", "<think>\n\n</think>\n\n"] if chat.thinking else [""]
    said = [f"{before}{text}" for before in thoughts for text in ("Hello.", f"I look. {calls}", calls, "")]
    said += ["<think>\nendless " + "hm " * MAX_TOKENS] if chat.thinking else ["long " * MAX_TOKENS]
    replies = [reply for reply in said for _ in range(2)]
    bodies = [BODIES[path], {**BODIES[path], "stream": True}] * len(said)
    answers = ask(Script(chat, replies), chat, [("POST", path, body) for body in bodies])
    for reply, whole, stream in zip(said, answers[::2], answers[1::2], strict=True):
        answer, events = whole.json(), read_events(stream.text)
        validate(WHOLE[path], answer)
        for event in events:
            validate(PARTS[path], event)
        check = {CHAT: check_chunks, MESSAGES: check_message_events, RESPONSES: check_response_events}[path]
        check(answer, events, has_thoughts="hm" in reply)


def check_chunks(answer: Any, events: list[Any], *, has_thoughts: bool) -> None:
    message = answer["choices"][0]["message"]
    deltas = [event["choices"][0]["delta"] for event in events[:-1]]
    assert "".join(delta.get("content") or "" for delta in deltas) == (message["content"] or "")
    assert any("reasoning_content" in delta for delta in deltas) == ("reasoning_content" in message) == has_thoughts
    assert [event["usage"] for event in events] == [None] * len(deltas) + [answer["usage"]]
    assert bool(answer["usage"]["completion_tokens_details"]["reasoning_tokens"]) >= has_thoughts
    assert events[-2]["choices"][0]["finish_reason"] == answer["choices"][0]["finish_reason"]


def check_message_events(answer: Any, events: list[Any], *, has_thoughts: bool) -> None:
    starts = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    assert starts == [block["type"] for block in answer["content"]]
    assert ("thinking" in starts) == has_thoughts
    indices = [event["index"] for event in events if event["type"] == "content_block_stop"]
    assert indices == [*range(len(starts))]
    assert events[-2]["usage"] == answer["usage"]
    assert events[-2]["delta"] == {name: answer[name] for name in ("stop_reason", "stop_sequence")}


def check_response_events(answer: Any, events: list[Any], *, has_thoughts: bool) -> None:
    last = events[-1]["response"]
    assert [event["item"] for event in events if event["type"] == "response.output_item.done"] == last["output"]
    added = [event for event in events if event["type"] == "response.output_item.added"]
    assert [event["output_index"] for event in added] == [*range(len(last["output"]))]
    assert ([item["type"] for item in last["output"]][:1] == ["reasoning"]) == has_thoughts
    assert (events[-1]["type"], last["usage"]) == (f"response.{answer['status']}", answer["usage"])
    repeated = ("instructions", "metadata", "max_output_tokens")
    assert all(one[name] == BODIES[RESPONSES][name] for one in (answer, last) for name in repeated)


def test_models_are_described_to_the_clients_of_both(chat: Chat) -> None:
    listed, shown, unknown = ask(Script(chat, []), chat, [("GET", f"models{end}", None) for end in ("", "/tiny", "/x")])
    for model in (shown.json(), *listed.json()["data"]):
        validate(openai_types.Model, model)
        validate(anthropic_types.ModelInfo, model)
    assert (unknown.status_code, unknown.json()["error"]["message"]) == (404, "Unknown model 'x'. The model is 'tiny'.")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", BODIES)
def test_other_methods_are_refused_in_the_dialect(method: str, path: str, chat: Chat) -> None:
    [refused] = ask(Script(chat, []), chat, [(method, path, None)])
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    if method != "HEAD":
        assert refused.json()["error"]["message"] == f"{method} /v1/{path}: Method Not Allowed. Use POST."
        assert ("type" in refused.json()) == (path == MESSAGES)


@pytest.mark.parametrize("path", ["messages/batches", "messages/", "v1/messages"])
def test_unknown_paths_below_messages_have_errors_in_its_form(path: str, chat: Chat) -> None:
    [refused] = ask(Script(chat, []), chat, [("POST", path, BODIES[MESSAGES])])
    assert (refused.status_code, refused.json()["error"]["type"]) == (404, "not_found_error")


@pytest.mark.parametrize("path", BODIES)
def test_unexpected_failures_end_streams_with_an_error(path: str, chat: Chat) -> None:
    body = {name: value for name, value in BODIES[path].items() if name != "tools"}
    broken = Break("Once upon a time.", ZeroDivisionError("secret"))
    [stream] = ask(Script(chat, [broken]), chat, [("POST", path, {**body, "stream": True})])
    assert stream.status_code == 200
    *parts, last = read_events(stream.text)
    assert len(parts) > 3
    assert last["error"]["message"] == "The server failed at this request; its log says why."
    assert "secret" not in stream.text
    if path == RESPONSES:
        validate(response_types.ResponseErrorEvent, last)
