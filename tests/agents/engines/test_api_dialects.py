"""The dialects `messages` and `responses`: requests, tool calls, answers and errors in the services' own forms."""

from __future__ import annotations

import base64
import json
import traceback
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from tests.agents.chat_server import Answer, ChatRequest, ChatServer, chat_server, check_body
from tests.gymposium.tasks.guessing import guessing

from gymposium.errors import BadOption, GymposiumError
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium.records import Record
from gymposium.records.replay import find_replay_difference
from gymposium_agents.chat.tokens import Message, Sampling
from gymposium_agents.engines.api_settings import ApiSettings, Prices
from gymposium_agents.engines.chat_api import OpenAIChatEngine
from gymposium_agents.engines.protocol import ChatCompletion
from gymposium_agents.players.api_player import make_api_player, read_options

Name = Literal["messages", "responses"]
KEY = "sk-canary-5b2e8d"
HELLO = [{"role": "user", "content": "hello"}]
TOOL = guessing().tools[0]
THOUGHT = {
    "messages": {"type": "thinking", "thinking": "Low.", "signature": "c2lnbmVk"},
    "responses": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2lnbmVk"},
}
each_dialect = pytest.mark.parametrize("dialect", get_args(Name))


@dataclass
class Said:
    """A reply of the model, before it is written in a dialect."""

    text: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    stop: str | None = None
    thought: bool = False


def write(dialect: Name, said: Said, number: int = 0) -> Answer:
    """The answer of a service that says this."""
    if dialect == "messages":
        blocks: list[dict[str, Any]] = [
            *([THOUGHT[dialect]] if said.thought else []),
            *([{"type": "text", "text": said.text, "citations": None}] if said.text else []),
            *({"type": "tool_use", "id": f"toolu_{number}{i}", "name": name, "input": arguments}
              for i, (name, arguments) in enumerate(said.calls)),
        ]  # fmt: skip
        usage = {"input_tokens": 4, "cache_read_input_tokens": 6, "cache_creation_input_tokens": None}
        return Answer(
            body={
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "content": blocks,
                "stop_reason": said.stop or ("tool_use" if said.calls else "end_turn"),
                "usage": {**usage, "output_tokens": 2},
            }
        )
    content = [{"type": "output_text", "text": said.text, "annotations": []}]
    items: list[dict[str, Any]] = [
        *([THOUGHT[dialect]] if said.thought else []),
        *([{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]
          if said.text else []),
        *({"type": "function_call", "id": f"fc_{i}", "call_id": f"call_{number}{i}", "name": name,
           "status": "completed", "arguments": json.dumps(arguments)}
          for i, (name, arguments) in enumerate(said.calls)),
    ]  # fmt: skip
    return Answer(
        body={
            "id": "resp_1",
            "object": "response",
            "error": None,
            "status": "incomplete" if said.stop else "completed",
            "incomplete_details": {"reason": said.stop} if said.stop else None,
            "output": items,
            "usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
        }
    )


def fail(dialect: Name, status: int, kind: str, message: str, **error: Any) -> Answer:
    """An error in the service's form; if the client retries, it does so at once."""
    inner = {"type": kind, "message": message, **error}
    body = {"type": "error", "error": inner} if dialect == "messages" else {"error": {"code": kind, **inner}}
    return Answer(status, body, {"Retry-After": "0.01"})


def ask(server: ChatServer, dialect: Name, tools: Any = (), **options: Any) -> ChatCompletion:
    engine = OpenAIChatEngine(ApiSettings("tiny", server.url, dialect=dialect, **options))
    try:
        return engine.submit(HELLO, Sampling(0.5, 7), 3, tools).result(60)  # type: ignore[arg-type]
    finally:
        engine.close()


def play_guessing(dialect: Name, *said: Said, options: str = "") -> tuple[ChatServer, MatchResult]:
    with chat_server(lambda asked, number: write(dialect, said[number], number)) as server:
        player = make_api_player("tiny", f"base_url={server.url}&dialect={dialect}&reply=tools{options}")
        [played] = play([MatchJob("m", guessing(), [player], 4, on_illegal=FailurePolicy("retry", 1))])
    return server, played


def guess(number: int) -> tuple[str, Any]:
    return ("guess", {"number": number})


# requests


def test_request_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)
    with chat_server(lambda asked, number: write("messages", Said("hi"))) as server:
        ask(server, "messages", [TOOL], key="THEIR_KEY", system="Be terse.", top_p=0.9, reasoning_effort="low")
        ask(server, "messages", thinking_budget=1024, own_temperature=True)
    first, second = server.asked
    assert first.path == "/v1/messages"
    assert first.headers["x-api-key"] == KEY
    assert first.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in first.headers
    assert first.body == {
        "model": "tiny",
        "system": "Be terse.",
        "messages": HELLO,
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "output_config": {"effort": "low"},
        "tools": [{"name": TOOL.name, "description": TOOL.description, "input_schema": dict(TOOL.parameters)}],
    }
    thinking = {"type": "enabled", "budget_tokens": 1024}
    assert second.body == {"model": "tiny", "messages": HELLO, "max_tokens": 7, "thinking": thinking}


