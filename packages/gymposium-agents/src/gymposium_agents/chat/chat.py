"""Conversations as token ids of one tokenizer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tokenizers.decoders import DecodeStream
from transformers import PreTrainedTokenizerBase

from gymposium.errors import GymposiumError
from gymposium.tasks.tools import Call, Tool
from gymposium.tasks.tools.dialects import Dialect
from gymposium_agents.chat.controls import THINKING
from gymposium_agents.chat.endings import Endings
from gymposium_agents.chat.frames import Frame
from gymposium_agents.chat.growth import After, Growth
from gymposium_agents.chat.marks import Marks
from gymposium_agents.chat.messages import (
    hide_call,
    list_pictures,
    list_texts,
    make_assistant_message,
    make_user_message,
)
from gymposium_agents.chat.template import Template
from gymposium_agents.chat.tokens import History, Message
from gymposium_agents.chat.tools import ToolSupport
from gymposium_agents.modeling.pictures import FIRST, PictureReader, split_part


@dataclass(frozen=True, slots=True)
class Rendering:
    """A conversation rendered by a chat template, with stand-ins for control tokens in its messages."""

    text: str
    marks: Marks
    pictures: tuple[bytes, ...] = ()
    """The pictures in the messages, in order."""


_MANY, _SOME = 8192, 512
"""Cache sizes, in messages: for short messages, and for messages with tools or results."""


class Chat:
    """The chat format of a tokenizer: messages to token ids and back, with the model's template.

    `history` controls how past turns appear. With `template`, the template renders the whole conversation each time and
    may rewrite earlier parts. Qwen3's, for example, drops past thoughts. With `kept`, replies stay as they were
    sampled, and only the template's text after a reply is added, so that the history only grows. The model then reads
    text that its template would not render. `thinking` is passed to the template as `enable_thinking`: templates that
    support it begin a reply with or without thoughts. `sight` turns the pictures in messages into tokens, if the model
    sees.

    Raises `GymposiumError` if the tokenizer cannot represent a chat: it has no template, no end of turn, or a template
    that drops the user's messages. Also raises it if history cannot be kept."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        thinking: bool = False,
        history: History = "template",
        sight: PictureReader | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.sight = sight
        self.thinking = thinking
        self.history: History = history
        self._template = template = Template(tokenizer, thinking=thinking)
        self.opened = self._find_opening()
        """The beginning of each reply that the template writes: a tag for thoughts, or nothing."""
        self._support = ToolSupport.from_template(template)
        endings = Endings.from_template(template, tokenizer, self._support.before_result)
        self.end = endings.end
        """The token that ends a reply: the one that the template writes after a reply, or the tokenizer's eos."""
        self.stops = endings.stops
        """Tokens that end sampling."""
        self._growth = Growth(template, self._support, opened=self.opened, closing=endings.text)
        self._beginning = lru_cache(maxsize=32)(self._make_beginning_encoder)
        self._following = lru_cache(self._make_following_encoder)
        self._check()
        if history == "kept" and not self._growth.continues("user"):
            raise GymposiumError(
                f"history=kept is not supported: the chat template of {template.name!r} ends replies in an unknown "
                f"way, so nothing can be appended to one. Omit history."
            )

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of the template's tool calls, or None if it has no tools or its calls cannot be read. In that
        case, describe tools and give results in user messages."""
        return self._support.dialect

    def grows(self, after: After = "user", *, thoughts: bool = True) -> bool:
        """Return True if a conversation only grows: each prompt consists of the last prompt, the reply and `more`.
        `after` says what follows the reply: the user's next message, or results of the reply's calls.

        Returns False if the template rewrites history there, rejects such a conversation, or has no dialect for calls.
        Qwen3's, for example, drops past thoughts when the user speaks again, but not after a tool result. With
        `thoughts=False`, the replies of the conversation contain no thoughts (Llama-3's template drops those before a
        call)."""
        kept = self.history == "kept" and self._growth.continues(after)
        return kept or self._growth.grows(after, thoughts)

    @property
    def verdict(self) -> str:
        """A one-line description of how the template treats tool calls and history."""
        before_user = self._describe_history("user")
        if self.dialect is None:
            return f"Chat template: no known tool calls; history before a user message is {before_user}."
        return (
            f"Chat template: tool calls as in {self.dialect.name}; history before a result is "
            f"{self._describe_history('tool')}, before a user message {before_user}."
        )

    def conversation(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> tuple[int, ...]:
        """Return the ids of the whole conversation as the template renders it, ready for the next reply. `tools` are
        those that the model may call. With `history="kept"`, returns the ids of a conversation that only grew, with
        past replies encoded like `reply`.

        Raises `GymposiumError` if the template rejects these messages, or would drop tools or calls. Also raises it for
        pictures if the model does not see, or history is kept."""
        first = next((n for n, message in enumerate(messages) if message["role"] == "assistant"), None)
        if self.history == "kept" and first is not None:
            return self._encode_grown(messages, first, tools)
        return self.ids(self.rendering(messages, tools))

    def rendering(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Rendering:
        """Render the conversation, ready for the next reply. `continued` can continue it later. Raises the same errors
        as `conversation`."""
        offered = self._check_tools(tools, called=any(message.get("tool_calls") for message in messages))
        marks = self._template.marks(list_texts(messages), offered)
        pictures = tuple(list_pictures(messages))
        if pictures and self.sight is None:
            raise GymposiumError(
                f"The model of {self._template.name!r} does not see pictures here. Send only text, or use a vision "
                f"model whose weights are in this process."
            )
        return Rendering(self._template.wording(messages, marks, offered), marks, pictures)

    def ids(self, rendering: Rendering) -> tuple[int, ...]:
        """Return the ids of a whole rendering."""
        return self._expand(self._template.encoded(rendering.text, rendering.marks), rendering.pictures)

    def continued(self, before: Rendering, said: Message, now: Rendering, *, ended: bool) -> tuple[int, ...] | None:
        """Return the ids that follow a completion, if `now` consists of the rendering `before`, the reply `said` and
        more messages. Returns None if the template rewrites earlier parts. `ended` is as in `more`. Unlike `grows`,
        which predicts this for turns of the usual forms, this checks the actual conversation, which may have any form.

        Only the text after the reply is tokenized: the tokens of a completion stay as sampled."""
        if before.marks is not now.marks:
            return None
        behind = self._growth.continued(before.text, said, now.text, now.marks)
        if behind is None:
            return None
        ids = self._expand(self._template.encoded(behind, now.marks), now.pictures[len(before.pictures) :])
        return ids[1:] if ended else ids

    def _expand(self, ids: tuple[int, ...], pictures: Sequence[bytes]) -> tuple[int, ...]:
        return ids if self.sight is None else self.sight.expand(ids, pictures)

    def prompt(self, text: str, tools: Sequence[Tool] = ()) -> tuple[int, ...]:
        """Return the ids of a chat that begins with `text` as the user's message, ready for the reply. `tools` are
        those that the model may call.

        Raises `GymposiumError` if the template would drop the tools."""
        return self._beginning(tuple(tools))(text)

    def more(self, *texts: str, after: After = "user", ended: bool, thoughts: bool = True) -> tuple[int, ...]:
        """Return the ids that follow a completion in a growing conversation, including the opening of the next reply.
        `texts` are the user's next message or, after `tool`, the result of each call in the completion. With `ended`,
        the model sampled its end of turn, so it is not repeated. A reply that was cut off is closed here. `thoughts` is
        as in `grows`.

        Raises `GymposiumError` if the template rewrites history there (`grows` is False)."""
        if not self.grows(after, thoughts=thoughts):
            raise GymposiumError(
                f"The chat template of {self._template.name!r} rewrites earlier parts before a message of the "
                f"{after}, so nothing can be appended to a reply. Render the whole conversation for each turn."
            )
        if not texts or (len(texts) > 1 and not (after == "tool" and self._support.several)):
            raise GymposiumError(
                f"{len(texts)} {after} texts follow a reply. Give one user text, or one result per call of the reply. "
                f"Many templates allow one call."
            )
        ids = self._following(after)(*texts)
        return ids[1:] if ended else ids

    def plain(self, text: str) -> tuple[int, ...]:
        """Return the ids of text as ordinary characters: `<|end|>` in it is seven characters, not a control token."""
        return self._template.marks((text,)).encoder.within(text)

    def reply(self, text: str, calls: Sequence[Call] = ()) -> tuple[int, ...]:
        """Return the ids of a whole model reply, including its end of turn. A reply is a text followed by calls in the
        template's dialect. The tags around thoughts and calls become control tokens if the tokenizer has such tokens. A
        beginning that the template writes is left out. Thoughts opened by the template are closed before a reply
        without thoughts, which would otherwise be read as a thought.

        Raises `GymposiumError` for calls that the dialect cannot write."""
        if text.startswith(self.opened):
            text = text.removeprefix(self.opened)
        elif "</think>" not in text:
            text = f"\n</think>\n\n{text}"
        marks = self._template.marks(list_texts([make_assistant_message(text, *calls)]))
        marked = self._template.controls.marked(text, marks.control, only=THINKING)
        if calls:
            called = self._template.written(
                lambda hide: self._render_calls([hide_call(one, hide) for one in calls]), marks
            )
            marked += self._template.marked(called, marks)
        return (*marks.encoder.within(marked), self.end)

    def read(self, ids: tuple[int, ...]) -> str:
        """Return the text of the reply with these completion ids, without its end of turn and with the beginning that
        the template wrote. Control tokens inside it are shown as text."""
        if ids and ids[-1] in self.stops:
            ids = ids[:-1]
        text = self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return f"{self.opened}{text}"

    def decoder(self) -> Callable[[int], str]:
        """Return a function that takes a text's tokens one by one, and returns the text that each token adds. The text
        of a multi-token character comes with its last token."""
        stream, backend = DecodeStream(skip_special_tokens=False), self._template.backend
        return lambda token: stream.step(backend, token) or ""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the text of each token, including control tokens. The text of a multi-token character comes with its
        last token, and its other tokens have no text. Tokens at the end that form an incomplete character give
        U+FFFD. A picture's first token has the text `[picture]`, and its other tokens have no text."""
        stream = DecodeStream(skip_special_tokens=False)
        pieces = [
            stream.step(self._template.backend, token) if token < FIRST else "[picture]" * (split_part(token)[1] == 0)
            for token in ids
        ]
        if pieces and pieces[-1] is None:
            pieces[-1] = "\ufffd"
        return [piece or "" for piece in pieces]

    def save(self, directory: Path) -> None:
        """Write the tokenizer, with the processor if the model sees, to a directory."""
        if self.sight is not None:
            self.sight.save(directory)
        self.tokenizer.save_pretrained(directory)

    def _encode_grown(self, messages: Sequence[Message], first: int, tools: Sequence[Tool]) -> tuple[int, ...]:
        """Return the ids of a conversation whose first reply is the message `first`, part by part."""
        if any("pictures" in message for message in messages):
            raise GymposiumError("history=kept is not supported with pictures. Omit it.")
        ids = self.ids(self.rendering(messages[:first], tools))
        rest = deque(messages[first:])
        while rest:
            said = rest.popleft()
            ids += self.reply(said["content"], said.get("tool_calls", ()))
            after: After = "tool" if rest and rest[0]["role"] == "tool" else "user"
            texts = []
            while rest and rest[0]["role"] == after:
                texts.append(rest.popleft()["content"])
            ids += self.more(*texts, after=after, ended=True)
        return ids

    def _describe_history(self, after: After) -> str:
        if self.grows(after):
            return "kept"
        return "kept if replies have no thoughts" if self.grows(after, thoughts=False) else "rewritten"

    def _make_beginning_encoder(self, tools: tuple[Tool, ...]) -> Callable[..., tuple[int, ...]]:
        """Make the encoder for a chat's first message."""
        offered = self._check_tools(tools)
        return self._make_encoder(
            lambda texts, marks: self._template.wording([make_user_message(*texts)], marks, offered),
            offered,
            size=_SOME if offered else _MANY,
        )

    def _make_following_encoder(self, after: After) -> Callable[..., tuple[int, ...]]:
        """Make the encoder for the text after a reply."""
        return self._make_encoder(
            lambda texts, marks: self._growth.behind(texts, after, marks), size=_MANY if after == "user" else _SOME
        )

    def _make_encoder(
        self, wording: Callable[[tuple[str, ...], Marks], str], tools: tuple[Tool, ...] = (), *, size: int
    ) -> Callable[..., tuple[int, ...]]:
        """Return a cached function from messages to the ids of their `wording`. If the wording of one message is a
        fixed frame around it, the message is put into that frame. This is up to three times as fast as rendering a
        short message. A date written by the template then stays that of the first rendering."""
        template = self._template
        usual = template.marks((), tools)
        frame = Frame.from_render(lambda text: template.marked(wording((text,), usual), usual), usual.probe)

        @lru_cache(maxsize=size)
        def encode(*texts: str) -> tuple[int, ...]:
            marks = template.marks(texts, tools)
            if frame is not None and marks is usual and len(texts) == 1:
                return marks.encoder.encode(frame.around(texts[0]))
            return template.encoded(wording(texts, marks), marks)

        return encode

    def _check_tools(self, tools: Sequence[Tool], *, called: bool = False) -> tuple[Tool, ...]:
        """Return the tools. Raises `GymposiumError` if the template would drop them, or calls in the conversation."""
        if (tools and not self._support.lists) or (called and not self._support.calls):
            raise GymposiumError(
                f"The chat template of {self._template.name!r} does not support tools. Describe them in the first "
                f"message and give results as user messages (reply=move, tags or json), or use another model."
            )
        return tuple(tools)

    def _render_calls(self, calls: Sequence[Call]) -> str:
        """Return the wording of calls in the template's dialect."""
        if self.dialect is None:
            raise GymposiumError(
                f"The chat template of {self._template.name!r} writes tool calls in an unknown dialect. Write calls "
                f"as text (reply=move, tags or json)."
            )
        try:
            return self.dialect.write(calls)
        except ValueError as error:
            raise GymposiumError(f"Cannot write these calls for {self._template.name!r}: {error}.") from error

    def _find_opening(self) -> str:
        """Return the beginning of a reply that the template writes, if this beginning opens the model's thoughts.
        Raises `GymposiumError` if the template drops the user's messages."""
        probe = self._template.usual.probe
        _, said, behind = self._template.wording([make_user_message(probe)], self._template.usual).rpartition(probe)
        if not said:
            raise GymposiumError(
                f"The chat template of {self._template.name!r} drops the user's messages, so the model cannot see the "
                f"game. Correct tokenizer.chat_template and save it beside the model."
            )
        _, tag, rest = behind.rpartition("<think>")
        return tag + rest if tag and "</think>" not in rest else ""

    def _check(self) -> None:
        """Raise `GymposiumError` unless a prompt matches transformers' encoding of the template, token by token."""
        rendered = self._template.applied([{"role": "user", "content": "b2, c3\n"}])
        if list(self.prompt("b2, c3\n")) != self.tokenizer(rendered, add_special_tokens=False)["input_ids"]:
            raise GymposiumError(
                f"The tokenizer of {self._template.name!r} normalizes its control tokens, so the chat template's "
                f"control tokens look like ordinary text. Add them again with normalized=False and save the tokenizer "
                f"beside the model, or use another model."
            )
