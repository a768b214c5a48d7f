"""The engine for chat services: requests, answers, errors, and secrecy of the key."""

from __future__ import annotations

import gzip
import json
import logging
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.agents.chat_server import Answer, ChatRequest, ChatServer, chat_server, completion, refusal

from gymposium.errors import BadOption, GymposiumError
from gymposium_agents.chat.tokens import Sampling
from gymposium_agents.engines import api_dialect, failures_in_answers as failures
from gymposium_agents.engines.api_errors import ApiError, PromptTooLong, make_rate_limit_headers
from gymposium_agents.engines.api_settings import ApiSettings, Prices
from gymposium_agents.engines.api_wire import Pace
from gymposium_agents.engines.chat_api import OpenAIChatEngine
from gymposium_agents.engines.protocol import ChatCompletion

KEY = "sk-canary-4f1d9c"
HELLO = [{"role": "user", "content": "hello"}]


def ask(settings: ApiSettings) -> ChatCompletion:
    engine = OpenAIChatEngine(settings)
    try:
        return engine.submit(HELLO, Sampling(0.5, 7), 3).result(60)
    finally:
        engine.close()


def local(server: ChatServer, **options: Any) -> ApiSettings:
    return ApiSettings("tiny", server.url, **options)


# requests


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_base_url_and_path_are_joined_once(path: str) -> None:
    with chat_server(lambda asked, number: completion("hi")) as server:
        assert ask(ApiSettings("tiny", server.url + path)).text == "hi"
    assert [asked.path for asked in server.asked] == ["/v1/chat/completions"]


def test_request_holds_messages_and_sampling() -> None:
    with chat_server(lambda asked, number: completion("hi")) as server:
        ask(local(server))
        ask(local(server, seed=False, own_temperature=True))
    assert server.asked[0].body == {
        "model": "tiny",
        "messages": HELLO,
        "max_tokens": 7,
        "temperature": 0.5,
        "seed": 3,
    }
    assert server.asked[1].body == {"model": "tiny", "messages": HELLO, "max_tokens": 7}


def test_local_servers_get_no_key_unless_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("THEIR_KEY", KEY)
    with chat_server(lambda asked, number: completion("hi")) as server:
        ask(local(server))
        ask(local(server, key="THEIR_KEY"))
    assert "authorization" not in server.asked[0].headers
    assert server.asked[1].headers["authorization"] == f"Bearer {KEY}"


def test_concurrent_requests_are_limited() -> None:
    two_are_here, go_on = threading.Event(), threading.Event()

    def answer(asked: ChatRequest, number: int) -> Answer:
        if number == 1:
            two_are_here.set()
        answer = completion("hi")
        answer.until = go_on
        return answer

    with chat_server(answer) as server:
        engine = OpenAIChatEngine(local(server, at_once=2))
        futures = [engine.submit(HELLO, Sampling(), seed) for seed in range(6)]
        assert two_are_here.wait(30)
        go_on.set()
        assert [future.result(60).text for future in futures] == ["hi"] * 6
        engine.close()
    assert server.most_at_once == 2


@given(per_minute=st.integers(1, 600), gaps=st.lists(st.floats(0, 100), max_size=50))
def test_pace_limits_starts_per_minute(per_minute: int, gaps: list[float]) -> None:
    pace, now, starts = Pace(per_minute), 1000.0, []
    for gap in gaps:
        now += gap
        wait = pace.wait(now)
        assert wait >= 0
        starts.append(now + wait)
    assert starts == sorted(starts)
    for first, later in zip(starts, starts[per_minute:]):
        assert later - first >= 60.0 - 1e-6


def test_rpm_delays_requests() -> None:
    with chat_server(lambda asked, number: completion("hi")) as server:
        engine = OpenAIChatEngine(local(server, rpm=1))
        first, second = (engine.submit(HELLO, Sampling(), seed) for seed in range(2))
        assert first.result(60).text == "hi"
        assert second.cancel()  # it would be sent in a minute
        engine.close()
    assert len(server.asked) == 1


# several keys and addresses


