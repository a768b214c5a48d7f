"""Chat engine over an OpenAI-compatible chat service, for evaluation and opponents.

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
from gymposium.replies.reading import MAX_REPLY
from gymposium.util.background import BackgroundLoop
from gymposium.util.visible import is_encodable, plural, visible
from gymposium_agents.chat.tokens import FinishReason, Message, Sampling
from gymposium_agents.engines.api_errors import ApiError, Kind, explain_error, find_kind, make_malformed_error
from gymposium_agents.engines.api_settings import OPENAI_URL, ApiSettings
from gymposium_agents.engines.failures_in_answers import UNFINISHED, find_first_choice, list_finish_words, parse_answer
from gymposium_agents.engines.protocol import ChatCompletion
from gymposium_agents.engines.refused_fields import LIMITS, AcceptedFields, find_refused
from gymposium_agents.engines.secrets import remove_secret

_NO_KEY = "set on the wire"
"""Placeholder for the key, because the library requires one."""
_CONNECT_SECONDS = 30.0
_MOST_TOKENS = 10**9
"""Largest token count that an answer may report."""


_CUT_OFF = {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
"""Finish reasons of a reply that reached a token limit: OpenAI's and vLLM's, Anthropic's and Gemini's, and other
services'."""
_WITHHELD = {
    "content_filter",
    "safety",
    "recitation",
    "prohibited_content",
    "spii",
    "blocklist",
    "refusal",
    "sensitive",
}
"""Finish reasons of a reply ended by a filter: OpenAI's, Gemini's, Anthropic's and GLM's."""
_ENDED = {
    *("stop", "end_turn", "stop_sequence", "eos", "eos_token", "end", "complete", "completed", "finished", "none", ""),
    *("tool_calls", "tool_call", "tool_use", "function_call", "malformed_function_call", "unexpected_tool_call"),
    "function_call_filter",
}
"""Finish reasons of a reply ended by the model, including with a tool call or without a reason."""
_KNOWN = _CUT_OFF | _WITHHELD | _ENDED
_OTHER_TEXTS = ("text", "delta")
"""Fields of a choice with the reply in answers of another form: a completion without chat, or a part of a stream."""
_TEXTS = {"text", "output_text"}
"""Types of message parts that contain a reply's text."""
_THOUGHTS = {"thinking", "redacted_thinking", "reasoning", "reasoning_text"}
_NO_TEXTS = _THOUGHTS | {"reference", "refusal"}
"""Types of message parts that do not belong to the reply."""


