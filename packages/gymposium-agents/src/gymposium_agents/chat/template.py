"""The chat template of a tokenizer: conversations as text, whose control tokens come only from the template."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from gymposium.errors import GymposiumError
from gymposium.tasks.tools import Tool
from gymposium_agents.chat.controls import ControlTokens, Encoder
from gymposium_agents.chat.marks import Marks, choose_free_characters, find_private_characters
from gymposium_agents.chat.messages import convert_messages, convert_tools
from gymposium_agents.chat.rendering import RenderingCost, RenderingRefusal, render_chat
from gymposium_agents.chat.tokens import Message


class Template:
    """The chat template of a tokenizer, and the encoding of its renderings.

    Raises `GymposiumError` for a tokenizer that cannot represent a chat."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, thinking: bool) -> None:
        self.name = tokenizer.name_or_path
        self._tokenizer = tokenizer
        self._variables = {**tokenizer.special_tokens_map, "enable_thinking": thinking}
        self._cost = ""
        """The reason why rendering is disabled, or an empty text."""
        self.backend = _find_backend(tokenizer)
        self.controls = ControlTokens(self.backend)
        self._taken = find_private_characters((str(tokenizer.chat_template), *self.controls.contents))
        self._marks_for = lru_cache(maxsize=8)(self._make_marks)
        self._listed = lru_cache(maxsize=64)(self._convert_tools)
        self._private_in = lru_cache(maxsize=64)(_find_private_characters)
        self.usual = self._make_marks(frozenset())
        self._reads_parts = False
        """Whether the template reads contents of messages only as lists of parts, as those of some vision models do."""
        if not self._shows_text():
            self._reads_parts = True
            self._reads_parts = self._shows_text()
        """The marks for texts without private-use characters."""

    def _shows_text(self) -> bool:
        """Return True if a rendering shows the text of a user message."""
        probe = self.usual.probe
        try:
            return probe in self.applied([{"role": "user", "content": probe}])
        except GymposiumError:
            return False

    def marks(self, texts: Iterable[str], tools: tuple[Tool, ...] = ()) -> Marks:
        """Return marks that do not occur in these texts and tools."""
        taken = find_private_characters(texts) | self._private_in(tools)
        return self._marks_for(taken) if taken else self.usual

    def wording(
        self, messages: Sequence[Message], marks: Marks, tools: tuple[Tool, ...] = (), *, opened: bool = True
    ) -> str:
        """Render messages and tools, with stand-ins for the control tokens in their texts. With `opened`, the result
        ends with the opening of the next reply.

        Raises `GymposiumError` if the template rejects these messages."""
        return self.written(lambda hiding: self._render(messages, tools, hiding, opened), marks)

    def written(self, write: Callable[[TextHider], str], marks: Marks) -> str:
        """Call `write` with a function that hides control tokens in external text, and return its result. Parts of
        control tokens are hidden only if they form a token together with other text, because templates may inspect or
        sort texts."""
        hiding = TextHider(self.controls, marks)
        exact = write(hiding)
        if not hiding.met_parts:
            return exact
        safe = write(TextHider(self.controls, marks, parts=True))
        return exact if self._list_tokens(exact) == self._list_tokens(safe) else safe

    def encoded(self, wording: str, marks: Marks) -> tuple[int, ...]:
        """Return the ids of a rendering."""
        return marks.encoder.encode(self.marked(wording, marks))

    def marked(self, wording: str, marks: Marks) -> str:
        """Return a rendering with the mark before its control tokens, and with the original text of its messages."""
        return marks.restored(self.controls.marked(wording, marks.control))

    def _list_tokens(self, text: str) -> list[str]:
        return [content for _, content in self.controls.found(text)]

    def _convert_tools(self, tools: tuple[Tool, ...], marks: Marks, parts: bool) -> tuple[list[dict[str, Any]], bool]:
        """Return the tools in the format of templates, and whether they contain parts of control tokens."""
        hiding = TextHider(self.controls, marks, parts=parts)
        return convert_tools(tools, hiding), hiding.met_parts

    def _make_marks(self, taken: frozenset[str]) -> Marks:
        characters = self.controls.characters
        control, reply, probe, *stand_ins = choose_free_characters(taken | self._taken, 3 + len(characters))
        encoder = Encoder(self.backend, self.controls, control)
        return Marks(control, reply, probe, dict(zip(characters, stand_ins, strict=True)), encoder)

    def _render(self, messages: Sequence[Message], tools: tuple[Tool, ...], hiding: TextHider, opened: bool) -> str:
        listed: list[Any] | None = None
        if tools:
            listed, met_parts = self._listed(tools, hiding.marks, hiding.parts)
            hiding.met_parts |= met_parts
        return self.applied(convert_messages(messages, hiding), listed, opened=opened)

    def applied(
        self, messages: Sequence[Mapping[str, Any]], tools: list[Any] | None = None, *, opened: bool = True
    ) -> str:
        """Apply the template to messages and tools in the format of templates.

        Raises `GymposiumError` if it rejects them. After a rendering that costs too much, all later ones raise, too."""
        try:
            if self._cost:
                raise RenderingCost(self._cost)
            template = self._tokenizer.get_chat_template(tools=tools)
            if self._reads_parts:
                messages = [_split_content(message) for message in messages]
            return render_chat(template, messages, tools, opened=opened, variables=self._variables)
        except RenderingCost as error:
            self._cost = str(error)
            raise GymposiumError(
                f"The chat template of {self.name!r} cannot be used: {error}. Correct tokenizer.chat_template and "
                f"save it beside the model, or use another model."
            ) from error
        except (RenderingRefusal, ValueError) as error:
            roles = ", ".join(message["role"] for message in messages)
            raise GymposiumError(
                f"The chat template of {self.name!r} rejects this conversation ({roles}): {error}. Use the roles it "
                f"supports, in the required order."
            ) from error


class TextHider:
    """A function that returns a text with stand-ins for its control tokens."""

    def __init__(self, controls: ControlTokens, marks: Marks, *, parts: bool = False) -> None:
        """With `parts`, also hide parts of control tokens."""
        self.marks, self.parts = marks, parts
        self.met_parts = False
        """Whether any text so far contained a part of a control token."""
        self._controls = controls

    def __call__(self, text: str, keep: Container[str] = ()) -> str:
        self.met_parts = self.met_parts or bool(self._controls.parts(text))
        return self._controls.hidden(text, self.marks.stand_ins, keep, parts=self.parts)


def _split_content(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message whose content is a list of parts."""
    content = message["content"]
    return {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message


def _find_private_characters(tools: tuple[Tool, ...]) -> frozenset[str]:
    """Return the private-use characters in these tools."""
    return find_private_characters(json.dumps(tool.as_function, ensure_ascii=False) for tool in tools)


def _find_backend(tokenizer: PreTrainedTokenizerBase) -> Tokenizer:
    """Return the underlying tokenizer of the tokenizers library. Raises `GymposiumError` if it cannot represent a
    chat."""
    name = tokenizer.name_or_path
    if not tokenizer.chat_template:
        raise GymposiumError(
            f"The tokenizer of {name!r} has no chat template. Use an instruction-tuned model, or set "
            "tokenizer.chat_template and save it beside the model."
        )
    if tokenizer.eos_token_id is None:
        raise GymposiumError(
            f"The tokenizer of {name!r} has no end-of-turn token. Set tokenizer.eos_token to the token that ends a "
            f"reply and save it beside the model."
        )
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise GymposiumError(
            f"The tokenizer of {name!r} does not use the tokenizers library. Convert it to a tokenizer.json and save "
            f"that beside the model."
        )
    return backend
