"""Requests of many clients in batches, and the text of a reply as it grows."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError

import pytest
from transformers import PreTrainedTokenizerFast

from gymposium.errors import GymposiumError
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import BASE, Completion, Sampling, TokenRequest
from gymposium_agents.serving.batching import RequestBatcher
from gymposium_agents.serving.requests import CompletionRequest
from gymposium_agents.serving.watching import Watch


class CountingEngine:
    """An engine that notes its batches. The first one waits until it may go on."""

    context, policy = 64, BASE

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.began, self.go_on = threading.Event(), threading.Event()

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        self.batches.append(len(requests))
        self.began.set()
        assert self.go_on.wait(30)
        if any(request.prompt == (0,) for request in requests):
            raise GymposiumError("The engine is gone.")
        return [Completion((sampling.max_tokens,), (-1.0,), "length", BASE) for _ in requests]


def request(*prompt: int) -> TokenRequest:
    return TokenRequest(prompt or (1,), random.Random(0))


def test_queued_requests_are_batched_by_sampling() -> None:
    engine = CountingEngine()
    batches = RequestBatcher(engine)  # type: ignore[arg-type]
    first = batches.submit(request(), Sampling(1.0, 3))
    assert engine.began.wait(30)
    long = [batches.submit(request(), Sampling(1.0, 8)) for _ in range(5)]
    short = [batches.submit(request(), Sampling(1.0, 2)) for _ in range(2)]
    engine.go_on.set()
    assert [one.result(30).ids for one in (first, *long, *short)] == [(3,), *[(8,)] * 5, *[(2,)] * 2]
    assert engine.batches == [1, 5, 2]
    assert (batches.batches, batches.requests) == (3, 8)
    batches.close()


def test_engine_errors_reach_only_their_batch() -> None:
    engine = CountingEngine()
    engine.go_on.set()
    batches = RequestBatcher(engine)  # type: ignore[arg-type]
    with pytest.raises(GymposiumError, match="is gone"):
        batches.submit(request(0), Sampling()).result(30)
    assert batches.submit(request(), Sampling(1.0, 5)).result(30).ids == (5,)
    batches.close()


def test_closing_cancels_queued_requests() -> None:
    engine = CountingEngine()
    batches = RequestBatcher(engine)  # type: ignore[arg-type]
    first = batches.submit(request(), Sampling(1.0, 3))
    assert engine.began.wait(30)
    waiting = batches.submit(request(), Sampling(1.0, 3))
    closing = threading.Thread(target=batches.close)
    closing.start()
    with pytest.raises(CancelledError):
        waiting.result(30)
    engine.go_on.set()
    assert first.result(30).ids == (3,)
    closing.join(30)


def stream_reply(chat: Chat, reply: str, **fields: object) -> tuple[list[str], bool]:
    """The pieces of a reply that are shown as it is sampled, and whether a stop text ended it."""
    shown: list[str] = []
    asked = CompletionRequest.read({"messages": [{"role": "user", "content": "?"}], **fields})
    watch = Watch(asked, chat, shown.append)
    stops = [watch(token) for token in chat.reply(reply)]
    return shown, any(stops)


def test_streamed_text_is_never_retracted_by_stop_texts(
    family_tokenizer: Callable[[str], PreTrainedTokenizerFast],
) -> None:
    chat = Chat(family_tokenizer("qwen2.5"))
    shown, stopped = stream_reply(chat, "b2, c3 日本")
    assert ("".join(shown), stopped) == ("b2, c3 日本", False)
    shown, stopped = stream_reply(chat, "b2 Obser c3 Observation: d4", stop=["Observation:"])
    assert stopped
    assert "".join(shown) == "b2 Obser c3 "
    shown, _ = stream_reply(chat, "<think>hm</think>b2")
    assert "".join(shown) == "b2"
    tool = {"type": "function", "function": {"name": "f"}}
    assert stream_reply(chat, "b2", tools=[tool])[0] == [], "a reply that may be a call is shown at its end"