def test_request_of_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)
    with chat_server(lambda asked, number: write("responses", Said("hi"))) as server:
        ask(server, "responses", [TOOL], key="THEIR_KEY", system="Be terse.", top_p=0.9, reasoning_effort="low")
    [asked] = server.asked
    assert asked.path == "/v1/responses"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "tiny",
        "instructions": "Be terse.",
        "input": HELLO,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "reasoning": {"effort": "low"},
        "tools": [{"type": "function", "strict": False, **TOOL.as_dict}],
    }


@each_dialect
def test_pictures_come_before_the_text(dialect: Name) -> None:
    message: Message = {"role": "user", "content": "hello", "pictures": ((0, b"a file"),)}
    with chat_server(lambda asked, number: write(dialect, Said("hi"))) as server:
        engine = OpenAIChatEngine(ApiSettings("tiny", server.url, dialect=dialect))
        engine.submit([message], Sampling(0.5, 7), 3).result(60)
        engine.close()
    body = server.asked[0].body
    check_types(dialect, [body])
    [sent] = body["messages" if dialect == "messages" else "input"]
    picture, text = sent["content"]
    assert text["text"] == "hello"
    data = picture["source"]["data"] if dialect == "messages" else picture["image_url"].rpartition(",")[2]
    assert base64.b64decode(data) == b"a file"


# tools


@each_dialect
@pytest.mark.parametrize("context", ["full", "truncated"])
def test_game_is_played_through_tools(dialect: Name, context: str) -> None:
    first = Said("Low first.", (guess(2),), thought=True)
    said = (first, Said("", (guess(7), guess(3))), Said("It is 4."), Said("", (guess(4),)))
    server, played = play_guessing(dialect, *said, options=f"&context={context}&prices=1/10")
    assert played.paid == (1.0,)
    assert [turn.reading for turn in played.turns] == ["move", "move", "unparsable", "move"]
    record = Record.from_match(played)
    assert find_replay_difference(guessing(), record) is None
    assert [turn["cost"] for turn in record.turns] == [3e-5] * 4
    check_history(dialect, server.asked[3].body, native=context == "full")
    check_types(dialect, [asked.body for asked in server.asked])


def check_history(dialect: Name, body: dict[str, Any], *, native: bool) -> None:
    """The last request holds each call with its result, and the thoughts as they were signed."""
    rest = body["messages" if dialect == "messages" else "input"][1:]
    ids: list[str] = ["000000001", "000000002", "000000003"]
    if dialect == "messages":
        if native:
            ids = ["toolu_00", "toolu_10", "toolu_11"]
        thought = [THOUGHT[dialect]] if native else []
        calls = [
            {"type": "tool_use", "id": id_, "name": "guess", "input": {"number": number}}
            for id_, number in zip(ids, (2, 7, 3))
        ]
        results = [
            {"type": "tool_result", "tool_use_id": id_, "content": text}
            for id_, text in zip(ids, ("higher", "lower", "higher"))
        ]
        assert rest[:-1] == [
            {"role": "assistant", "content": [*thought, {"type": "text", "text": "Low first."}, calls[0]]},
            {"role": "user", "content": results[:1]},
            {"role": "assistant", "content": calls[1:]},
            {"role": "user", "content": results[1:]},
            {"role": "assistant", "content": "It is 4."},
        ]
    else:
        if native:
            ids = ["call_00", "call_10", "call_11"]
        said = [{"role": "assistant", "content": "Low first."}]
        if native:
            content = [{"type": "output_text", "text": "Low first.", "annotations": []}]
            said = [
                THOUGHT[dialect],
                {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content},
            ]
        made = [{key: item[key] for key in ("call_id", "name", "arguments")} for item in rest if "name" in item]
        assert made == [
            {"call_id": id_, "name": "guess", "arguments": json.dumps({"number": number})}
            for id_, number in zip(ids, (2, 7, 3))
        ]
        results = [
            {"type": "function_call_output", "call_id": id_, "output": text}
            for id_, text in zip(ids, ("higher", "lower", "higher"))
        ]
        others = [item for item in rest if "name" not in item]
        assert others[:-1] == [*said, *results, {"role": "assistant", "content": "It is 4."}]
    assert "could not be read" in rest[-1]["content"]


