"""Sessions: conversations with one policy, and their tokens."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from hashlib import sha256

from gymposium.errors import GymposiumError
from gymposium.util.streams import stream
from gymposium_agents.chat.messages import CHARACTERS_PER_TOKEN, count_characters
from gymposium_agents.chat.tokens import TokenRequest, TurnTokens
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_agents.serving import replies
from gymposium_agents.serving.batching import Submit
from gymposium_agents.serving.memory import Memory, Prompt
from gymposium_agents.serving.requests import BadRequest, CompletionRequest
from gymposium_agents.serving.turns import ServedTurn, convert_to_data, list_messages
from gymposium_agents.serving.watching import Watch

OVERRIDDEN = "x-gymposium-overridden"
"""The answer header that lists the request's fields that the run overrode."""


class ContextFull(BadRequest):
    """Error for a request whose messages leave no space for a reply in the model's context.

    Anthropic's clients recognize it by its words, because their protocol has no code for it."""

    def __init__(self, size: str, context: int) -> None:
        super().__init__(
            "messages",
            f"the prompt is too long. It has {size}, tools included, but the model's context is {context} tokens, "
            f"including the reply. End the session with truncated, or send fewer messages.",
            "context_length_exceeded",
        )


class Session:
    """A session that answers requests with one policy. Each reply is a turn, saved before it is sent.

    Call its methods in one event loop. Requests may overlap, for example from several agents or branches."""

    def __init__(
        self,
        player: LanguageModelPlayer,
        submit: Submit,
        seed: int,
        *,
        model: str | None = None,
        name: str | None = None,
        keep: Callable[[ServedTurn], object] = lambda turn: None,
        counts: Counter[str] | None = None,
        turns: Sequence[ServedTurn] = (),
    ) -> None:
        """`player` provides the chat format, policy and sampling. `submit` sends requests to its engine. `seed` is the
        seed of the replies. `model` is the model's name for clients, by default that of the policy. `name` is the
        session's name for engines (`TokenRequest.conversation`).

        `keep` is called with each turn before it is sent. `counts` counts requests by how their prompts begin, and
        those `answered again`. `turns` are the turns saved by an earlier process."""
        self.asked_at = time.monotonic()
        """The time of the latest request, or of the beginning before the first request."""
        self.turns: list[ServedTurn] = []
        """The turns so far, in the order of completed replies."""
        self.chat = player.chat
        self._policy = player.current_policy
        self.model = model or str(self._policy)
        """The name of the model for clients."""
        self._context, self._sampling = player.engine.context, player.sampling
        self._submit, self._seed, self._keep = submit, seed, keep
        self._name = name
        self._counts = Counter() if counts is None else counts
        self._memory = Memory(self.chat)
        self._reading = asyncio.Lock()
        """Lock held while the memory is changed, or read in another thread."""
        self._asked: Counter[str] = Counter()
        """The number of times that each request was sampled."""
        self._under_way: dict[str, asyncio.Task[ServedTurn]] = {}
        """For each request being sampled, its latest reply."""
        for turn in turns:
            self.turns.append(turn)
            request = CompletionRequest(list_messages(self.turns, turn.number), turn.tools)
            self._memory.keep(turn.number, self._memory.prompt(request), turn.said, turn.tokens)
            self._asked[turn.key] += 1

    @property
    def busy(self) -> bool:
        """True while a reply is being sampled."""
        return bool(self._under_way)

    async def complete(
        self, request: CompletionRequest, *, again: bool = False, watch: Watch | None = None
    ) -> ServedTurn:
        """Answer a request. With `again`, the client repeats a request because it did not get the answer. The latest
        reply to this request is then returned again, or awaited. `watch` watches the tokens.

        The reply is sampled and saved completely even if the caller is cancelled. Raises `BadRequest` if the chat
        template rejects the messages or the tools, `ContextFull` if they are too long, and whatever the engine
        raises."""
        self.asked_at, key = time.monotonic(), _compute_key(request)
        if again:
            before = next((turn for turn in reversed(self.turns) if turn.key == key), None)
            self._counts["answered again"] += key in self._under_way or before is not None
            if key in self._under_way:
                return await asyncio.shield(self._under_way[key])
            if before is not None:
                return before
        task = asyncio.create_task(self._sample(key, request, watch or Watch(request, self.chat, None)))
        self._under_way[key] = task
        task.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(task)

    async def stream(self, request: CompletionRequest, *, again: bool = False) -> AsyncIterator[replies.StreamPart]:
        """Answer a request in parts. The last part comes when the turn is saved. Raises the same errors as `complete`,
        before the first part."""
        loop, shown = asyncio.get_running_loop(), asyncio.Queue[str | None]()
        watch = Watch(request, self.chat, lambda text: loop.call_soon_threadsafe(shown.put_nowait, text))
        task = asyncio.create_task(self.complete(request, again=again, watch=watch))
        task.add_done_callback(_mark_retrieved)
        task.add_done_callback(lambda done: shown.put_nowait(None))
        begun = ""
        while (text := await shown.get()) is not None:
            if not begun:
                yield replies.Begun(watch.head, watch.prompt, watch.thoughts)
            yield text
            begun += text
        answer = (await task).answer
        message = answer["choices"][0]["message"]
        if not begun:
            head = {name: answer[name] for name in ("id", "created", "model")}
            yield replies.Begun(head, answer["usage"]["prompt_tokens"], message.get("reasoning_content", ""))
        if rest := (message["content"] or "").removeprefix(begun):
            yield rest
        yield answer

    async def count_tokens(self, request: CompletionRequest) -> int:
        """Return the number of tokens that the prompt of a request would have. It may be larger than the context.
        Raises `BadRequest` like `complete`."""
        async with self._reading:
            return len((await asyncio.to_thread(self._render_prompt, request)).ids)

    def _forget(self, key: str, task: asyncio.Task[ServedTurn]) -> None:
        if self._under_way.get(key) is task:
            del self._under_way[key]
        _mark_retrieved(task)

    def _render_prompt(self, request: CompletionRequest) -> Prompt:
        """Return the prompt of a request. Raises `BadRequest`, and `ContextFull` for messages that are much too
        long."""
        characters = count_characters(request.messages, request.tools)
        if characters > CHARACTERS_PER_TOKEN * self._context:
            raise ContextFull(f"{characters:,} characters", self._context)
        try:
            return self._memory.prompt(request)
        except GymposiumError as error:
            raise BadRequest("messages", str(error)) from None

    def _make_prompt(self, request: CompletionRequest) -> Prompt:
        """Return the prompt of a request. Raises `BadRequest` and `ContextFull`."""
        prompt = self._render_prompt(request)
        if len(prompt.ids) >= self._context:
            raise ContextFull(f"{len(prompt.ids)} tokens", self._context)
        return prompt

    async def _sample(self, key: str, request: CompletionRequest, watch: Watch) -> ServedTurn:
        nth = self._asked[key]
        self._asked[key] += 1
        async with self._reading:  # long messages take long, and others are answered meanwhile
            prompt = await asyncio.to_thread(self._make_prompt, request)
        watch.prompt = len(prompt.ids)
        watch.head = {"id": f"{key}-{nth}", "created": int(time.time()), "model": self.model}
        most = min(request.max_tokens or self._sampling.max_tokens, self._sampling.max_tokens)
        watched = watch if watch.needed else None
        rng = stream(self._seed, "completion", key, nth)
        asked = TokenRequest(prompt.ids, rng, self._policy, self._name, watched)
        completion = await asyncio.wrap_future(self._submit(asked, replace(self._sampling, max_tokens=most)))
        said = replies.parse_reply(request, self.chat, completion)
        answer = replies.make_answer(request, self.chat, said, completion, watch.head, len(prompt.ids))
        async with self._reading:
            turn = ServedTurn(
                number=len(self.turns),
                key=key,
                beginning=prompt.beginning,
                parent=prompt.parent,
                differs=prompt.differs,
                messages=request.messages[prompt.new :],
                tools=request.tools,
                overridden=request.overridden,
                said=said,
                tokens=TurnTokens(prompt.ids, completion),
                answer=answer,
            )
            self._keep(turn)
            self.turns.append(turn)
            self._memory.keep(turn.number, prompt, said, turn.tokens)
        self._counts[turn.beginning] += 1
        return turn


def _mark_retrieved(task: asyncio.Task[ServedTurn]) -> None:
    """Mark a finished task's exception as retrieved, because its client may be gone, and nothing else retrieves it."""
    if not task.cancelled():
        task.exception()


def _compute_key(request: CompletionRequest) -> str:
    """Return a digest of everything that determines the reply to a request."""
    tools = [tool.as_function for tool in request.tools]
    parts = [convert_to_data(request.messages), tools, request.max_tokens, request.stop]
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
