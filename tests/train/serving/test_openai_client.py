"""OpenAI's client library against the service over HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest
from tests.agents.serving.scripted import Break

from gymposium_agents.chat.chat import Chat

from .scripted import CALLS, GROWN, MAX_TOKENS, TOOLS, Serve, ServedSession


def make_client(session: ServedSession, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=session.base_url, api_key="none", **options)


def user(text: str) -> Any:
    return [{"role": "user", "content": text}]


def results(reply: Any) -> list[Any]:
    """The results of the calls of a reply."""
    return [{"role": "tool", "tool_call_id": call.id, "content": "3"} for call in reply.tool_calls]


@pytest.mark.parametrize("chat", ["qwen2.5", "small"], indirect=True)
def test_four_turns_with_tools_are_one_row(serve: Serve) -> None:
    with serve(*CALLS, "The sum is 6.") as session, make_client(session) as client:
        messages = user("What do they add up to?")
        for call in CALLS:
            answer = client.chat.completions.create(model="policy", messages=messages, tools=TOOLS)
            [choice] = answer.choices
            assert choice.finish_reason == "tool_calls"
            [made] = choice.message.tool_calls or []
            assert json.loads(made.function.arguments) == call.arguments
            messages += [choice.message, *results(choice.message)]
        answer = client.chat.completions.create(model="policy", messages=messages, tools=TOOLS)
        assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("The sum is 6.", "stop")
        assert session.beginnings() == GROWN
        assert session.rows() == 1
        last = session.turns()[-1].tokens
        assert answer.usage is not None
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (
            len(last.prompt),
            len(last.completion.ids),
        )


def test_four_turns_of_the_async_client_are_one_row(serve: Serve) -> None:
    async def play(session: ServedSession) -> str | None:
        async with openai.AsyncOpenAI(base_url=session.base_url, api_key="none") as client:
            messages = user("What do they add up to?")
            while True:
                answer = await client.chat.completions.create(model="policy", messages=messages, tools=TOOLS)
                reply = answer.choices[0].message
                if not reply.tool_calls:
                    return reply.content
                messages += [reply, *results(reply)]

    with serve(*CALLS, "The sum is 6.") as session:
        assert asyncio.run(play(session)) == "The sum is 6."
        assert session.beginnings() == GROWN


def test_four_streamed_turns_with_tools_are_one_row(serve: Serve) -> None:
    """The library puts the chunks together."""
    with serve(*CALLS, "The sum is 6.") as session, make_client(session) as client:
        messages = user("What do they add up to?")
        for call in [*CALLS, None]:
            with client.chat.completions.stream(model="policy", messages=messages, tools=TOOLS) as stream:
                for _ in stream:
                    pass
                reply = stream.get_final_completion().choices[0].message
            if call is not None:
                [made] = reply.tool_calls or []
                assert json.loads(made.function.arguments) == call.arguments
                messages += [reply, *results(reply)]
        assert reply.content == "The sum is 6."
        assert session.beginnings() == GROWN
        assert session.rows() == 1


def test_stream_ends_with_finish_reason_and_usage(serve: Serve) -> None:
    with serve("Once upon a time.") as session, make_client(session) as client:
        chunks = [
            *client.chat.completions.create(
                model="policy", messages=user("Tell."), stream=True, stream_options={"include_usage": True}
            )
        ]
        *content, reason, counts = chunks
        assert content[0].choices[0].delta.role == "assistant"
        pieces = [chunk.choices[0].delta.content or "" for chunk in content]
        assert "".join(pieces) == "Once upon a time."
        assert len([piece for piece in pieces if piece]) > 1
        assert reason.choices[0].finish_reason == "stop"
        [turn] = session.turns()
        assert not counts.choices
        assert counts.usage is not None
        assert counts.usage.completion_tokens == len(turn.tokens.completion.ids)
        assert {chunk.id for chunk in chunks} == {turn.answer["id"]}


def test_streamed_call_is_one_chunk_with_index_and_id(serve: Serve) -> None:
    with serve(CALLS[1]) as session, make_client(session) as client:
        chunks = [
            *client.chat.completions.create(model="policy", messages=user("Look up é."), tools=TOOLS, stream=True)
        ]
        [call] = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
        [kept] = session.turns()[0].answer["choices"][0]["message"]["tool_calls"]
        assert (call.index, call.id, call.type) == (0, kept["id"], "function")
        assert call.function is not None
        assert (call.function.name, json.loads(call.function.arguments or "")) == ("look_up", {"word": "é"})
        assert chunks[-1].choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("stream", [False, True])
def test_logprobs_match_the_sampled_tokens(stream: bool, serve: Serve, chat: Chat) -> None:
    with serve("Héllo.") as session, make_client(session) as client:
        asked: Any = {"model": "policy", "messages": user("Greet."), "logprobs": True}
        if stream:
            listed = [chunk.choices[0].logprobs for chunk in client.chat.completions.create(**asked, stream=True)][-1]
        else:
            listed = client.chat.completions.create(**asked).choices[0].logprobs
        [turn] = session.turns()
        sampled = turn.tokens.completion
        assert [one.logprob for one in listed.content] == [*sampled.logprobs]
        assert [one.token for one in listed.content] == chat.pieces(sampled.ids)


@pytest.mark.parametrize("stream", [False, True])
def test_stop_texts_and_token_limits_end_a_reply(stream: bool, serve: Serve) -> None:
    def ask(client: openai.OpenAI, **limit: Any) -> tuple[str, str | None]:
        if not stream:
            [choice] = client.chat.completions.create(model="policy", messages=user("Tell."), **limit).choices
            return choice.message.content or "", choice.finish_reason
        chunks = [*client.chat.completions.create(model="policy", messages=user("Tell."), stream=True, **limit)]
        pieces = (chunk.choices[0].delta.content or "" for chunk in chunks)
        return "".join(pieces), chunks[-1].choices[0].finish_reason

    with serve(*["Once upon a time."] * 3) as session, make_client(session) as client:
        assert ask(client, stop=[" a", "never"]) == ("Once upon", "stop")
        for limit in ({"max_tokens": 3}, {"max_completion_tokens": 3}):
            text, reason = ask(client, **limit)
            assert "Once upon a time.".startswith(text)
            assert reason == "length"
            assert len(session.turns()[-1].tokens.completion.ids) == 3


def test_server_limit_caps_max_tokens(serve: Serve) -> None:
    with serve("word " * MAX_TOKENS) as session, make_client(session) as client:
        answer = client.chat.completions.create(model="policy", messages=user("Tell."), max_tokens=10 * MAX_TOKENS)
        assert answer.choices[0].finish_reason == "length"
        assert len(session.turns()[0].tokens.completion.ids) == MAX_TOKENS


@pytest.mark.parametrize("stream", [False, True])
def test_refused_requests_raise_and_are_not_retried(stream: bool, serve: Serve) -> None:
    with serve() as session, make_client(session) as client:
        complete = client.chat.completions.create
        with pytest.raises(openai.BadRequestError, match="n: 2 is not supported") as refused:
            complete(model="policy", messages=user("Tell."), n=2, stream=stream)
        assert refused.value.code == "bad_request"
        with pytest.raises(openai.BadRequestError, match="End the session with truncated") as refused:
            complete(model="policy", messages=user("too long " * 4_000), stream=stream)
        assert refused.value.code == "context_length_exceeded"
        with pytest.raises(openai.NotFoundError, match="Session not found"):
            client.with_options(base_url=session.base_url.replace("/v1", "-other/v1")).chat.completions.create(
                model="policy", messages=user("Tell."), stream=stream
            )
        assert not session.turns()


@pytest.mark.parametrize("stream", [False, True])
def test_retried_requests_get_the_same_answer(stream: bool, serve: Serve) -> None:
    """The first answer is lost on its way, as behind a proxy that fails."""
    statuses: list[int] = []

    def lose(response: Any) -> None:
        statuses.append(response.status_code)
        if len(statuses) == 1:
            response.status_code = 502
            response.headers["retry-after-ms"] = "1"

    lossy = openai.DefaultHttpxClient(event_hooks={"response": [lose]})
    with serve("one", "two") as session, make_client(session, http_client=lossy) as client:
        if stream:
            chunks = client.chat.completions.create(model="policy", messages=user("Say."), stream=True)
            said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        else:
            said = client.chat.completions.create(model="policy", messages=user("Say.")).choices[0].message.content
        assert (said, statuses) == ("one", [200, 200])
        assert len(session.turns()) == 1
        again = client.chat.completions.create(model="policy", messages=user("Say."))
        assert again.choices[0].message.content == "two", "it is another request, which only looks alike"


def test_engine_failure_is_an_error_even_while_streaming(serve: Serve) -> None:
    with serve(Break("Once upon"), Break("Once upon")) as session, make_client(session, max_retries=0) as client:
        with pytest.raises(openai.InternalServerError, match="The engine is gone") as failed:
            client.chat.completions.create(model="policy", messages=user("Tell."))
        assert failed.value.response.headers["retry-after"] == "1"
        said: list[str] = []
        chunks = client.chat.completions.create(model="policy", messages=user("Tell."), stream=True)
        with pytest.raises(openai.APIError, match="The engine is gone"):
            said.extend(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert "".join(said) == "Once upon"
        assert not session.turns()