def check_types(dialect: Name, bodies: list[dict[str, Any]]) -> None:
    """The bodies have the types of the service's own library."""
    for body in bodies:
        check_body(MessageCreateParamsNonStreaming if dialect == "messages" else ResponseCreateParamsNonStreaming, body)


@each_dialect
def test_calls_that_were_not_offered_are_counted(dialect: Name) -> None:
    with chat_server(lambda asked, number: write(dialect, Said("b2", (guess(1),)))) as server:
        said = ask(server, dialect)
    assert (said.text, said.calls, said.finish_reason) == ("b2", (), "stop")


def test_malformed_arguments_of_responses_are_unparsable() -> None:
    answer = write("responses", Said("", (guess(1),)))
    answer.body["output"][0]["arguments"] = '{"number": 1'
    with chat_server(lambda asked, number: answer) as server:
        said = ask(server, "responses", [TOOL])
    assert (said.text, said.calls, said.native) == ('guess {"number": 1', (), None)


# answers


@each_dialect
@pytest.mark.parametrize(
    ("reasons", "finish"),
    [
        (("max_tokens", "max_output_tokens"), "length"),
        (("refusal", "content_filter"), "length"),
        ((None, None), "stop"),
    ],
)
def test_finish_reasons(dialect: Name, reasons: tuple[str | None, str | None], finish: str) -> None:
    said = Said("hi", stop=reasons[get_args(Name).index(dialect)], thought=True)
    with chat_server(lambda asked, number: write(dialect, said)) as server:
        found = ask(server, dialect, prices=Prices(1e6, 1e6))
    assert (found.text, found.finish_reason) == ("hi", finish)
    assert (found.prompt_tokens, found.completion_tokens, found.cost) == (10, 2, 12.0)


@each_dialect
def test_empty_reply_is_empty(dialect: Name) -> None:
    with chat_server(lambda asked, number: write(dialect, Said(thought=True))) as server:
        assert ask(server, dialect).text == ""


def breaking(dialect: Name) -> dict[str, bytes]:
    """Answers that are none of the dialect, by what is wrong."""
    whole = json.dumps(write(dialect, Said("hi", (guess(1),))).body)
    parts, text, name = ("content", "text", "name") if dialect == "messages" else ("output", "output_text", "name")
    return {
        "a list": b"[]",
        "a chat completion": b'{"choices": [{"message": {"content": "b2"}}]}',
        f"no {parts}": whole.replace(f'"{parts}"', '"nothing"', 1).encode(),
        "parts are text": json.dumps({**json.loads(whole), parts: "hi"}).encode(),
        "a part is text": json.dumps({**json.loads(whole), parts: ["hi"]}).encode(),
        "unknown types": whole.replace(f'"type": "{text}"', '"type": "video"').encode(),
        "text is a number": whole.replace('"text": "hi"', '"text": 3').encode(),
        "a surrogate": whole.replace('"text": "hi"', r'"text": "\ud800"').encode(),
        "no name": whole.replace(f'"{name}": "guess"', '"called": "guess"').encode(),
        "usage is a list": json.dumps({**json.loads(whole), "usage": []}).encode(),
        "negative tokens": whole.replace('"output_tokens": 2', '"output_tokens": -2').encode(),
        "a repeated key": whole.replace('"usage"', '"id": 3, "usage"').encode(),
        "cut short": whole[:-9].encode(),
        "empty": b"",
        "an error": json.dumps({"type": "error", "error": {"type": "api_error", "message": "no"}}).encode(),
    }


@pytest.mark.parametrize(("dialect", "what"), [(one, what) for one in get_args(Name) for what in breaking(one)])
def test_invalid_answers_are_errors(dialect: Name, what: str) -> None:
    answer = Answer(body=breaking(dialect)[what])
    with chat_server(lambda asked, number: answer) as server, pytest.raises(GymposiumError, match=server.url):
        ask(server, dialect, [TOOL], retries=0)


