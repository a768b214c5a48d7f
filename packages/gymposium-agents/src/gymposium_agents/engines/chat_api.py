"""Chat engine over a chat service, for evaluation and opponents.

The openai library retries failed requests: it decides which failures are worth another attempt and obeys
`Retry-After`. No other layer retries. The transport (`api_wire.py`) adds the key to each attempt and limits its time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any
from weakref import finalize

from gymposium.errors import MissingExtra
from gymposium.tasks.tools import Tool
from gymposium.util.background import BackgroundLoop
from gymposium.util.visible import plural
from gymposium_agents.chat.tokens import FinishReason, Message, Sampling
from gymposium_agents.engines.api_chat import ChatDialect
from gymposium_agents.engines.api_dialect import CUT_OFF, WITHHELD, ApiDialect, RawCall
from gymposium_agents.engines.api_errors import ApiError, Kind, explain_error, find_kind, make_malformed_error
from gymposium_agents.engines.api_messages import MessagesDialect
from gymposium_agents.engines.api_responses import ResponsesDialect
from gymposium_agents.engines.api_settings import ApiSettings, DialectName
from gymposium_agents.engines.failures_in_answers import parse_answer
from gymposium_agents.engines.protocol import ChatCompletion
from gymposium_agents.engines.refused_fields import LIMITS, AcceptedFields, find_refused

_NO_KEY = "set on the wire"
"""Placeholder for the key, because the library requires one."""
_CONNECT_SECONDS = 30.0
_DIALECTS: dict[DialectName, ApiDialect] = {
    "chat": ChatDialect(),
    "messages": MessagesDialect(),
    "responses": ResponsesDialect(),
}


class OpenAIChatEngine:
    """A chat engine for one model of a chat service, with many concurrent requests."""

    def __init__(self, settings: ApiSettings) -> None:
        """Raise `MissingExtra` without the openai library, and `BadOption` if the key is missing from the
        environment."""
        try:
            import openai
        except ImportError:
            raise MissingExtra("The openai library", '"gymposium-agents[api]"') from None
        import httpx

        from gymposium_agents.engines.api_wire import Wire

        for endpoint in settings.endpoints:
            endpoint.read_key()  # fail before the first match if it is missing
        self.settings = settings
        self.counts: Counter[str] = Counter()
        """Counts of unusual events so far: `retries`, `failovers`, and replies `withheld` by a filter, with `tool
        calls` that were not offered, with `malformed calls`, with `all thoughts` and no text, or with `uncounted`
        tokens."""
        self._spent = 0.0
        self._dialect = _DIALECTS[settings.dialect]
        self._accepted = AcceptedFields(self._dialect.choose_limit(settings))
        self._slots = asyncio.Semaphore(settings.at_once)
        wire = Wire(settings, self._dialect, self.counts)
        # Any: the types that the library names here depend on its version, but all versions accept httpx's
        http: Any = {
            # no limit on the pool: a request that waits for a connection already holds a slot
            "timeout": httpx.Timeout(settings.timeout, connect=min(_CONNECT_SECONDS, settings.timeout), pool=None),
            "http_client": httpx.AsyncClient(transport=wire, follow_redirects=False),
        }
        self._client = openai.AsyncOpenAI(
            api_key=_NO_KEY, base_url=settings.endpoints[0].base_url, max_retries=settings.retries, **http
        )
        self._loop = BackgroundLoop("chat engine")
        # players are not closed, so connections and thread end when the engine is garbage-collected
        self._end = finalize(self, self._loop.end, self._client.close)
        self._end.atexit = False

    def submit(
        self, messages: Sequence[Message], sampling: Sampling, seed: int, tools: Sequence[Tool] = ()
    ) -> Future[ChatCompletion]:
        """Start one completion. The future raises `ApiError` with the fix, and its subclass `PromptTooLong` if there is
        no space for a reply. The seed is sent, but few services guarantee that it has an effect."""
        return self._loop.submit(self._complete(messages, sampling, seed, tools))

    def remarks(self) -> list[str]:
        """Return sentences about unusual events so far, such as retries."""
        sentences = {
            "retries": "{} {request} had to be sent again.",
            "failovers": "{} {request} failed at one key or address and went to the next.",
            "withheld": "{} {reply} {was} cut off by the service's content filter. A larger max_tokens does not help: "
            "change the prompt or the model.",
            "tool calls": "{} {reply} held tool calls, which were not offered and are not read: turn off the tool-call "
            "parser of the server, or use reply=tools in games with tools.",
            "malformed calls": "{} {reply} held a malformed tool call, and {was} unparsable.",
            "all thoughts": "{} {reply} {was} empty, because the service put the whole reply into the thoughts "
            "(reasoning_content). Turn off the server's reasoning parser, or name the one that fits the model.",
            "uncounted": "{} {reply} came without token counts: sums and costs leave them out.",
        }
        counted = [
            _fill_in_count(sentence, self.counts[name]) for name, sentence in sentences.items() if self.counts[name]
        ]
        return counted + self._accepted.remarks()

    def close(self) -> None:
        """Cancel all requests in flight, and close the connections. The engine cannot be used afterwards. Without this
        call, connections are closed when the engine is garbage-collected."""
        self._end()
        self._loop.join()

    async def _complete(
        self, messages: Sequence[Message], sampling: Sampling, seed: int, tools: Sequence[Tool]
    ) -> ChatCompletion:
        import httpx
        import openai

        content = self._dialect.write(self.settings, messages, tools)
        refused: set[str] = set()
        failure: ApiError | None = None
        async with self._slots:
            self._check_cap()
            while failure is None:  # each pass but the last adapts one more field
                body = self._make_body(content, sampling, seed)
                try:
                    answer = await self._client.post(self._dialect.path, cast_to=httpx.Response, body=body)
                    return self._read(answer.content, offered=bool(tools))
                except openai.APIStatusError as error:
                    kind = find_kind(error.status_code, error.response.content)
                    if kind in ("cut off", "withheld", "tool call"):
                        return self._make_empty_reply(kind, offered=bool(tools))
                    fields = [name for name in self._dialect.adaptable if name in body]
                    field = None if kind else find_refused(error, fields)
                    if field is None or field in refused or (refused & {*LIMITS} and field in LIMITS):
                        failure = explain_error(error, self.settings)
                    else:
                        refused.add(field)
                        self._accepted.adapt(field)
                except openai.OpenAIError as error:
                    failure = explain_error(error, self.settings)
        raise failure  # outside the handler, so that the library's exception is not its context

    def _make_body(self, content: Mapping[str, Any], sampling: Sampling, seed: int) -> dict[str, Any]:
        body = {"model": self.settings.model, **content, self._accepted.limit: sampling.max_tokens}
        if not self.settings.own_temperature:
            body["temperature"] = sampling.temperature
        if self.settings.top_p is not None:
            body["top_p"] = self.settings.top_p
        if self.settings.seed and "seed" in self._dialect.adaptable:
            body["seed"] = seed
        return {name: value for name, value in body.items() if name not in self._accepted.left_out}

    def _make_empty_reply(self, kind: Kind, *, offered: bool) -> ChatCompletion:
        """Return the empty reply that replaces an error of this kind."""
        if kind == "withheld":
            self.counts["withheld"] += 1
        if kind == "tool call":
            self.counts["malformed calls" if offered else "tool calls"] += 1
        return ChatCompletion(
            "", "stop" if kind == "tool call" else "length", None, None, self._compute_cost(None, None)
        )

    def _read(self, body: bytes, *, offered: bool) -> ChatCompletion:
        """Return the completion in a service's answer. Raises `ApiError`."""
        try:
            answer = self._dialect.read(parse_answer(body), offered=offered)
        except ValueError as error:
            failure = make_malformed_error(body.decode("utf-8", "replace"), self.settings, str(error))
        else:
            clean = self.settings.remove_keys
            text = clean(answer.text)
            raw = [RawCall(clean(one.name), clean(one.arguments)) for one in answer.calls]
            calls = tuple(call for one in raw if (call := one.parsed) is not None)
            if len(calls) < len(raw):
                self.counts["malformed calls"] += 1
                text, calls = "\n".join([text, *(f"{one.name} {one.arguments}" for one in raw)]).strip(), ()
            finish = self._find_finish_reason(answer.reasons)
            if answer.has_calls:
                self.counts["tool calls"] += not offered
            elif finish == "stop" and not text.strip() and answer.has_thoughts:
                self.counts["all thoughts"] += 1
            tokens = answer.prompt_tokens, answer.completion_tokens
            cost = self._compute_cost(*tokens)
            if cost is None and self.settings.max_cost is not None:
                raise ApiError(
                    f"{self.settings.base_url} answered without token counts, so max_cost= cannot be kept. Omit it, or "
                    f"use a service that counts tokens."
                )
            return ChatCompletion(text, finish, *tokens, cost, calls, answer.native if calls else None)
        raise failure  # outside the handler, so that no chained exception contains the service's text

    def _compute_cost(self, prompt: int | None, completion: int | None) -> float | None:
        if prompt is None or completion is None:
            self.counts["uncounted"] += 1
            return None
        if self.settings.prices is None:
            return None
        cost = self.settings.prices.cost(prompt, completion)
        self._spent += cost
        return cost

    def _check_cap(self) -> None:
        """Raise `ApiError` if `max_cost` is reached."""
        cap = self.settings.max_cost
        if cap is not None and self._spent >= cap:
            raise ApiError(
                f"{self.settings.base_url}: the cost of {self.settings.model} has reached max_cost={cap:g} "
                f"({self._spent:.4f}). Finished matches are recorded. Raise max_cost=, or resume the run to spend as "
                f"much again."
            )

    def _find_finish_reason(self, reasons: set[str]) -> FinishReason:
        if reasons & WITHHELD:  # the service cut the reply off
            self.counts["withheld"] += 1
        return "length" if reasons & (WITHHELD | CUT_OFF) else "stop"


def _fill_in_count(sentence: str, count: int) -> str:
    """Fill a count with its noun into a sentence."""
    nouns = {"request": plural(count, "request"), "reply": plural(count, "reply", "replies")}
    return sentence.format(count, was=plural(count, "was", "were"), **nouns)
