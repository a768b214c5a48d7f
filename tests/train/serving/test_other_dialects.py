"""The clients of OpenAI's Responses API and Anthropic's Messages API against the service over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.agents.serving.scripted import Break

from gymposium.tasks.tools import Call
from gymposium_agents.chat.chat import Chat
from gymposium_agents.engines.api_errors import find_kind

from .scripted import CALLS, GROWN, MAX_TOKENS, TOOLS, Serve, ServedSession, served

anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed: tox run -e tests")

FUNCTION = TOOLS[0]["function"]
QUESTION = "What do they add up to?"
SYSTEM = "Answer briefly."
THOUGHTS = "<think>\nhm\n</think>\n\n"


@contextmanager
def connect(session: ServedSession) -> Iterator[Any]:
    """A client of Anthropic, which adds /v1 to the address."""
    with anthropic.Anthropic(base_url=session.base_url.removesuffix("/v1"), api_key="none", max_retries=0) as client:
        yield client


def play_messages(session: ServedSession, *, stream: bool = False, **more: Any) -> list[Any]:
    """Ask with Anthropic's client until there is no call, and return the answers."""
    answers = []
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tool = {**FUNCTION, "input_schema": FUNCTION["parameters"]}
    del tool["parameters"]
    asked: Any = {"model": "policy", "max_tokens": MAX_TOKENS, "system": SYSTEM, "tools": [tool], **more}
    with connect(session) as client:
        while True:
            if stream:
                with client.messages.stream(messages=messages, **asked) as events:
                    answer = events.get_final_message()
            else:
                answer = client.messages.create(messages=messages, **asked)
            answers.append(answer)
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                return answers
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": "3"} for call in calls]
            messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]


def play_responses(session: ServedSession, *, stream: bool = False, **more: Any) -> list[Any]:
    """Ask with OpenAI's client until there is no call, and return the answers."""
    answers = []
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    asked: Any = {"model": "policy", "instructions": SYSTEM, "tools": [{"type": "function", **FUNCTION}], **more}
    with openai.OpenAI(base_url=session.base_url, api_key="none", max_retries=0) as client:
        while True:
            if stream:
                with client.responses.stream(input=items, **asked) as events:
                    answer = events.get_final_response()
            else:
                answer = client.responses.create(input=items, **asked)
            answers.append(answer)
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return answers
            results = [{"type": "function_call_output", "call_id": call.call_id, "output": "3"} for call in calls]
            items += [*answer.output, *results]


def play_chat(session: ServedSession) -> None:
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    with openai.OpenAI(base_url=session.base_url, api_key="none") as client:
        while (
            reply := client.chat.completions.create(model="policy", messages=messages, tools=TOOLS).choices[0].message
        ).tool_calls:
            messages += [reply, *({"role": "tool", "tool_call_id": one.id, "content": "3"} for one in reply.tool_calls)]


@pytest.mark.parametrize("chat", ["qwen2.5", "qwen3"], indirect=True)
def test_all_dialects_make_the_same_tokens(chat: Chat, tmp_path: Path) -> None:
    thoughts = THOUGHTS if chat.thinking else ""
    assert chat.dialect is not None
    replies = [*(f"{thoughts}{chat.dialect.write([call])}" for call in CALLS), f"{thoughts}The sum is 6."]
    rows = []
    plays: list[Callable[[ServedSession], object]] = [
        play_chat,
        lambda session: play_responses(session, stream=chat.thinking),
        lambda session: play_messages(session, stream=not chat.thinking),
    ]
    for number, play in enumerate(plays):
        directory = tmp_path / str(number)
        directory.mkdir()
        with served(chat, replies, directory) as session:
            play(session)
            assert session.beginnings() == GROWN
            rows.append(([turn.tokens for turn in session.turns()], [turn.key for turn in session.turns()]))
    assert all(tokens == rows[0][0] for tokens, _ in rows)
    assert rows[1] == rows[0], "also the seeds of the replies"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("chat", ["qwen3"], indirect=True)