@pytest.fixture
def two_keys(monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("ONE", "OTHER"):
        monkeypatch.setenv(name, f"sk-canary-of-{name}")
    return "ONE|OTHER"


def ask_often(settings: ApiSettings, count: int) -> OpenAIChatEngine:
    engine = OpenAIChatEngine(settings)
    for _ in range(count):
        assert engine.submit(HELLO, Sampling(), 0).result(60).text == "b2"
    engine.close()
    return engine


def keys_of(server: ChatServer) -> list[str]:
    return [asked.headers["authorization"].rpartition("-")[2] for asked in server.asked]


def test_keys_take_turns(two_keys: str) -> None:
    with chat_server(lambda asked, number: completion("b2")) as server:
        assert ask_often(local(server, key=two_keys), 4).remarks() == []
    assert sorted(keys_of(server)[:2]) == ["ONE", "OTHER"]
    assert keys_of(server)[:2] == keys_of(server)[2:]


@pytest.mark.parametrize("status", [401, 429, 500])
def test_failed_key_rests_while_the_other_answers(two_keys: str, status: int) -> None:
    def answer(asked: ChatRequest, number: int) -> Answer:
        return refusal(status, headers={"Retry-After": "60"}) if keys_of(server)[-1] == "ONE" else completion("b2")

    with chat_server(answer) as server:
        engine = ask_often(local(server, key=two_keys), 4)
    assert sorted(keys_of(server)) == ["ONE", *["OTHER"] * 4]
    assert engine.remarks() == ["1 request failed at one key or address and went to the next."]


def test_refused_request_does_not_go_to_the_other_key(two_keys: str) -> None:
    with chat_server(lambda asked, number: refusal(400, "no")) as server, pytest.raises(GymposiumError, match="400"):
        ask(local(server, key=two_keys))
    assert len(server.asked) == 1


def test_unreachable_address_is_replaced(two_keys: str) -> None:
    with chat_server(lambda asked, number: completion("b2")) as server:
        urls = f"http://127.0.0.1:9/other|{server.url}"
        assert len(ask_often(ApiSettings("tiny", urls, two_keys), 3).remarks()) == 1
    assert keys_of(server) == ["OTHER"] * 3
    assert {asked.path for asked in server.asked} == {"/v1/chat/completions"}


def test_error_of_all_keys_names_them_and_no_key(two_keys: str) -> None:
    def answer(asked: ChatRequest, number: int) -> Answer:
        return refusal(401, f"wrong: {asked.headers['authorization']}")

    with chat_server(answer) as server, pytest.raises(GymposiumError, match="ONE or OTHER must hold") as caught:
        ask(local(server, key=two_keys))
    assert len(server.asked) == 2
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def test_each_address_needs_a_key_of_its_own_or_all_share_one() -> None:
    with pytest.raises(BadOption, match="base_url= has 2 addresses, but key= has 3 variables"):
        ApiSettings("tiny", "https://a.example|https://b.example", "A|B|C")
    shared = ApiSettings("tiny", "https://a.example|https://b.example", "A")
    assert [(one.base_url, one.variable) for one in shared.endpoints] == [
        ("https://a.example/v1", "A"),
        ("https://b.example/v1", "A"),
    ]


# reading of answers


@pytest.mark.parametrize(
    ("given_reason", "read_as"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("max_output_tokens", "length"),
        ("model_length", "length"),
        ("content_filter", "length"),
        ("SAFETY", "length"),
        ("SPII", "length"),
        ("refusal", "length"),
        ("sensitive", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_calls", "stop"),
        (None, "stop"),
        ("eos", "stop"),
    ],
)
def test_finish_reasons_are_normalized(given_reason: str | None, read_as: str) -> None:
    with chat_server(lambda asked, number: completion("b2", given_reason)) as server:
        assert ask(local(server)) == ChatCompletion("b2", read_as, 10, 2)  # type: ignore[arg-type]


def test_thoughts_are_excluded_from_the_reply() -> None:
    answers = [
        completion("b2", reasoning_content="a1 or b2?"),
        completion(None, reasoning_content="b2"),
        completion(None, "tool_calls", tool_calls=[{"id": "1", "type": "function", "function": {"name": "b2"}}]),
        completion([{"type": "thinking", "thinking": "a1?"}, {"type": "text", "text": "b2"}]),
        completion([{"type": "reasoning", "text": "a1?"}, {"type": "output_text", "text": "b2"}]),
        completion([{"type": "refusal", "refusal": "b2"}]),
        completion([{"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "b2"}]),
        completion([{"type": "reasoning_text", "text": "a1?"}, {"type": "text", "text": None}]),
    ]
    with chat_server(lambda asked, number: answers[number]) as server:
        assert [ask(local(server)).text for _ in answers] == ["b2", "", "", "b2", "b2", "", "b2", ""]


def test_reply_is_the_choice_with_index_0() -> None:
    choices = [
        {"index": index, "message": {"content": text}, "finish_reason": "stop"}
        for index, text in ((1, "a1"), (0, "b2"))
    ]
    answers = [Answer(body={"choices": choices}), Answer(body={"choices": choices[:1]})]
    with chat_server(lambda asked, number: answers[number]) as server:
        assert [ask(local(server)).text for _ in answers] == ["b2", "a1"]


def test_reply_is_the_first_choice_without_indexes() -> None:
    choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in ("a1", "b2")]
    answers = [Answer(body={"choices": [choice | extra for choice in choices]}) for extra in ({}, {"index": None})]
    with chat_server(lambda asked, number: answers[number]) as server:
        assert [ask(local(server)).text for _ in answers] == ["a1", "a1"]


@pytest.mark.parametrize(
    "before",
    ["\ufeff", "\n\n \n", ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n", "\ufeff\r\n:\r\n\r\n"],
    ids=["bom", "blank", "comments", "all"],
)
@pytest.mark.parametrize("status", [200, 400, 429])
def test_keep_alive_bytes_are_skipped(before: str, status: int) -> None:
    """It is skipped before replies, errors, and errors in answers with status 200."""
    body: Any = completion("b2").body if status == 200 else {"error": {"message": "no", "code": status}}
    answers = [Answer(200 if status == 429 else status, before.encode() + json.dumps(body).encode())]
    with chat_server(lambda asked, number: answers[0]) as server:
        if status == 200:
            assert ask(local(server)).text == "b2"
            return
        with pytest.raises(GymposiumError, match=rf"\({status}\b.*It says: no$"):
            ask(local(server, retries=0))


@pytest.mark.parametrize("number", [2**63, -(2**64), 10**40])
def test_huge_integers_in_unused_fields_are_accepted(number: int) -> None:
    answers = [completion("b2"), Answer(body={"error": {"code": 502, "message": "no", "seed": number}})]
    answers[0].body["seed"] = number
    with chat_server(lambda asked, at: answers[at]) as server:
        assert ask(local(server)).text == "b2"
        with pytest.raises(GymposiumError, match=r"failed \(502;"):
            ask(local(server, retries=0))


def test_docs_list_all_finish_reasons() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/play-over-an-api.md").read_text()
    listed = {*re.findall("`([a-z_]+)`", page)}
    assert listed >= {"stop"} | api_dialect.CUT_OFF | api_dialect.WITHHELD | failures._FAILED


def test_tool_calls_are_counted_and_explained() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "move", "arguments": "{}"}}]
    answers = [completion(None, "stop", tool_calls=calls), completion(None, function_call=calls[0]["function"])]
    with chat_server(lambda asked, number: answers[number]) as server:
        engine = OpenAIChatEngine(local(server))
        assert [engine.submit(HELLO, Sampling(), 0).result(60).text for _ in answers] == ["", ""]
        engine.close()
    (remark,) = engine.remarks()
    assert remark.startswith("2 replies held tool calls")
    assert "turn off the tool-call parser" in remark


def test_tokens_and_cost_are_counted() -> None:
    answers = [completion("b2"), completion("b2", usage=False), completion("b2", usage=False)]
    answers[2].body["usage"] = {"prompt_tokens": 10, "completion_tokens": None}
    with chat_server(lambda asked, number: answers[number]) as server:
        engine = OpenAIChatEngine(local(server, prices=Prices(3.0, 15.0)))
        found = [engine.submit(HELLO, Sampling(), 0).result(60) for _ in answers]
        engine.close()
    assert [(c.prompt_tokens, c.completion_tokens) for c in found] == [(10, 2), (None, None), (10, None)]
    assert found[0].cost == pytest.approx((10 * 3 + 2 * 15) / 1e6)
    assert found[1].cost is found[2].cost is None
    assert engine.remarks() == ["2 replies came without token counts: sums and costs leave them out."]


def test_spending_cap_stops_before_the_next_request() -> None:
    with chat_server(lambda asked, number: completion("b2")) as server:
        engine = OpenAIChatEngine(local(server, prices=Prices(1e5, 0.0), max_cost=1.5))
        assert [engine.submit(HELLO, Sampling(), 0).result(60).cost for _ in range(2)] == [1.0, 1.0]
        with pytest.raises(GymposiumError, match=r"the cost of tiny has reached max_cost=1\.5 \(2\.0000\)"):
            engine.submit(HELLO, Sampling(), 0).result(60)
        engine.close()
    assert len(server.asked) == 2


def test_spending_cap_needs_token_counts() -> None:
    says = "without token counts, so max_cost= cannot be kept"
    uncounted = completion("b2", usage=False)
    with chat_server(lambda asked, number: uncounted) as server, pytest.raises(ApiError, match=says):
        ask(local(server, prices=Prices(1.0, 1.0), max_cost=1.0))


def test_optional_settings_are_sent() -> None:
    with chat_server(lambda asked, number: completion("b2")) as server:
        ask(local(server, system="You are terse.", top_p=0.9, reasoning_effort="low"))
    [asked] = server.asked
    assert asked.messages == [{"role": "system", "content": "You are terse."}, *HELLO]
    assert (asked.body["top_p"], asked.body["reasoning_effort"]) == (0.9, "low")


def test_compressed_answers_are_read() -> None:
    body = gzip.compress(json.dumps(completion("b2").body).encode())
    with chat_server(lambda asked, number: Answer(body=body, headers={"Content-Encoding": "gzip"})) as server:
        assert ask(local(server)).text == "b2"


# retries


@pytest.mark.parametrize("status", [429, 500, 503])
def test_transient_failures_are_retried(status: int) -> None:
    with chat_server(lambda asked, number: refusal(status) if number < 2 else completion("b2")) as server:
        engine = OpenAIChatEngine(local(server))
        assert engine.submit(HELLO, Sampling(), 0).result(60).text == "b2"
        engine.close()
    assert len(server.asked) == 3
    assert engine.remarks() == ["2 requests had to be sent again."]


def test_only_one_layer_retries() -> None:
    with (
        chat_server(lambda asked, number: refusal(500)) as server,
        pytest.raises(GymposiumError, match=r"failed \(500; attempts: 3\)"),
    ):
        ask(local(server, retries=2))
    assert len(server.asked) == 3


def test_hanging_attempts_time_out() -> None:
    never = threading.Event()
    hanging = completion("late")
    hanging.until = never
    with chat_server(lambda asked, number: hanging) as server:
        with pytest.raises(GymposiumError, match=r"did not answer within 0.2 s \(attempts: 1\).*timeout="):
            ask(local(server, timeout=0.2, retries=0))
        never.set()


def test_dripping_servers_time_out() -> None:
    """A time limit on each read would not end a server that sends a byte now and then."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not over.wait(0.01):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    with listener:
        settings = ApiSettings("tiny", f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.3, retries=0)
        with pytest.raises(GymposiumError, match=r"did not answer within 0.3 s"):
            ask(settings)
        over.set()
        thread.join()


# failures inside answers, and refused fields


@pytest.mark.parametrize(
    "body",
    [
        {"choices": None, "error": {"code": 429, "message": "slow down"}},
        {"error": {"code": "429", "message": "slow down"}},
        {"choices": [], "error": {"code": "rate_limit_exceeded", "message": "slow down"}},
        {"error": {"type": "too_many_requests", "code": None}},
        {"error": {"code": 502, "message": "upstream"}},
        {"error": "upstream is down"},
        {"object": "error", "message": "busy", "code": 503},
        {"choices": [{"message": {"content": "b"}, "finish_reason": "error", "error": {"code": 503}}]},
        *(
            {"choices": [{"message": {"content": "b"}, "finish_reason": reason}]}
            for reason in ("error", "insufficient_system_resource", "abort", "network_error")
        ),
        {"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}},
        *(
            {"choices": [choice], failure: words}
            for choice in (
                None,
                {},
                {"message": None, "finish_reason": None},
                {"message": {"role": "assistant", "content": ""}, "finish_reason": None},
                {"message": {"role": "assistant", "content": "b"}, "finish_reason": None},
                {"message": {"role": "assistant", "content": "b"}},
                {"message": {"role": "assistant", "content": "b"}, "finish_reason": ""},
                {"message": {"role": "assistant", "content": None, "reasoning": "b?"}, "finish_reason": "stop"},
            )
            for failure, words in (
                ("error", {"code": 429, "message": "slow down"}),
                ("error", "slow down"),
                ("base_resp", {"status_code": 1002, "status_msg": "slow down"}),
            )
        ),
    ],
)
def test_transient_failures_in_answers_are_retried(body: dict[str, Any]) -> None:
    failed = Answer(body=body, headers={"Retry-After": "0.01"})
    with chat_server(lambda asked, number: failed if number < 2 else completion("b2")) as server:
        assert ask(local(server)).text == "b2"
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("code", "says", "attempts"),
    [
        (401, r"refuses the request \(401\)", 1),
        (402, "add credit", 1),
        (404, "no model called", 1),
        (429, r"attempts: 2.*rpm=", 2),
    ],
)
def test_failures_in_answers_suggest_a_fix(code: int, says: str, attempts: int) -> None:
    failed = Answer(body={"choices": None, "error": {"code": code}}, headers={"Retry-After": "0.01"})
    with chat_server(lambda asked, number: failed) as server, pytest.raises(GymposiumError, match=says):
        ask(local(server, retries=1))
    assert len(server.asked) == attempts


def test_replies_about_errors_are_replies() -> None:
    answers = [completion('{"error": {"code": 429}}', error=None) for _ in range(2)]
    answers[0].body["error"] = None
    answers[1].body["error"] = {"code": 429, "message": "a warning beside a finished reply"}
    with chat_server(lambda asked, number: answers[number]) as server:
        assert [ask(local(server)).text for _ in answers] == ['{"error": {"code": 429}}'] * 2


@pytest.mark.parametrize(
    ("name", "attempts"),
    [("authentication_error", 1), ("invalid_request_error", 1), ("RESOURCE_EXHAUSTED", 2), ("api_error", 2)],
)
def test_error_types_without_status_decide_on_retries(name: str, attempts: int) -> None:
    failed = Answer(body={"error": {"type": name, "message": "no"}}, headers={"Retry-After": "0.01"})
    with chat_server(lambda asked, number: failed) as server, pytest.raises(GymposiumError):
        ask(local(server, retries=1))
    assert len(server.asked) == attempts


REFUSALS = {
    "openai": lambda name: {
        "error": {
            "message": f"Unsupported parameter: '{name}' is not supported with this model. Use 'other' instead.",
            "param": name,
            "code": "unsupported_parameter",
        }
    },
    "value": lambda name: {"error": {"message": f"'{name}' does not support 7 with this model."}},
    "gateway": lambda name: {"error": {"message": f"property {name} is not supported"}},
    "vllm": lambda name: {
        "object": "error",
        "message": f"[{{'type': 'extra_forbidden', 'loc': ('body', '{name}'), 'msg': 'Extra inputs not permitted'}}]",
    },
    "fastapi": lambda name: {
        "detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]
    },
    "mistral": lambda name: {
        "object": "error",
        "message": {
            "detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]
        },
    },
    "openrouter": lambda name: {
        "error": {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": json.dumps({"error": {"message": f"Unsupported parameter: '{name}'"}})},
        }
    },
    "litellm": lambda name: {
        "error": {
            "message": f"litellm.UnsupportedParamsError: anthropic does not support parameters: ['{name}']",
            "type": "None",
            "param": "None",
            "code": "400",
        }
    },
    "gemini": lambda name: [{"error": {"code": 400, "message": f'Unknown name "{name}": Cannot find field.'}}],
    **{
        words: lambda name, words=words: {"error": {"message": words.format(name)}}
        for words in (
            "`{}` is deprecated for this model.",
            "{} is no longer supported",
            "{} cannot be set for reasoning models",
            "Argument not supported on this model: {}",
            "Invalid parameter: {}",
            "{}: additional properties are not allowed",
        )
    },
}

FIXED = (
    "invalid temperature: only 1 is allowed for this model",
    "Only temperature=1.0 is supported.",
    "'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
    "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.",
    "Temperature must be 1 for this model",
    "temperature should be equal to 0.6.",
    "temperature must be 1.",
)
"""What services write about a temperature that is not the only one that they accept."""


@pytest.mark.parametrize("message", FIXED)
def test_temperature_is_omitted_if_fixed_by_the_service(message: str) -> None:
    def answer(asked: ChatRequest, number: int) -> Answer:
        return refusal(400, message) if "temperature" in asked.body else completion("b2")

    with chat_server(answer) as server:
        assert ask(local(server)).text == "b2"
    assert len(server.asked) == 2


@pytest.mark.parametrize("form", REFUSALS)
@pytest.mark.parametrize("status", [400, 422])
def test_refused_fields_are_replaced_once_and_remembered(form: str, status: int) -> None:
    """The service refuses one field after the other, and all three are remembered for the next request."""

    def answer(asked: ChatRequest, number: int) -> Answer:
        for name in ("max_tokens", "temperature", "seed"):
            if name in asked.body:
                return Answer(status, REFUSALS[form](name))
        return completion("b2")

    with chat_server(answer) as server:
        engine = OpenAIChatEngine(local(server))
        assert [engine.submit(HELLO, Sampling(0.5, 7), 3).result(60).text for _ in range(2)] == ["b2", "b2"]
        engine.close()
    assert len(server.asked) == 5
    assert server.asked[-1].body == {"model": "tiny", "messages": HELLO, "max_completion_tokens": 7}
    options = [remark.rpartition("write ")[2] for remark in engine.remarks()]
    assert options == ["limit=max_completion_tokens.", "temperature=default.", "seed=false."]


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_limit_option_names_the_token_limit_field(limit: str) -> None:
    with chat_server(lambda asked, number: completion("b2")) as server:
        ask(local(server, limit=limit))
    assert [name for name in server.asked[0].body if name.startswith("max_")] == [limit]


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 7. This model supports at most 4 tokens.",
        "temperature must be between 0 and 0.1",
        "temperature: only values between 0 and 0.1 are allowed",
        "Unsupported temperature 0.5: it must be less than 0.1",
        "temperature must be 0 or greater",
        "temperature must be 0.1 or less",
        "max_tokens: only 4 tokens are allowed",
        "max_tokens must be set to 4",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
        "`max_completion_tokens` must be less than or equal to `40960`",
        "Unable to submit: it has a maxOutputTokens value of 100000 but the supported range is from 1 to 65537",
        "`temperature` must be strictly positive",
    ],
)
def test_out_of_range_values_are_errors_not_refused_fields(message: str) -> None:
    with chat_server(lambda asked, number: refusal(400, message)) as server, pytest.raises(GymposiumError) as caught:
        ask(local(server))
    assert len(server.asked) == 1
    if message not in ("max_tokens: only 4 tokens are allowed", "max_tokens must be set to 4"):
        option = "temperature=" if "temperature" in message else "max_tokens="
        assert f"set {option} to a value that it accepts" in str(caught.value)
        assert "does not know" not in str(caught.value)


def test_refusing_both_limit_fields_is_an_error() -> None:
    def answer(asked: ChatRequest, number: int) -> Answer:
        (name,) = [name for name in asked.body if name.startswith("max_")]
        return refusal(400, f"{name} is not supported")

    with chat_server(answer) as server, pytest.raises(GymposiumError, match="limit="):
        ask(local(server))
    assert len(server.asked) == 2


# errors


def no_answer(status: int, message: str = "no", **error: Any) -> Callable[[], Answer]:
    return lambda: refusal(status, message, **error)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (no_answer(401, "bad key"), r"THEIR_KEY must hold a key .*may use tiny.*bad key"),
        (no_answer(403), r"refuses the request \(403\).*THEIR_KEY"),
        (no_answer(404, "no such model"), r"no model called 'tiny'.*base_url=.*no such model"),
        (no_answer(429), r"\(429; attempts: 2\).*rpm= or at_once="),
        (no_answer(400, "unknown field seed"), r"refuses the request \(400\).*seed=false.*unknown field seed"),
        (lambda: Answer(body=b"<html>hello</html>"), r"did not return a chat completion.*<html>hello"),
        (lambda: Answer(body={"error": {"message": "upstream is down"}}), r"upstream is down"),
        (lambda: Answer(body=[1]), r"did not return a chat completion"),
        (lambda: Answer(body={"choices": [{"message": "b2"}]}), r"did not return a chat completion"),
    ],
)
def test_each_failure_suggests_a_fix(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], Answer], says: str) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)
    with (
        chat_server(lambda asked, number: answer()) as server,
        pytest.raises(GymposiumError, match=says) as caught,
    ):
        ask(local(server, key="THEIR_KEY", retries=1))
    assert not isinstance(caught.value, PromptTooLong)
    assert caught.value.__context__ is caught.value.__cause__ is None or isinstance(
        caught.value.__context__, ValueError
    )


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "too many tokens", "code": "context_length_exceeded"}},
        {"error": {"message": "This model's maximum context length is 64 tokens.", "code": 400}},
        {"error": {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"}},
        {
            "error": {
                "message": "You passed 98305 input tokens and requested 32768 output tokens. However, the model's "
                "context length is only 131072 tokens, resulting in a maximum input length of 98304 tokens.",
                "type": "BadRequestError",
                "param": "input_tokens",
                "code": 400,
            }
        },
        {"object": "error", "message": "The input (90 tokens) is longer than the model's context length (64 tokens)."},
        {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}},
        [{"error": {"code": 400, "message": "The input token count (9) exceeds the maximum number of tokens (8)."}}],
        {"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is 8."},
    ],
    ids=["openai", "vllm", "llama.cpp", "newer vllm", "sglang", "anthropic", "gemini", "xai"],
)
def test_long_prompts_raise_prompt_too_long(body: Any) -> None:
    with chat_server(lambda asked, number: Answer(400, body)) as server, pytest.raises(PromptTooLong):
        ask(local(server))
    assert len(server.asked) == 1


@pytest.mark.parametrize("error", [{"message": "no", "type": {"a": 1}}, {"message": "no", "code": ["b"]}, "no", ["no"]])
def test_errors_quote_the_service(error: Any) -> None:
    with (
        chat_server(lambda asked, number: Answer(400, {"error": error})) as server,
        pytest.raises(GymposiumError) as caught,
    ):
        ask(local(server))
    assert "(400)" in str(caught.value)


def test_unreachable_server_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(
        GymposiumError, match=rf"http://127.0.0.1:{port}/v1 cannot be reached.*Check that the server is running"
    ):
        ask(ApiSettings("tiny", f"http://127.0.0.1:{port}", retries=0))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": ""}, "api:MODEL"),
        ({"base_url": "localhost:8000"}, "Write an address such as"),
        ({"base_url": "http://x:port"}, "is not an address"),
        ({"base_url": "http://127.0.0.1/v1/chat/completions"}, "Omit /chat/completions"),
        ({"rpm": 0}, "rpm=0"),
        ({"at_once": 0}, "at_once=0"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"retries": -1}, "retries=-1"),
    ],
)
def test_invalid_settings_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(BadOption, match=says):
        ApiSettings(**{"model": "tiny", **options})


@pytest.mark.parametrize("text", ["", "1", "1/", "a/b", "1/2/3", "-1/2", "nan/1"])
def test_invalid_prices_are_refused(text: str) -> None:
    with pytest.raises(BadOption, match=r"IN/OUT"):
        Prices.parse(text)


# answers and errors of particular services

MODES = ("content_filter: RECITATION", "content_filter: PROHIBITED_CONTENT", "CONTENT_FILTER: OTHER", "content_filter")
FEW_THOUGHTS = {"prompt_tokens": 10, "completion_tokens": 2}


def make_ended_body(reason: str, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": reason, "index": 0, **choice}]}


@pytest.mark.parametrize(
    "message", [{}, {"message": None}, {"message": {"role": "assistant"}}, {"message": {"content": "b"}}]
)
@pytest.mark.parametrize(
    ("reason", "read_as", "withheld"),
    [
        *((mode, "length", 1) for mode in MODES),
        ("length", "length", 0),
        ("MAX_TOKENS", "length", 0),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "stop", 0),
        ("function_call_filter: UNEXPECTED_TOOL_CALL", "stop", 0),
        ("malformed_function_call", "stop", 0),
    ],
)
def test_choices_may_lack_messages_and_prefix_reasons(
    reason: str, read_as: str, withheld: int, message: dict[str, Any]
) -> None:
    with chat_server(lambda asked, number: Answer(body=make_ended_body(reason, **message))) as server:
        engine = OpenAIChatEngine(local(server, retries=0))
        found = engine.submit(HELLO, Sampling(), 0).result(60)
        engine.close()
    assert (found.text, found.finish_reason) == (((message.get("message") or {}).get("content") or ""), read_as)
    assert engine.counts["withheld"] == withheld


def test_prefixed_error_reasons_are_still_failures() -> None:
    failed = Answer(
        body=make_ended_body("error: overloaded", message={"content": "b"}), headers={"Retry-After": "0.01"}
    )
    with chat_server(lambda asked, number: completion("b2") if number else failed) as server:
        assert ask(local(server)).text == "b2"


@pytest.mark.parametrize("choice", [{}, {"message": None}, {"message": None, "finish_reason": None}])
def test_choice_without_message_and_reason_is_an_error(choice: dict[str, Any]) -> None:
    with (
        chat_server(lambda asked, number: Answer(body={"choices": [choice]})) as server,
        pytest.raises(GymposiumError, match=r"choices\[0\]\.message is missing"),
    ):
        ask(local(server))
    assert len(server.asked) == 1


WHOLE = json.dumps(completion('b2 "{[').body).encode()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"choices": None}, "returned no choices"),
        ({"choices": []}, "returned no choices"),
        ({"id": "1", "usage": {"prompt_tokens": 1}}, "returned no choices"),
        ({"choices": None, "error": None}, "returned no choices"),
        (b"", "returned an empty answer"),
        (b" \r\n\n", "returned an empty answer"),
        (b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n", "returned an empty answer"),
        (b": OPENROUTER PROCESSING", "returned an empty answer"),
        *((WHOLE[:end], "returned an answer that ends too early") for end in (1, 9, 60, 90, 140, len(WHOLE) - 1)),
        (WHOLE[: WHOLE.index(b'\\"') + 1], "returned an answer that ends too early"),
        (b": OPENROUTER PROCESSING\n\n" + WHOLE[:-1], "returned an answer that ends too early"),
    ],
)
def test_answers_without_a_reply_are_retried(body: Any, says: str) -> None:
    failed = Answer(body=body, headers={"Retry-After": "0.01"})
    with chat_server(lambda asked, number: completion("b2") if number == 1 else failed) as server:
        assert ask(local(server, retries=1)).text == "b2"
        with pytest.raises(GymposiumError, match=says) as caught:
            ask(local(server, retries=1))
    assert len(server.asked) == 4
    assert "(attempts: 2)" in str(caught.value)
    assert "base_url" not in str(caught.value)


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (FEW_THOUGHTS | {"total_tokens": 12}, (10, 2)),
        (FEW_THOUGHTS | {"total_tokens": 250}, (10, 240)),
        ({"prompt_tokens": 10, "total_tokens": 250}, (10, 240)),
        ({"prompt_tokens": 10, "completion_tokens": None, "total_tokens": 10}, (10, None)),
        (FEW_THOUGHTS | {"total_tokens": 11}, (10, 2)),
        (FEW_THOUGHTS | {"total_tokens": None}, (10, 2)),
        (FEW_THOUGHTS | {"total_tokens": "250"}, (10, 2)),
        (FEW_THOUGHTS | {"total_tokens": 10**12}, (10, 2)),
        ({"completion_tokens": 2, "total_tokens": 250}, (None, 2)),
    ],
)
def test_thoughts_counted_only_in_total_belong_to_the_reply(usage: Any, counted: Any) -> None:
    answer = completion("b2")
    answer.body["usage"] = usage
    with chat_server(lambda asked, number: answer) as server:
        found = ask(local(server))
    assert (found.prompt_tokens, found.completion_tokens) == counted


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


ENDS = {
    "openai max_tokens": (
        400,
        error(
            "Could not finish the message because max_tokens or model output limit was reached. Please try again with "
            "higher max_tokens.",
            type="invalid_request_error",
        ),
        ("length", None),
    ),
    "groq tool": (
        400,
        error("Tool choice is none, but model called a tool", code="tool_use_failed", failed_generation="{}"),
        ("stop", "tool calls"),
    ),
    "groq tool in words": (400, error("Failed to call a function. See 'failed_generation'."), ("stop", "tool calls")),
    "groq output": (
        400,
        error("Parsing failed.", code="output_parse_failed"),
        ("stop", "tool calls"),
    ),
    "ollama tool": (
        500,
        error("error parsing tool call: raw='ls', err=invalid character"),
        ("stop", "tool calls"),
    ),
    "llama.cpp tool": (500, error("Failed to parse input at pos 12: </tool_call>", code=500), ("stop", "tool calls")),
    "llama.cpp output": (
        500,
        error("The model produced output that does not match the expected peg-native format"),
        ("stop", "tool calls"),
    ),
    "vllm header": (
        500,
        error('unexpected tokens remaining in message header: Some("to=functions.play")', code=500),
        ("stop", "tool calls"),
    ),
    "vllm start in 200": (
        200,
        error("Unexpected token 12606 while expecting start token 200006", code=400),
        ("stop", "tool calls"),
    ),
    "groq tool in 200": (200, error("no", code="tool_use_failed"), ("stop", "tool calls")),
    "azure": (
        400,
        error(
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            code="content_filter",
            status=400,
            innererror={"code": "ResponsibleAIPolicyViolation"},
        ),
        ("length", "withheld"),
    ),
    "azure in 200": (200, error("filtered", code="content_filter"), ("length", "withheld")),
    "azure behind openrouter": (
        400,
        error("Provider returned error", code=400, metadata={"raw": json.dumps(error("no", code="content_filter"))}),
        ("length", "withheld"),
    ),
    "litellm": (400, error("litellm.ContentPolicyViolationError: no", code="400"), ("length", "withheld")),
    "openai": (400, error("Invalid prompt: limited for safety.", code="invalid_prompt"), ("length", "withheld")),
    "dashscope": (
        400,
        error("Input data may contain inappropriate content.", code="data_inspection_failed"),
        ("length", "withheld"),
    ),
    "dashscope's own": (400, {"code": "DataInspectionFailed", "message": "no"}, ("length", "withheld")),
    "moonshot": (
        400,
        error("The request was rejected because it was considered high risk", type="content_filter"),
        ("length", "withheld"),
    ),
    "zhipu": (400, error("系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301"), ("length", "withheld")),
    "openrouter": (
        403,
        error(
            'm requires moderation. Your input was flagged for "harassment".', code=403, metadata={"flagged_input": ""}
        ),
        ("length", "withheld"),
    ),
    "deepseek": (400, error("Content Exists Risk"), ("length", "withheld")),
    "minimax": (
        200,
        {"choices": None, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}},
        ("length", "withheld"),
    ),
    "xai": (403, {"code": "denied", "error": "Content violates usage guidelines."}, ("length", "withheld")),
    "anthropic": (400, error("Output blocked by content filtering policy"), ("length", "withheld")),
    "guardrail": (400, error("Input blocked by guardrail"), ("length", "withheld")),
    "stepfun": (
        451,
        error("The content you provided or machine outputted is blocked.", type="censorship_blocked"),
        ("length", "withheld"),
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_errors_caused_by_the_reply_count_as_replies(name: str) -> None:
    """It is asked for once, and the match goes on."""
    status, body, (finish, counted) = ENDS[name]
    with chat_server(lambda asked, number: Answer(status, body, {"Retry-After": "0.01"})) as server:
        engine = OpenAIChatEngine(local(server))
        found = engine.submit(HELLO, Sampling(), 0).result(60)
        engine.close()
    assert found == ChatCompletion("", finish, None, None)  # type: ignore[arg-type]
    assert len(server.asked) == 1
    assert {*engine.counts} == {"uncounted", *([counted] if counted else [])}


TOO_LONG: list[tuple[int, Any]] = [
    (
        400,
        {"error": "Trying to keep the first 5000 tokens. The model is loaded with context length of only 4096 tokens."},
    ),
    (400, {"error": "The number of tokens to keep from the initial prompt is greater than the context length."}),
    (400, error("BedrockException - Input is too long for requested model.")),
    (400, error("litellm.ContextWindowExceededError: no", code="400")),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 and 512"}),
    (422, {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500"}),
    (400, error("the request exceeds the available context size. try increasing it", type="invalid_request_error")),
    (400, error("request (5000 tokens) exceeds the available context size (4096 tokens)", code=400)),
    (500, error("Context size has been exceeded.", code=500, type="server_error")),
    (400, error("The decoder prompt (length 5000) is longer than the maximum model length of 4096.")),
    (
        400,
        [error("Unable to submit request because the input token count is 40000 but model only supports up to 32768.")],
    ),
    (400, error("input length and `max_tokens` exceed context limit: 199211 + 20000 > 200000")),
    (400, error("Invalid request: Your request exceeded model token limit: 8192", type="invalid_request_error")),
    (400, error("Range of input length should be [1, 30720]", code="invalid_parameter_error")),
    (400, error("Prompt exceeds max length", code="1261")),
    (400, error("invalid params, context window exceeds limit (2013)")),
    (200, {"choices": None, "base_resp": {"status_code": 2013, "status_msg": "context window exceeds limit"}}),
    (400, error("prompt length must be less than max_seq_len")),
    (400, {"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081"}),
    (413, error("Request body too large for gpt-4 model. Max size: 8000 tokens.", code="tokens_limit_reached")),
    (400, error("prompt token count of 140000 exceeds the limit", code="model_max_prompt_tokens_exceeded")),
    (400, error("Your input exceeds the context window of this model.")),
    (200, error("This model's maximum context length is 64 tokens.")),
    *(
        (400, error(words))
        for words in (
            "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
            "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
            "Input length 41000 exceeds the maximum length 32768. Request id: 02",
            "Prompt length (200) exceeds maximum input length (1).",
            "The sum of prompt length (9351.0), query length (0) should not exceed max_num_tokens (8192)",
            "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
            "the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model",
            "Total tokens of image and text exceed max message tokens.",
            "tokens in request more than max tokens allowed",
            "prompt too long; exceeded max context length by 350 tokens",
            "The estimated number of input and maximum output tokens (9) exceeded this model context window limit (8).",
            "Reached context length of 4096 tokens with model (arch: llama).",
            "The prompt is 4309 tokens long, but the maximum supported sequence length is just 4096!",
        )
    ),
]


@pytest.mark.parametrize(("status", "body"), TOO_LONG)
def test_recognizes_many_wordings_of_long_prompts(status: int, body: Any) -> None:
    with (
        chat_server(lambda asked, number: Answer(status, body, {"Retry-After": "0.01"})) as server,
        pytest.raises(PromptTooLong),
    ):
        ask(local(server))
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "max_tokens is too large: the model only supports up to 8192 output tokens"),
        (400, "too many tokens, please wait before trying again"),
        (400, "the prompt is missing: max_tokens exceeds the limit of this key"),
        (429, "too many tokens in the last minute"),
        (404, "the model with a maximum context length of 8 does not exist"),
    ],
)
def test_other_limits_are_not_prompt_too_long(status: int, message: str) -> None:
    with (
        chat_server(lambda asked, number: refusal(status, message)) as server,
        pytest.raises(GymposiumError) as caught,
    ):
        ask(local(server, retries=0))
    assert not isinstance(caught.value, PromptTooLong)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (498, error("over capacity", code="capacity_exceeded")),
        (499, [{"error": {"code": 499, "message": "The operation was cancelled.", "status": "CANCELLED"}}]),
        (200, error("The operation was cancelled.", code=499)),
        (400, {"error": "The model has crashed without additional information. (Exit code: null)"}),
        (400, {"error": "Model unloaded."}),
        (400, {"detail": "Function id '1': DEGRADED function cannot be invoked"}),
    ],
)
def test_transient_failures_with_unusual_status_are_retried(status: int, body: Any) -> None:
    failed = Answer(status, body, {"Retry-After": "0.01"})
    with chat_server(lambda asked, number: completion("b2") if number == 1 else failed) as server:
        assert ask(local(server, retries=1)).text == "b2"
        with pytest.raises(GymposiumError, match=r"failed \(4\d\d; attempts: 2\): try later"):
            ask(local(server, retries=1))
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    ("status", "headers", "says"),
    [
        (
            429,
            {"Retry-After": "754"},
            r"\(429; attempts: 1; the service asks to wait 754 s before the next\): lower rpm",
        ),
        (429, {"retry-after-ms": "754000"}, r"\(429; attempts: 1; the service asks to wait 754 s"),
        (429, {"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}, r"attempts: 1; the service asks to wait [\d.e+]+ s"),
        (429, {"x-should-retry": "false"}, r"\(429; attempts: 1; the service asks for no retry\)"),
        (503, {"Retry-After": "754"}, r"\(503; attempts: 1; the service asks to wait 754 s"),
        (503, {"x-should-retry": "false"}, r"\(503; attempts: 1; the service asks for no retry\)"),
        (429, {"Retry-After": "0.01"}, r"\(429; attempts: 3\)"),
    ],
)
def test_errors_report_the_number_of_attempts(status: int, headers: dict[str, str], says: str) -> None:
    with (
        chat_server(lambda asked, number: refusal(status, headers=headers)) as server,
        pytest.raises(GymposiumError, match=says) as caught,
    ):
        ask(local(server, retries=2))
    assert f"attempts: {len(server.asked)}" in str(caught.value)


@pytest.mark.parametrize(
    ("words", "attempt", "seconds"),
    [
        ("You exceeded your current quota. Please retry in 34.074824224s.", 0, 34.074824224),
        ("You exceeded your current quota. For details, see: https://help.aliyun.com/error-code#token-limit", 0, 1),
        ("Rate limit reached. Please try again in 7m12.5s. Need more tokens?", 5, 432.5),
        ("Please try again in 350ms.", 1, 0.35),
        ("Please try again in 1h2m3s", 1, 3723),
        ("Please retry after 26 seconds.", 0, 26),
        ("Try again in 2 minutes", 0, 120),
        *(
            ("temporarily rate-limited upstream. Please retry shortly", attempt, pause)
            for attempt, pause in ((0, 1), (3, 8), (5, 30), (900, 30))
        ),
    ],
)
def test_rate_limit_waits_come_from_text_or_a_default(words: str, attempt: int, seconds: float) -> None:
    headers = make_rate_limit_headers(json.dumps(error(words, code=429)).encode(), attempt)
    assert float(headers["retry-after"]) == pytest.approx(seconds)


@pytest.mark.parametrize("status", [429, 200])
def test_rate_limits_without_credit_are_not_retried_despite_retry_after(status: int) -> None:
    limited = Answer(status, error("no", code="credit_balance_exhausted", status=429), {"Retry-After": "0.01"})
    with chat_server(lambda asked, number: limited) as server, pytest.raises(GymposiumError, match="requires payment"):
        ask(local(server))
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [429, 200])
def test_waits_stated_in_rate_limit_text_are_honored(status: int) -> None:
    limited = Answer(status, error("Please retry in 20ms.", code=429))
    with chat_server(lambda asked, number: completion("b2") if number == 6 else limited) as server:
        began = time.monotonic()
        assert ask(local(server)).text == "b2"
    assert time.monotonic() - began < 10  # without the words, six retries take longer
    late = Answer(status, error("Please retry in 12m34s.", code=429))
    with chat_server(lambda asked, number: late) as server, pytest.raises(GymposiumError, match="to wait 754 s"):
        ask(local(server))
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (
            400,
            [error("API key not valid. Please pass a valid API key.", code=400)],
            r"\(400\).*THEIR_KEY must hold a key",
        ),
        (400, {"code": "invalid-argument", "error": "Incorrect API key provided: no"}, "THEIR_KEY must hold a key"),
        (400, error("no", code="invalid_api_key"), "THEIR_KEY must hold a key"),
        (400, error("Your credit balance is too low to access the API."), r"requires payment \(400\): add credit"),
        (
            403,
            {"error": "Your newly created team doesn't have any credits yet."},
            r"requires payment \(403\): add credit",
        ),
        (400, error("No models loaded. Please load a model."), r"does not serve 'tiny' \(400\): load it on the server"),
        (404, error("No models loaded. Please load a model."), r"does not serve 'tiny' \(404\)"),
        (400, error("The model `x` has been decommissioned", code="model_decommissioned"), "or name another model"),
        (
            413,
            error(
                "Request too large on tokens per minute (TPM): Limit 6000, Requested 9000", code="rate_limit_exceeded"
            ),
            r"\(413\): lower max_tokens=.*Limit 6000",
        ),
        (
            429,
            error("Insufficient balance or no resource package. Please recharge.", code="1113"),
            r"requires payment \(429\): add credit",
        ),
        (429, error("余额不足或无可用资源包,请充值。", code="1113"), r"requires payment \(429\): add credit"),
        (
            429,
            error(
                "You exceeded your current quota, please check your plan and billing details. For more information on "
                "this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
                code="insufficient_quota",
            ),
            r"requires payment \(429\): add credit",
        ),
        *(
            (429, error("no", type="insufficient_quota", code=code), r"requires payment \(429\): add credit")
            for code in ("credit_balance_exhausted", "billing_hard_limit_reached", "billing_not_active")
        ),
        (429, error("no", type="exceeded_current_quota_error"), r"requires payment \(429\): add credit"),
        (400, error("make sure your account is in good standing.", code="Arrearage"), r"requires payment \(400\)"),
        (
            429,
            error("Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 13391."),
            r"too large \(429\): lower max_tokens=.*Requested 13391",
        ),
        (400, error("Temperature should be in [0.0, 2.0)"), "set temperature= to a value that it accepts"),
        (400, error("invalid params, param 'temperature' should be in (0, 1]"), "set temperature= to a value"),
        (
            403,
            {"code": 30001, "message": "Sorry, your account balance is insufficient"},
            r"requires payment \(403\): add credit",
        ),
        (403, error("your account has an overdue balance.", code="AccountOverdueError"), r"requires payment \(403\)"),
        (403, error("no", code="insufficient_user_quota"), r"requires payment \(403\)"),
        *(
            (status, {"error": "Your team has used all available credits."}, rf"requires payment \({status}\)")
            for status in (403, 429)
        ),
        (405, {"detail": "Method Not Allowed"}, r"no chat at that address \(405\): .*base_url=.*Method Not Allowed"),
        (
            400,
            error("parameter.enable_thinking must be set to false for non-streaming calls", code="invalid_parameter"),
            r"refuses the request \(400\)\. It says: parameter.enable_thinking",
        ),
        (400, error("This model only support stream mode, please enable the stream parameter."), r"\(400\)\. It says"),
        (403, error("Country, region, or territory not supported"), r"\(403\)\. It says: Country, region"),
        (400, error("User location is not supported for the API use."), r"\(400\)\. It says: User location"),
        (400, error("no"), r"\(400\)\. It says: no$"),
    ],
)
def test_hints_fit_the_error_text(monkeypatch: pytest.MonkeyPatch, status: int, body: Any, says: str) -> None:
    monkeypatch.setenv("THEIR_KEY", KEY)
    with (
        chat_server(lambda asked, number: Answer(status, body)) as server,
        pytest.raises(GymposiumError, match=says) as caught,
    ):
        ask(local(server, key="THEIR_KEY"))
    assert len(server.asked) == 1
    assert "does not know" not in str(caught.value)
    assert "THEIR_KEY" in says or "THEIR_KEY" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        (completion(None, reasoning_content="b2"), 1),
        (completion("\n", reasoning="b2"), 1),
        (completion([{"type": "thinking", "thinking": "b2"}]), 1),
        (completion("b2", reasoning_content="b2"), 0),
        (completion(None, "length", reasoning_content="b2"), 0),
        (completion(None, "tool_calls", reasoning_content="b2", tool_calls=[{"id": "1"}]), 0),
        (completion("", reasoning_content=""), 0),
    ],
)
def test_replies_of_only_thoughts_are_reported(answer: Answer, counted: int) -> None:
    with chat_server(lambda asked, number: answer) as server:
        engine = OpenAIChatEngine(local(server))
        engine.submit(HELLO, Sampling(), 0).result(60)
        engine.close()
    told = [remark for remark in engine.remarks() if "reasoning parser" in remark]
    assert len(told) == counted
    assert engine.counts["all thoughts"] == counted


# secrecy of the key


def test_missing_key_error_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BadOption, match=r"environment variable OPENAI_API_KEY, or name another variable with key="):
        OpenAIChatEngine(ApiSettings("gpt"))
    with pytest.raises(BadOption, match=r"environment variable MINE\."):
        OpenAIChatEngine(ApiSettings("gpt", key="MINE"))


@pytest.mark.parametrize("option", ["key", "base_url"])
def test_misplaced_keys_are_refused_without_echoing_them(option: str) -> None:
    given = KEY if option == "key" else f"https://user:{KEY}@example.org/v1"
    with pytest.raises(BadOption, match=f"{option}=") as caught:
        ApiSettings("gpt", **{option: given})
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_invalid_key_values_are_not_echoed(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (f"{KEY} {KEY}", f"{KEY}\nX: y", f"{KEY}é"):
        monkeypatch.setenv("THEIR_KEY", value)
        with pytest.raises(BadOption, match="THEIR_KEY does not contain a valid key") as caught:
            OpenAIChatEngine(ApiSettings("gpt", key="THEIR_KEY"))
        assert KEY not in "".join(traceback.format_exception(caught.value))


def collect_reprs(value: object, seen: set[int], depth: int = 0) -> str:
    """The reprs of an object and of all objects that it refers to."""
    if id(value) in seen or depth > 6:
        return ""
    seen.add(id(value))
    inside = [*vars(value).values()] if hasattr(value, "__dict__") else []
    if isinstance(value, dict):
        inside += [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inside += [*value]
    slots = [getattr(value, name, None) for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return repr(value) + "".join(collect_reprs(one, seen, depth + 1) for one in [*inside, *slots])


@pytest.mark.parametrize("status", [200, 401, 429])
def test_only_the_server_sees_the_key(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    """The engine, its settings, its answers, the log at level DEBUG and the errors do not contain the key, even if the
    server repeats it."""
    monkeypatch.setenv("THEIR_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx", "httpcore", "asyncio"):
        caplog.set_level(logging.DEBUG, name)

    def answer(asked: ChatRequest, number: int) -> Answer:
        said = f"you sent {asked.headers['authorization']}"
        return completion(said) if status == 200 else refusal(status, said)

    with chat_server(answer) as server:
        engine = OpenAIChatEngine(local(server, key="THEIR_KEY", retries=1))
        future = engine.submit(HELLO, Sampling(), 0)
        failure = future.exception(60)
        seen = collect_reprs(engine, set()) + caplog.text
        if failure is None:
            seen += repr(future.result())
        else:
            seen += "".join(traceback.format_exception(failure)) + collect_reprs(failure, set())
            assert failure.__context__ is None
            assert failure.__cause__ is None
            frame = failure.__traceback__
            while frame is not None:
                seen += repr(frame.tb_frame.f_locals)
                frame = frame.tb_next
        engine.close()
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert "[key]" in seen
    assert "HTTP" in caplog.text
    assert KEY not in seen
