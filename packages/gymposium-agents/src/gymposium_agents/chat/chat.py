"""Conversations of one tokenizer, as token ids."""

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
"""A move, and moves behind thoughts as Qwen3 writes them and as the `tags` way of replying asks for them."""


@dataclass(frozen=True, slots=True)
class _Marks:
    """Private-use characters that no text at hand contains, and the encoder that goes by them."""

    control: str
    """Stands before each control token that is the template's own."""
    reply: str
    """A reply, to find what the template puts behind one."""
    probe: str
    """A message, to find what the template puts around one."""
    stand_ins: dict[str, str]
    """What replaces the first character of a control token in somebody's text while the template works on it."""
    encoder: Encoder

    def restored(self, text: str) -> str:
        for character, stand_in in self.stand_ins.items():
            text = text.replace(stand_in, character)
        return text


class Chat:
    """The chats of a tokenizer: messages in, token ids out, by the model's own template.

    With `thinking` the template is asked for a reply that thinks first, where it knows how
    (`enable_thinking`); without, for one that does not.

    Raises `GymposiumError` where the tokenizer cannot carry a chat: no template, no end of turn, a template
    that drops what the user says."""

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
        """The token that ends a reply: what the template puts behind one, or the tokenizer's eos."""
        self.stops = frozenset({self.end, int(tokenizer.eos_token_id)})
        """Tokens after which nothing more is sampled."""
        self.opened = self._opened()
        """The beginning of each reply that the template writes itself: the tag that opens a model's thoughts, or
        nothing."""
        self._alone = self._frame(lambda text: self._wording([_user(text)], self._usual))
        self.grows = self._growing()
        """Whether a conversation only grows: each prompt is the last one, the reply and `more`. False where the
        template rewrites what went before (Qwen3's drops past thoughts)."""
        self._next = self._frame(lambda text: self._behind(text, self._usual)) if self.grows else None
        self.prompt = lru_cache(maxsize=8192)(self._prompt)
        """Ids of a chat that begins with `text` as the user's message, ready for the reply."""
        self._following = lru_cache(maxsize=8192)(self._follow)
        self._check()

    def conversation(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Ids of the whole conversation as the template renders it now, ready for the next reply.

        Raises `GymposiumError` where the template refuses these messages."""
        marks = self._marks(message["content"] for message in messages)
        return self._encoded(self._wording(messages, marks), marks)

    def more(self, text: str, *, ended: bool) -> tuple[int, ...]:
        """What follows a completion in a conversation that grows: `text` as the user's next message and the
        opening of the next reply. With `ended` the model sampled its end of turn, which is then not here again; a
        reply that was cut off is closed here.

        Raises `GymposiumError` where the template rewrites history (`grows` is False)."""
        if not self.grows:
            raise GymposiumError(
                f"The chat template of {self._name!r} rewrites what went before, so nothing can be put behind a reply. "
                "Render the whole conversation for each turn."
            )
        ids = self._following(text)
        return ids[1:] if ended else ids

    def plain(self, text: str) -> tuple[int, ...]:
        """Ids of text that somebody else wrote: `<|end|>` in it is seven ordinary characters."""
        return self._marks((text,)).encoder.within(text)

    def reply(self, text: str) -> tuple[int, ...]:
        """Ids of a whole reply in the model's own words, end of turn included. Where the tokenizer has tokens for
        the tags around thoughts, they are these tokens. What the template writes of it is not here again."""
        text = text.removeprefix(self.opened)
        marks = self._marks((text,))
        return (*marks.encoder.within(self._controls.marked(text, marks.control, only=THINKING)), self.end)

    def read(self, ids: tuple[int, ...]) -> str:
        """The text of the reply that a completion makes, without its end of turn, and with what the template began it
        with. Control tokens inside it stay visible."""
        if ids and ids[-1] in self.stops:
            ids = ids[:-1]
        text = self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return f"{self.opened}{text}"

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of each token of a stream, control tokens included, for whoever shows them one by one. A character
        that is spread over several tokens stands with the last of them, and what never becomes one is shown as U+FFFD
        there; the others of them are empty."""
        stream = DecodeStream(skip_special_tokens=False)
        found = [stream.step(self._backend, one) for one in ids]
        if found and found[-1] is None:
            found[-1] = "\ufffd"
        return [piece or "" for piece in found]

    def _prompt(self, text: str) -> tuple[int, ...]:
        marks = self._marks((text,))
        if self._alone is not None and marks is self._usual:
            return marks.encoder.encode(self._alone.around(text))
        return self._encoded(self._wording([_user(text)], marks), marks)

    def _follow(self, text: str) -> tuple[int, ...]:
        marks = self._marks((text,))
        if self._next is not None and marks is self._usual:
            return marks.encoder.encode(self._next.around(text))
        return self._encoded(self._behind(text, marks), marks)

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
        """The template's text, in which every control token is the template's own."""
        return self._render([
            {
                "role": message["role"],
                "content": self._controls.hidden(
                    message["content"], marks.stand_ins, keep=THINKING if message["role"] == "assistant" else ()
                ),
            }
            for message in messages
        ])  # fmt: skip

    def _behind(self, text: str, marks: _Marks) -> str:
        """The template's text behind a reply, with `text` as what the user says next."""
        messages = [_user("?"), _assistant(marks.reply), _user(text)]
        return self._wording(messages, marks).rpartition(marks.reply)[2]

    def _frame(self, wording: Callable[[str], str]) -> Frame | None:
        """The frame that `wording` puts around a message, its control tokens marked: to fill it and to encode it is
        up to three times as fast as to render a short message. A date that the template writes is that of the
        start."""
        marks = self._usual
        frame = Frame.of(lambda text: marks.restored(wording(text)), marks.probe)
        if frame is None:
            return None
        before, after = (self._controls.marked(text, marks.control) for text in (frame.before, frame.after))
        return Frame(before, after, frame.trims)

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
        behind = self._render([_user(self._usual.probe)]).rpartition(self._usual.probe)[2]
        _, opening, begun = behind.rpartition("<think>")
        return opening + begun if opening and "</think>" not in begun else ""

    def _end_of_turn(self) -> tuple[int, str]:
        """The token that ends a reply, and its text as the template writes it."""
        reply = self._usual.reply
        behind = self._render([_user("?"), _assistant(reply)], opened=False).rpartition(reply)[2]
        at, content = next(self._controls.found(behind), (-1, ""))
        if at != 0:
            return int(self.tokenizer.eos_token_id), str(self.tokenizer.eos_token)
        return next(i for i, token in self._controls.added.items() if token.content == content), content

    def _growing(self) -> bool:
        """Whether the text of a conversation is that of its beginning, the replies and what goes behind them. What
        is compared is text: where a tokenizer would merge over the end of a reply, the tokens that were
        sampled stay as they are."""
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
        except GymposiumError:  # a template for one exchange: a second user message is refused
            return False
        return True

    def _check(self) -> None:
        """Prompts are what transformers makes of the template, token by token."""
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
    """The tokenizer's own, where it can carry a chat."""
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
