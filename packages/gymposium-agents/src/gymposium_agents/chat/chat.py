"""Conversations as the token ids of one tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import TemplateError
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream
from transformers import PreTrainedTokenizerBase

from gymposium.errors import GymposiumError
from gymposium_agents.chat.controls import THINKING, ControlTokens, Encoder
from gymposium_agents.chat.frames import Frame
from gymposium_agents.chat.marks import free, private
from gymposium_agents.tokens import Message

_REPLIES = ("b2", "<think>\nb\n</think>\n\nb2", "<think>b</think><move>b2</move>")
"""Replies for testing a template: a bare move, and a move behind thoughts as Qwen3 and the `tags` form write them."""


@dataclass(frozen=True, slots=True)
class _Marks:
    """Private-use characters that do not occur in the texts of a conversation, and the encoder that uses them."""

    control: str
    """The mark in front of each control token of the template."""
    reply: str
    """A reply with which to find the text that the template puts behind a reply."""
    probe: str
    """A message with which to find the text that the template puts around a message."""
    stand_ins: dict[str, str]
    """The characters that replace the first character of control tokens in messages while the template renders them."""
    encoder: Encoder

    def restored(self, text: str) -> str:
        """`text` with the original characters in place of their stand-ins."""
        for character, stand_in in self.stand_ins.items():
            text = text.replace(stand_in, character)
        return text


class Chat:
    """The chat format of a tokenizer: messages to token ids and back, with the model's own template.

    `thinking` is passed to the template as `enable_thinking`: templates that support it begin a reply with or without
    thoughts.

    Raises `GymposiumError` if the tokenizer cannot carry a chat: it has no template, no end of turn, or a template that
    drops the user's messages."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, thinking: bool = False) -> None:
        self.tokenizer = tokenizer
        self.thinking = thinking
        self._name = tokenizer.name_or_path
        self._backend = _backend(tokenizer)
        self._controls = ControlTokens(self._backend)
        self._taken = private((str(tokenizer.chat_template), *self._controls.contents))
        self._marks_for = lru_cache(maxsize=8)(self._make_marks)
        self._usual = self._make_marks(frozenset())
        if self._usual.probe not in self._render([_user(self._usual.probe)]):
            raise GymposiumError(
                f"The chat template of {self._name!r} drops what the user says, so no game can be told to the model. "
                f"Correct tokenizer.chat_template and save it beside the model."
            )
        self.end, self._closing = self._end_of_turn()
        """The token that ends a reply: the one that the template puts behind a reply, or the tokenizer's eos."""
        self.stops = frozenset({self.end, int(tokenizer.eos_token_id)})
        """Tokens after which nothing more is sampled."""
        self.opened = self._opened()
        """The beginning of each reply that the template writes itself: the tag that opens a model's thoughts, or
        nothing."""
        self.grows = self._growing()
        """Whether a conversation only grows: each prompt is the last prompt, the reply and `more`. False if the
        template rewrites past messages (Qwen3's drops past thoughts)."""
        self.prompt = self._encoding(self._beginning)
        """A function from `text` to the ids of a chat that begins with it as the user's message, ready for the
        reply."""
        self._following = self._encoding(self._behind) if self.grows else None
        self._check()

    def conversation(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Ids of the whole conversation as the template renders it, ready for the next reply.

        Raises `GymposiumError` if the template refuses these messages."""
        marks = self._marks(message["content"] for message in messages)
        return self._encoded(self._wording(messages, marks), marks)

    def more(self, text: str, *, ended: bool) -> tuple[int, ...]:
        """The ids that follow a completion in a conversation that grows: `text` as the user's next message, and the
        opening of the next reply. With `ended` the model sampled its end of turn, which is not repeated; a reply that
        was cut off is closed here.

        Raises `GymposiumError` if the template rewrites history (`grows` is False)."""
        if self._following is None:
            raise GymposiumError(
                f"The chat template of {self._name!r} rewrites what went before, so nothing can be put behind a reply. "
                "Render the whole conversation for each turn."
            )
        ids = self._following(text)
        return ids[1:] if ended else ids

    def plain(self, text: str) -> tuple[int, ...]:
        """Ids of text as ordinary characters: `<|end|>` in it is seven of them, not a control token."""
        return self._marks((text,)).encoder.within(text)

    def reply(self, text: str) -> tuple[int, ...]:
        """Ids of a whole reply of the model, end of turn included. The tags around thoughts become control tokens if
        the tokenizer has such tokens. The beginning that the template writes itself is left out."""
        text = text.removeprefix(self.opened)
        marks = self._marks((text,))
        return (*marks.encoder.within(self._controls.marked(text, marks.control, only=THINKING)), self.end)

    def read(self, ids: tuple[int, ...]) -> str:
        """The text of the reply with these completion ids, without its end of turn and with the beginning that the
        template wrote. Control tokens inside it are shown as text."""
        if ids and ids[-1] in self.stops:
            ids = ids[:-1]
        text = self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return f"{self.opened}{text}"

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of each token, control tokens included. The text of a character that has several tokens is with the
        last of them, and the others are empty. Tokens at the end that are an incomplete character give U+FFFD."""
        stream = DecodeStream(skip_special_tokens=False)
        pieces = [stream.step(self._backend, token) for token in ids]
        if pieces and pieces[-1] is None:
            pieces[-1] = "\ufffd"
        return [piece or "" for piece in pieces]

    def _encoding(self, wording: Callable[[str, _Marks], str]) -> Callable[[str], tuple[int, ...]]:
        """A cached function from a message to the ids of `wording` of it. If the wording is a fixed frame around the
        message, the frame is filled, which is up to three times as fast as rendering a short message. A date that the
        template writes is then that of the start."""
        usual = self._usual
        frame = Frame.of(lambda text: usual.restored(wording(text, usual)), usual.probe)
        if frame is not None:
            before, after = (self._controls.marked(text, usual.control) for text in (frame.before, frame.after))
            frame = Frame(before, after, frame.trims)

        @lru_cache(maxsize=8192)
        def encode(text: str) -> tuple[int, ...]:
            marks = self._marks((text,))
            if frame is not None and marks is usual:
                return marks.encoder.encode(frame.around(text))
            return self._encoded(wording(text, marks), marks)

        return encode

    def _marks(self, texts: Iterable[str]) -> _Marks:
        taken = private(texts)
        return self._marks_for(taken) if taken else self._usual

    def _make_marks(self, taken: frozenset[str]) -> _Marks:
        firsts = self._controls.firsts
        control, reply, probe, *stand_ins = free(taken | self._taken, 3 + len(firsts))
        encoder = Encoder(self._backend, self._controls, control)
        return _Marks(control, reply, probe, dict(zip(firsts, stand_ins, strict=True)), encoder)

    def _encoded(self, wording: str, marks: _Marks) -> tuple[int, ...]:
        return marks.encoder.encode(marks.restored(self._controls.marked(wording, marks.control)))

    def _wording(self, messages: Sequence[Message], marks: _Marks) -> str:
        """The template's rendering of messages, in which every control token is the template's own."""
        return self._render([
            {
                "role": message["role"],
                "content": self._controls.hidden(
                    message["content"], marks.stand_ins, keep=THINKING if message["role"] == "assistant" else ()
                ),
            }
            for message in messages
        ])  # fmt: skip

    def _beginning(self, text: str, marks: _Marks) -> str:
        """The template's rendering of a chat that begins with `text` as the user's message."""
        return self._wording([_user(text)], marks)

    def _behind(self, text: str, marks: _Marks) -> str:
        """The template's rendering behind a reply, with `text` as the user's next message."""
        messages = [_user("?"), _assistant(marks.reply), _user(text)]
        return self._wording(messages, marks).rpartition(marks.reply)[2]

    def _render(self, messages: Sequence[Message], *, opened: bool = True) -> str:
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    [dict(message) for message in messages],
                    tokenize=False,
                    add_generation_prompt=opened,
                    enable_thinking=self.thinking,
                )
            )
        except TemplateError as error:
            roles = ", ".join(message["role"] for message in messages)
            raise GymposiumError(
                f"The chat template of {self._name!r} refuses this conversation ({roles}): {error}. Give it the roles "
                "that it knows, in the order that it asks for."
            ) from error

    def _opened(self) -> str:
        """The beginning of a reply that the template writes itself, if it opens the model's thoughts."""
        behind = self._render([_user(self._usual.probe)]).rpartition(self._usual.probe)[2]
        _, tag, rest = behind.rpartition("<think>")
        return tag + rest if tag and "</think>" not in rest else ""

    def _end_of_turn(self) -> tuple[int, str]:
        """The token that ends a reply, and its text as the template writes it."""
        reply = self._usual.reply
        behind = self._render([_user("?"), _assistant(reply)], opened=False).rpartition(reply)[2]
        at, content = next(self._controls.found(behind), (-1, ""))
        if at != 0:
            return int(self.tokenizer.eos_token_id), str(self.tokenizer.eos_token)
        return next(i for i, token in self._controls.added.items() if token.content == content), content

    def _growing(self) -> bool:
        """Whether the text of a conversation is the text of its beginning, followed by the replies and the fixed text
        behind each. Texts are compared, not tokens: sampled tokens stay as they are even if the tokenizer would merge
        the end of a reply with the text behind it."""
        try:
            behind = self._behind("?", self._usual)
            if not behind.startswith(self._closing):
                return False
            for reply in _REPLIES:
                messages = [_user("?")]
                grown = self._wording(messages, self._usual)
                for _ in range(2):
                    messages += _assistant(reply), _user("?")
                    grown += reply + behind
                    if grown != self._wording(messages, self._usual):
                        return False
        except GymposiumError:  # the template refuses a second message of the user
            return False
        return True

    def _check(self) -> None:
        """Raises `GymposiumError` unless a prompt is, token by token, what transformers makes of the template."""
        expected = self.tokenizer.apply_chat_template(
            [dict(_user("b2, c3\n"))],
            add_generation_prompt=True,
            enable_thinking=self.thinking,
            return_dict=False,
        )
        if list(self.prompt("b2, c3\n")) != expected:
            raise GymposiumError(
                f"The tokenizer of {self._name!r} changes control tokens before it looks for them, so those of its "
                "chat template cannot be kept apart from other text. Add them anew with normalized=False and save the "
                "tokenizer beside the model, or take another model."
            )


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def _backend(tokenizer: PreTrainedTokenizerBase) -> Tokenizer:
    """The tokenizer of the tokenizers library inside. Raises `GymposiumError` if it cannot carry a chat."""
    name = tokenizer.name_or_path
    if not tokenizer.chat_template:
        raise GymposiumError(
            f"The tokenizer of {name!r} has no chat template. Use an instruction-tuned model, or set "
            "tokenizer.chat_template and save it beside the model."
        )
    if tokenizer.eos_token_id is None:
        raise GymposiumError(
            f"The tokenizer of {name!r} names no end-of-turn token. Set tokenizer.eos_token to the token that ends a "
            "reply and save it beside the model."
        )
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise GymposiumError(
            f"The tokenizer of {name!r} is not one of the tokenizers library. Convert it to a tokenizer.json and save "
            "that beside the model."
        )
    return backend
