"""Scripted sessions with prescribed replies, for tests of their tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from gymposium.errors import GymposiumError
from gymposium.tasks.tools import Call
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import BASE, Completion, Sampling, TokenRequest
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_agents.serving.requests import CompletionRequest
from gymposium_agents.serving.session import Session
from gymposium_agents.serving.turns import ServedTurn

CONTEXT = 4_096


@dataclass(frozen=True)
class Break:
    """A text after which the engine fails."""

    text: str
    error: Exception = field(default_factory=lambda: GymposiumError("The engine is gone."))


class Script:
    """Answers requests with replies in order: texts, or calls of tools. Each is sampled as the model might spell it."""

    context = CONTEXT
    policy = BASE

    def __init__(self, chat: Chat, replies: Iterable[str | Call | Break]) -> None:
        self._chat, self._replies = chat, iter(replies)
        self.asked: list[TokenRequest] = []

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        return [self.submit(request, sampling).result() for request in requests]

    def score(self, pairs: object, **how: object) -> list[tuple[float, ...]]:
        raise NotImplementedError

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        self.asked.append(request)
        reply = next(self._replies)
        answer: Future[Completion] = Future()
        if isinstance(reply, Break):
            for token in self._chat.reply(reply.text):
                if request.watch is not None:
                    request.watch(token)
            answer.set_exception(reply.error)
            return answer
        ids = self._chat.reply(reply) if isinstance(reply, str) else self._chat.reply("", [reply])
        kept: list[int] = []
        for token in ids[: sampling.max_tokens]:
            kept.append(token)
            if request.watch is not None and request.watch(token):
                break
        stopped = kept[-1] in self._chat.stops or len(kept) < min(len(ids), sampling.max_tokens)
        answer.set_result(Completion(tuple(kept), (-0.5,) * len(kept), "stop" if stopped else "length", BASE))
        return answer


def session(chat: Chat, *replies: str | Call, turns: Iterable[ServedTurn] = (), max_tokens: int = 200) -> Session:
    script = Script(chat, replies)
    player = LanguageModelPlayer("lm:script", script, chat, sampling=Sampling(1.0, max_tokens))
    return Session(player, script.submit, 0, turns=tuple(turns))


def ask(asked: Session, *messages: object, again: bool = False, **fields: object) -> ServedTurn:
    """Send messages, written as in OpenAI's API."""
    request = CompletionRequest.read({"messages": list(messages), **fields})
    return asyncio.run(asked.complete(request, again=again))


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def said(turn: ServedTurn) -> dict[str, object]:
    """The reply as the client got it."""
    message: dict[str, object] = turn.answer["choices"][0]["message"]
    return message


def result(turn: ServedTurn, text: str) -> dict[str, object]:
    """The result of the one call of a reply."""
    (call,) = turn.answer["choices"][0]["message"]["tool_calls"]
    return {"role": "tool", "tool_call_id": call["id"], "content": text}
