"""Any OpenAI-compatible chat service as a chat engine: for evaluation and opponents.

Retries are the openai library's, which knows what is worth another attempt and obeys `Retry-After`; nothing above or
below it retries. One attempt has its time and its key from the wire (`api_wire.py`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any
from weakref import finalize

from gymposium.errors import MissingExtra
from gymposium.reading import MAX_REPLY, is_encodable
from gymposium.strict_json import strict_json
from gymposium_agents.engines.api_errors import explained, malformed
from gymposium_agents.engines.api_settings import OPENAI_URL, ApiSettings
from gymposium_agents.engines.background import BackgroundLoop
from gymposium_agents.engines.protocol import ChatCompletion
from gymposium_agents.engines.secrets import without_secret
from gymposium_agents.tokens import FinishReason, Message, Sampling

_NO_KEY = "set on the wire"
"""What the library gets for a key: it insists on one."""
_CONNECT_SECONDS = 30.0
_MOST_TOKENS = 10**9
"""In one answer; a larger count is none."""


class _NoReply(ValueError):
    """An answer that is JSON, and no chat completion."""


class OpenAIChatEngine:
    """Asks one model of a chat service, any number of times at once."""

    def __init__(self, settings: ApiSettings) -> None:
        """Raises `MissingExtra` without the openai library, `BadOption` where the environment has no key."""
        try:
            import openai
        except ImportError:
            raise MissingExtra("The openai library", '"gymposium-agents[api]"') from None
        import httpx

        from gymposium_agents.engines.api_wire import Wire

        settings.read_key()  # no match begins without one
        self.settings = settings
        self.counts: Counter[str] = Counter()
        """Of the answers so far: `retries`, `withheld` by the service's filter, `tool calls`, `uncounted` tokens."""
        self._slots = asyncio.Semaphore(settings.at_once)
        # pool: those that wait for a connection have waited for a slot before, and are not late
        limits = httpx.Timeout(settings.timeout, connect=min(_CONNECT_SECONDS, settings.timeout), pool=None)
        # Any: what the library's types name here depends on its version; all of them take httpx's
        http: Any = {
            "timeout": limits,
            "http_client": httpx.AsyncClient(transport=Wire(settings, self.counts), follow_redirects=False),
        }
        self._client = openai.AsyncOpenAI(
            api_key=_NO_KEY, base_url=settings.base_url, max_retries=settings.retries, **http
        )
        self._loop = BackgroundLoop("chat engine")
        # players are dropped, not closed: connections and thread go with the engine
        self._end = finalize(self, self._loop.end, self._client.close)
        self._end.atexit = False

    def submit(self, messages: Sequence[Message], sampling: Sampling, seed: int) -> Future[ChatCompletion]:
        """Begin one completion. The future raises `ApiError` with what to do, of that `PromptTooLong` where there is no
        room left for a reply. Seeds are sent, but few services promise anything of them."""
        return self._loop.submit(self._complete(messages, sampling, seed))

    def remarks(self) -> list[str]:
        """What was out of the ordinary."""
        words = {
            "retries": "{} requests had to be sent again.",
            "withheld": "{} replies were cut off by the service's content filter.",
            "tool calls": "{} replies were tool calls, which nobody offered.",
            "uncounted": "{} replies came without token counts: sums and costs leave them out.",
        }
        return [sentence.format(self.counts[name]) for name, sentence in words.items() if self.counts[name]]

    def close(self) -> None:
        """Give up what is under way and close the connections, which otherwise are closed when the engine is
        forgotten. It cannot be used after this."""
        self._end()
        self._loop.join()

    async def _complete(self, messages: Sequence[Message], sampling: Sampling, seed: int) -> ChatCompletion:
        import openai

        fields = {"messages": [dict(message) for message in messages], **self._fields(sampling, seed)}
        async with self._slots:
            try:
                answer = await self._client.chat.completions.with_raw_response.create(
                    model=self.settings.model, **fields
                )
                return self._read(answer.content)
            except openai.OpenAIError as error:
                failure = explained(error, self.settings)
        raise failure  # out here, where the library's exception is no longer its context

    def _fields(self, sampling: Sampling, seed: int) -> dict[str, Any]:
        # OpenAI's newer models refuse max_tokens, and most other services know only that
        limit = "max_completion_tokens" if self.settings.base_url == OPENAI_URL else "max_tokens"
        fields: dict[str, Any] = {limit: sampling.max_tokens}
        if not self.settings.own_temperature:
            fields["temperature"] = sampling.temperature
        if self.settings.seed:
            fields["seed"] = seed
        return fields

    def _read(self, body: bytes) -> ChatCompletion:
        """The completion in a service's answer. Services differ in what they leave out; what they give must be of its
        kind, or else nobody knows what the model said. Raises `ApiError`."""
        key = self.settings.read_key()
        try:
            answer = strict_json(body.decode("utf-8"))
            choices = answer.get("choices") if isinstance(answer, dict) else None
            choice = choices[0] if isinstance(choices, list) and choices else None
            message = choice.get("message") if isinstance(choice, dict) else None
            if not isinstance(choice, dict) or not isinstance(message, dict):
                raise _NoReply("it has no choice with a message")
            text = without_secret(_content(message.get("content")), key)
            prompt, completion = _counted(answer.get("usage"))
        except ValueError as error:
            failure = malformed(body.decode("utf-8", "replace"), self.settings, str(error))
        else:
            finish = self._finish(choice.get("finish_reason"))
            return ChatCompletion(text, finish, prompt, completion, self._cost(prompt, completion))
        raise failure  # out here, where what the service said is in no other exception

    def _cost(self, prompt: int | None, completion: int | None) -> float | None:
        if prompt is None or completion is None:
            self.counts["uncounted"] += 1
            return None
        return None if self.settings.prices is None else self.settings.prices.cost(prompt, completion)

    def _finish(self, reason: object) -> FinishReason:
        if reason == "content_filter":  # the service ended the reply, not the model
            self.counts["withheld"] += 1
            return "length"
        if reason in ("tool_calls", "function_call"):
            self.counts["tool calls"] += 1
        return "length" if reason == "length" else "stop"


def _content(content: object) -> str:
    """The text of a message: none where it only thought, called a tool or refused; the text among several parts.
    Thoughts stand in a field or in parts of their own (`reasoning_content`, `thinking`), which are left alone.

    Raises `_NoReply` for what is no text that a reply may be."""
    if not isinstance(content, list):
        content = [] if content is None else [{"type": "text", "text": content}]
    text = ""
    for part in content:
        more = (part.get("text") if part.get("type") == "text" else "") if isinstance(part, dict) else None
        if not isinstance(more, str):
            raise _NoReply("its content is no text")
        text += more
    if not is_encodable(text):
        raise _NoReply("its text has a lone surrogate")
    if len(text) > MAX_REPLY:
        raise _NoReply(f"its text has {len(text):,} characters, and at most {MAX_REPLY:,} are read")
    return text


def _counted(usage: object) -> tuple[int | None, int | None]:
    """Tokens of the prompt and of the completion, as far as the service counted them. Raises `_NoReply` for what is
    no count."""
    if usage is not None and not isinstance(usage, dict):
        raise _NoReply("its usage is no object")
    given = usage or {}
    return _count(given, "prompt_tokens"), _count(given, "completion_tokens")


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    count = usage.get(name)
    if count is None or (type(count) is int and 0 <= count <= _MOST_TOKENS):
        return count
    raise _NoReply(f"its {name} are no count of tokens")