@pytest.mark.parametrize(
    ("dialect", "answer", "says"),
    [
        ("messages", fail("messages", 401, "authentication_error", "invalid x-api-key"), "requires a key"),
        ("messages", fail("messages", 404, "not_found_error", "model: tiny"), "no model called 'tiny'"),
        ("messages", fail("messages", 400, "invalid_request_error", "prompt is too long"), "do not fit"),
        ("messages", fail("messages", 400, "invalid_request_error", "max_tokens: must be at most 9"), "max_tokens="),
        ("messages", fail("messages", 529, "overloaded_error", "Overloaded"), r"failed \(529; attempts: 2"),
        ("responses", fail("responses", 401, "invalid_api_key", "Incorrect API key"), "requires a key"),
        ("responses", fail("responses", 400, "context_length_exceeded", "too long"), "do not fit"),
        ("responses", fail("responses", 500, "server_error", "oh"), r"failed \(500; attempts: 2"),
        ("responses", Answer(body={"status": "failed", "error": {"code": "server_error", "message": "oh"}}), "502"),
        ("responses", Answer(body={"status": "cancelled", "error": None}), "status: cancelled"),
    ],
)
def test_errors_of_the_service_are_explained(dialect: Name, answer: Answer, says: str) -> None:
    with chat_server(lambda asked, number: answer) as server, pytest.raises(GymposiumError, match=says):
        ask(server, dialect, retries=1)


@pytest.mark.parametrize(
    ("dialect", "field", "answer"),
    [
        ("messages", "temperature", fail("messages", 400, "invalid_request_error", "`temperature` is deprecated")),
        (
            "responses",
            "temperature",
            fail("responses", 400, "x", "Unsupported parameter: 'temperature'", param="temperature"),
        ),
        (
            "responses",
            "include",
            fail("responses", 400, "x", "Encrypted content is not supported with this model.", param="include"),
        ),
    ],
)
def test_refused_fields_are_left_out(dialect: Name, field: str, answer: Answer) -> None:
    def answers(asked: ChatRequest, number: int) -> Answer:
        return answer if field in asked.body else write(dialect, Said("hi"))

    with chat_server(answers) as server:
        assert ask(server, dialect, [TOOL]).text == "hi"
    assert [field in asked.body for asked in server.asked] == [True, False]


@each_dialect
def test_key_is_never_told(dialect: Name, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)
    said = Said(f"my key is {KEY}", (("misbehave", {"how": KEY}),))
    with chat_server(lambda asked, number: write(dialect, said)) as server:
        found = ask(server, dialect, guessing().tools, key="THEIR_KEY")
    assert "canary" not in repr(found)
    assert found.calls[0].arguments == {"how": "[key]"}

    def repeat(asked: ChatRequest, number: int) -> Answer:
        return fail(dialect, 400, "x", f"{asked.headers}")

    with chat_server(repeat) as server, pytest.raises(GymposiumError) as caught:
        ask(server, dialect, key="THEIR_KEY")
    assert "canary" not in "".join(traceback.format_exception(caught.value))


# settings


def test_dialects_have_addresses_and_keys() -> None:
    def where(options: dict[str, str]) -> tuple[str, str | None]:
        [endpoint] = read_options("m", options)[0].endpoints
        return endpoint.base_url, endpoint.variable

    assert where({"dialect": "messages"}) == ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")
    assert where({"dialect": "responses"}) == ("https://api.openai.com/v1", "OPENAI_API_KEY")
    assert where({"dialect": "messages", "base_url": "http://127.0.0.1:1"}) == ("http://127.0.0.1:1/v1", None)
    assert read_options("m", {"dialect": "messages"})[0].own_temperature
    assert not read_options("m", {"dialect": "messages", "temperature": "1"})[0].own_temperature


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"dialect": "completions"}, "Use chat, messages, responses"),
        ({"dialect": "messages", "limit": "max_tokens"}, "limit= is only for dialect=chat"),
        ({"thinking_budget": "2000"}, "only for dialect=messages. Use reasoning_effort= instead"),
        ({"dialect": "messages", "thinking_budget": "0"}, "Use 1 or more"),
        ({"base_url": "https://a.example/v1/messages"}, "Omit /messages"),
    ],
)
def test_invalid_settings_are_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(BadOption, match=says):
        read_options("m", options)
