"""Chat engine over a token engine, for getting text from a model in this process."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from gymposium.tasks.tools import Call, Tool
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.util.visible import quantity
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import Message, Sampling, TokenRequest
from gymposium_agents.engines.api_errors import PromptTooLong
from gymposium_agents.engines.protocol import ChatCompletion, TokenEngine


@cache
def _get_worker() -> ThreadPoolExecutor:
    """Return the single thread for all engines: players may share an engine that handles one call at a time."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="token chat")


class TokenChatEngine:
    """A chat engine that formats messages with a chat template and asks a token engine for one completion at a time."""

    def __init__(self, engine: TokenEngine, chat: Chat) -> None:
        self._engine, self._chat = engine, chat

    def submit(
        self, messages: Sequence[Message], sampling: Sampling, seed: int, tools: Sequence[Tool] = ()
    ) -> Future[ChatCompletion]:
        """Start one completion. The future raises the errors of the engine, and `PromptTooLong` if there is no space
        for a reply."""
        return _get_worker().submit(self._complete, messages, sampling, seed, tools)

    def _complete(
        self, messages: Sequence[Message], sampling: Sampling, seed: int, tools: Sequence[Tool]
    ) -> ChatCompletion:
        prompt = self._chat.conversation(messages, tools)
        if len(prompt) >= self._engine.context:
            raise PromptTooLong(
                f"The messages have {quantity(len(prompt), 'token')}, but the model's context is "
                f"{self._engine.context}. Use a shorter context (last-K or state)."
            )
        (completion,) = self._engine.generate([TokenRequest(prompt, random.Random(seed))], sampling)
        text = self._chat.read(completion.ids)
        calls: tuple[Call, ...] = ()
        if tools and (dialect := self._chat.dialect) is not None:
            text, calls = ToolsReader(dialect, tuple(tools)).parts(text) or (text, ())
        return ChatCompletion(text, completion.finish_reason, len(prompt), len(completion.ids), calls=calls)