def test_messages_have_thoughts_text_and_calls(stream: bool, serve: Serve, chat: Chat) -> None:
    assert chat.dialect is not None
    with serve(f"{THOUGHTS}I look. {chat.dialect.write(CALLS[1:2])}", f"{THOUGHTS}The sum is 6.") as session:
        called, said = play_messages(session, stream=stream)
        kept = session.turns()[0].answer
    thinking, text, call = called.content
    assert (thinking.type, thinking.thinking, text.type, text.text) == ("thinking", "hm", "text", "I look.")
    assert thinking.signature
    [made] = kept["choices"][0]["message"]["tool_calls"]
    assert (call.type, call.id, call.name, call.input) == ("tool_use", made["id"], "look_up", {"word": "é"})
    assert (called.id, called.stop_reason, called.role, called.type) == (kept["id"], "tool_use", "assistant", "message")
    assert [block.type for block in said.content] == ["thinking", "text"]
    assert (said.content[1].text, said.stop_reason, said.stop_sequence) == ("\n\nThe sum is 6.", "end_turn", None)
    assert called.usage.output_tokens == kept["usage"]["completion_tokens"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("chat", ["qwen3"], indirect=True)
def test_responses_have_reasoning_message_and_calls(stream: bool, serve: Serve, chat: Chat) -> None:
    assert chat.dialect is not None
    with serve(f"{THOUGHTS}I look. {chat.dialect.write(CALLS[1:2])}", f"{THOUGHTS}The sum is 6.") as session:
        called, said = play_responses(session, stream=stream)
        kept = session.turns()[0].answer
    reasoning, message, call = called.output
    assert (reasoning.type, reasoning.content[0].text) == ("reasoning", "hm")
    assert (message.type, message.content[0].text) == ("message", "I look.")
    [made] = kept["choices"][0]["message"]["tool_calls"]
    assert (call.call_id, call.name, json.loads(call.arguments)) == (made["id"], "look_up", {"word": "é"})
    assert (called.id, called.status, called.tools[0].name) == (kept["id"], "completed", "look_up")
    assert (said.output_text, said.status) == ("\n\nThe sum is 6.", "completed")
    assert called.usage.output_tokens == kept["usage"]["completion_tokens"]


@pytest.mark.parametrize("chat", ["qwen2.5", "qwen3"], indirect=True)
def test_streamed_events_arrive_in_order(serve: Serve, chat: Chat) -> None:
    thoughts = THOUGHTS if chat.thinking else ""
    with serve(*[f"{thoughts}Once upon a time."] * 2) as session, ExitStack() as opened:
        client = opened.enter_context(connect(session))
        asked: Any = {"model": "policy", "max_tokens": 90, "messages": [{"role": "user", "content": "Tell."}]}
        counted = client.messages.count_tokens(model="policy", messages=asked["messages"])
        events = [*client.messages.create(stream=True, **asked)]
        texts = [event.delta.text for event in events if getattr(getattr(event, "delta", 0), "type", 0) == "text_delta"]
        assert len(texts) > 2
        assert "".join(texts).lstrip() == "Once upon a time."
        starts = [event.content_block.type for event in events if event.type == "content_block_start"]
        assert starts == [*(["thinking"] if thoughts else []), "text"]
        assert events[0].message.usage.input_tokens == events[-2].usage.input_tokens == counted.input_tokens
        assert (events[-2].delta.stop_reason, events[-1].type) == ("end_turn", "message_stop")

        openai_client = opened.enter_context(openai.OpenAI(base_url=session.base_url, api_key="none"))
        made: Any = [*openai_client.responses.create(model="policy", input="Tell.", stream=True)]
        assert [event.sequence_number for event in made] == [*range(len(made))]
        deltas = [event.delta for event in made if event.type == "response.output_text.delta"]
        assert len(deltas) > 2
        assert "".join(deltas).lstrip() == "Once upon a time."
        added = [event.item.type for event in made if event.type == "response.output_item.added"]
        assert added == [*(["reasoning"] if thoughts else []), "message"]
        assert [event.item for event in made if event.type == "response.output_item.done"] == made[-1].response.output


def test_large_integers_in_arguments_come_back(serve: Serve) -> None:
    """Arguments are numbers in the Messages API, and text in the others."""
    with serve(Call("look_up", {"word": 2**70}), "The sum is 6.") as session:
        play_messages(session)
        assert session.beginnings() == ["fresh", "grown"]


@pytest.mark.parametrize("stream", [False, True])
def test_limits_and_stop_texts_are_reported(stream: bool, serve: Serve) -> None:
    with serve(*["Once upon a time."] * 3) as session:
        [answer] = play_messages(session, stream=stream, max_tokens=3, tools=[])
        assert (answer.stop_reason, answer.usage.output_tokens) == ("max_tokens", 3)
        [answer] = play_messages(session, stream=stream, stop_sequences=["never", " a"], tools=[])
        assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", " a")
        assert answer.content[0].text == "Once upon"
        with openai.OpenAI(base_url=session.base_url, api_key="none") as client:
            made: Any = client.responses.create(model="policy", input="Tell.", max_output_tokens=3, stream=stream)
            answer = [*made][-1].response if stream else made
        assert (answer.status, answer.incomplete_details.reason) == ("incomplete", "max_output_tokens")


@pytest.mark.parametrize("stream", [False, True])
def test_retries_get_the_same_answer_in_each_dialect(stream: bool, serve: Serve) -> None:
    again = {"x-stainless-retry-count": "1"}
    with serve("one", "two") as session:
        for headers, text in [({}, "one"), (again, "one"), ({}, "two")]:
            [answer] = play_messages(session, stream=stream, tools=[], extra_headers=headers)
            assert answer.content[0].text == text
        [answer] = play_responses(session, stream=stream, tools=[], extra_headers=again, max_output_tokens=MAX_TOKENS)
        assert answer.output_text == "two", "both dialects make the same request"


def test_engine_failures_are_errors_of_the_dialect(serve: Serve) -> None:
    asked: Any = {"model": "policy", "max_tokens": 90, "messages": [{"role": "user", "content": "Tell."}]}
    with serve(*[Break("Once upon")] * 4) as session, connect(session) as client:
        with pytest.raises(anthropic.APIStatusError, match="The engine is gone") as failed:
            client.messages.create(**asked)
        assert (failed.value.status_code, failed.value.body["error"]["type"]) == (503, "overloaded_error")
        said: list[str] = []
        events = client.messages.create(stream=True, **asked)
        with pytest.raises(anthropic.APIStatusError, match="The engine is gone"):
            said.extend(event.delta.text for event in events if event.type == "content_block_delta")
        assert "".join(said) == "Once upon"
        with openai.OpenAI(base_url=session.base_url, api_key="none", max_retries=0) as other:
            with pytest.raises(openai.InternalServerError, match="The engine is gone"):
                other.responses.create(model="policy", input="Tell.")
            chunks: Any = other.responses.create(model="policy", input="Tell.", stream=True)
            with pytest.raises(openai.APIError, match="The engine is gone"):
                list(chunks)
        assert not session.turns()


def test_long_requests_can_be_counted_but_not_answered(serve: Serve) -> None:
    long: Any = [{"role": "user", "content": "too long " * 3_000}]
    with serve() as session, connect(session) as client:
        assert client.messages.count_tokens(model="policy", messages=long).input_tokens > session.script.context
        with pytest.raises(anthropic.BadRequestError, match="messages: the prompt is too long") as failed:
            client.messages.create(model="policy", max_tokens=9, messages=long)
        assert find_kind(400, failed.value.response.content) == "too long", "the engine of api: knows it, too"
        with openai.OpenAI(base_url=session.base_url, api_key="none") as other:
            with pytest.raises(openai.BadRequestError, match="input: the prompt is too long") as refused:
                other.responses.create(model="policy", input=long)
            assert refused.value.code == "context_length_exceeded"