class _NoReply(ValueError):
    """Error for an answer that is JSON but not a chat completion."""


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

        settings.read_key()  # fail before the first match if it is missing
        self.settings = settings
        self.counts: Counter[str] = Counter()
        """Counts of unusual events so far: `retries`, and replies `withheld` by a filter, with `tool calls`, with `all
        thoughts` and no text, or with `uncounted` tokens."""
        # OpenAI's newer models refuse max_tokens, and most other services only know that name
        openai_limit = "max_completion_tokens" if settings.base_url == OPENAI_URL else "max_tokens"
        self._accepted = AcceptedFields(settings.limit or openai_limit)
        self._slots = asyncio.Semaphore(settings.at_once)
        # Any: the types that the library names here depend on its version, but all versions accept httpx's
        http: Any = {
            # no limit on the pool: a request that waits for a connection already holds a slot
            "timeout": httpx.Timeout(settings.timeout, connect=min(_CONNECT_SECONDS, settings.timeout), pool=None),
            "http_client": httpx.AsyncClient(transport=Wire(settings, self.counts), follow_redirects=False),
        }
        self._client = openai.AsyncOpenAI(
            api_key=_NO_KEY, base_url=settings.base_url, max_retries=settings.retries, **http
        )
        self._loop = BackgroundLoop("chat engine")
        # players are not closed, so connections and thread end when the engine is garbage-collected
        self._end = finalize(self, self._loop.end, self._client.close)
        self._end.atexit = False

    def submit(self, messages: Sequence[Message], sampling: Sampling, seed: int) -> Future[ChatCompletion]:
        """Start one completion. The future raises `ApiError` with the fix, and its subclass `PromptTooLong` if there is
        no space for a reply. The seed is sent, but few services guarantee that it has an effect."""
        return self._loop.submit(self._complete(messages, sampling, seed))

    def remarks(self) -> list[str]:
        """Return sentences about unusual events so far, such as retries."""
        sentences = {
            "retries": "{} {request} had to be sent again.",
            "withheld": "{} {reply} {was} cut off by the service's content filter. A larger max_tokens does not help: "
            "change the prompt or the model.",
            "tool calls": "{} {reply} held tool calls, which were not offered and are not read: turn off the tool-call "
            "parser of the server.",
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

    async def _complete(self, messages: Sequence[Message], sampling: Sampling, seed: int) -> ChatCompletion:
        import openai

        sent_messages = [dict(message) for message in messages]
        refused: set[str] = set()
        failure: ApiError | None = None
        async with self._slots:
            while failure is None:  # each pass but the last adapts one more field
                fields = self._make_fields(sampling, seed)
                try:
                    # Any: the library's types of messages depend on its version
                    request: dict[str, Any] = {"messages": sent_messages, **fields}
                    answer = await self._client.chat.completions.with_raw_response.create(
                        model=self.settings.model, **request
                    )
                    return self._read(answer.content)
                except openai.APIStatusError as error:
                    kind = find_kind(error.status_code, error.response.content)
                    if kind in ("cut off", "withheld", "tool call"):
                        return self._make_empty_reply(kind)
                    field = None if kind else find_refused(error, fields)
                    if field is None or field in refused or (refused & {*LIMITS} and field in LIMITS):
                        failure = explain_error(error, self.settings)
                    else:
                        refused.add(field)
                        self._accepted.adapt(field)
                except openai.OpenAIError as error:
                    failure = explain_error(error, self.settings)
        raise failure  # outside the handler, so that the library's exception is not its context

    def _make_fields(self, sampling: Sampling, seed: int) -> dict[str, Any]:
        fields: dict[str, Any] = {self._accepted.limit: sampling.max_tokens}
        if not self.settings.own_temperature:
            fields["temperature"] = sampling.temperature
        if self.settings.seed:
            fields["seed"] = seed
        return {name: value for name, value in fields.items() if name not in self._accepted.left_out}

    def _make_empty_reply(self, kind: Kind) -> ChatCompletion:
        """Return the empty reply that replaces an error of this kind."""
        if kind == "withheld":
            self.counts["withheld"] += 1
        if kind == "tool call":
            self.counts["tool calls"] += 1
        return ChatCompletion(
            "", "stop" if kind == "tool call" else "length", None, None, self._compute_cost(None, None)
        )

    def _read(self, body: bytes) -> ChatCompletion:
        """Return the completion in a service's answer. Services omit different fields, but existing fields must have
        the right types. Raises `ApiError`."""
        key = self.settings.read_key()
        try:
            answer = parse_answer(body)
            choice = find_first_choice(answer)
            message = choice.get("message") if isinstance(choice, dict) else None
            reasons = list_finish_words(choice)
            is_other_form = isinstance(choice, dict) and not choice.keys().isdisjoint(_OTHER_TEXTS)
            if message is None and reasons & _KNOWN and not reasons & UNFINISHED and not is_other_form:
                message = {}  # Gemini omits it if there is no text
            if not isinstance(choice, dict) or not isinstance(message, dict):
                raise _NoReply("choices[0].message is missing or not an object")
            text = remove_secret(_read_content(message.get("content")), key)
            if not text.strip() and not reasons & _KNOWN:
                reason = visible(repr(str(choice.get("finish_reason")).lower()[:80]))
                raise _NoReply(f"message.content is empty, and finish_reason is unknown: {reason}")
            prompt, completion = _read_usage(answer.get("usage"))
        except ValueError as error:
            failure = make_malformed_error(body.decode("utf-8", "replace"), self.settings, str(error))
        else:
            if message.get("tool_calls") or message.get("function_call"):
                self.counts["tool calls"] += 1
            finish = self._find_finish_reason(reasons)
            if finish == "stop" and not text.strip() and _has_thoughts(message):
                self.counts["all thoughts"] += 1
            return ChatCompletion(text, finish, prompt, completion, self._compute_cost(prompt, completion))
        raise failure  # outside the handler, so that no chained exception contains the service's text

    def _compute_cost(self, prompt: int | None, completion: int | None) -> float | None:
        if prompt is None or completion is None:
            self.counts["uncounted"] += 1
            return None
        return None if self.settings.prices is None else self.settings.prices.cost(prompt, completion)

    def _find_finish_reason(self, reasons: set[str]) -> FinishReason:
        if reasons & _WITHHELD:  # the service cut the reply off
            self.counts["withheld"] += 1
        return "length" if reasons & (_WITHHELD | _CUT_OFF) else "stop"


def _fill_in_count(sentence: str, count: int) -> str:
    """Fill a count with its noun into a sentence."""
    nouns = {"request": plural(count, "request"), "reply": plural(count, "reply", "replies")}
    return sentence.format(count, was=plural(count, "was", "were"), **nouns)


def _read_content(content: Any) -> str:
    """Return the text of a message's content, which is a text or a list of parts. It is empty if the message contains
    only thoughts, a tool call or a refusal. Thoughts are in another field or in other parts (`reasoning_content`,
    `thinking`), which are ignored.

    Raises `_NoReply` if the content cannot be a reply's text, or has parts of unknown types."""
    if not isinstance(content, list):
        content = [] if content is None else [{"type": "text", "text": content}]
    types: list[Any] = [part.get("type") if isinstance(part, dict) else None for part in content]
    if not all(isinstance(kind, str) for kind in types):
        raise _NoReply("message.content is not text")
    told = [part for part, kind in zip(content, types) if kind in _TEXTS]
    texts: list[Any] = ["" if "text" in part and part["text"] is None else part.get("text") for part in told]
    if not all(isinstance(text, str) for text in texts):
        raise _NoReply("message.content is not text")
    if unknown := {*types} - _TEXTS - _NO_TEXTS:
        raise _NoReply(f"message.content has parts of unknown types: {visible(str(sorted(unknown)))}")
    text = "".join(texts)
    if not is_encodable(text):
        raise _NoReply("message.content has a lone surrogate")
    if len(text) > MAX_REPLY:
        raise _NoReply(f"message.content has {len(text):,} characters, and at most {MAX_REPLY:,} are read")
    return text


def _has_thoughts(message: Mapping[str, Any]) -> bool:
    """Return True if a message without tool calls has thoughts outside its text."""
    if message.get("tool_calls") or message.get("function_call"):
        return False
    parts = message.get("content")
    kinds = {part.get("type") for part in parts} if isinstance(parts, list) else set()
    return bool(message.get("reasoning_content") or message.get("reasoning") or kinds & _THOUGHTS)


def _read_usage(usage: object) -> tuple[int | None, int | None]:
    """Return the numbers of prompt and completion tokens, or None for a number that the service did not report. If the
    total exceeds the sum, the rest are thoughts, which some services do not count as completion. Raises `_NoReply` for
    a value that is not a count."""
    if usage is not None and not isinstance(usage, dict):
        raise _NoReply("usage is not an object")
    prompt, completion = _read_count(usage or {}, "prompt_tokens"), _read_count(usage or {}, "completion_tokens")
    total = (usage or {}).get("total_tokens")
    if prompt is not None and type(total) is int and prompt + (completion or 0) < total <= _MOST_TOKENS:
        completion = total - prompt
    return prompt, completion


def _read_count(usage: Mapping[str, Any], name: str) -> int | None:
    count = usage.get(name)
    if count is None or (type(count) is int and 0 <= count <= _MOST_TOKENS):
        return count
    raise _NoReply(f"usage.{name} is not a token count")
