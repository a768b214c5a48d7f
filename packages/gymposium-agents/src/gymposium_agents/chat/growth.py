"""Checks of whether a chat template lets history grow, so that each prompt begins with the previous prompt and reply.

Renderings are compared as text, not as tokens. Sampled tokens never change, even if the tokenizer would merge a reply's
end with the following text. The same holds if the template writes a call's JSON with different white space.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from gymposium.errors import GymposiumError
from gymposium.tasks.tools import Tool
from gymposium_agents.chat.marks import Marks
from gymposium_agents.chat.messages import make_assistant_message, make_tool_message, make_user_message
from gymposium_agents.chat.template import Template
from gymposium_agents.chat.tokens import Message
from gymposium_agents.chat.tools import ToolSupport, probe_calls, probe_tools

After = Literal["user", "tool"]
"""What follows a reply: the user's next message, or results of tools."""

_TOOLS = probe_tools("?")
_Turn = tuple[Message, Sequence[Message]]
"""A reply and what follows it."""


class Growth:
    """A chat template's treatment of past turns."""

    def __init__(self, template: Template, support: ToolSupport, *, opened: str, closing: str) -> None:
        """`opened` is the beginning of each reply that the template writes. `closing` is the text of the token that
        ends a reply."""
        self._template, self._support = template, support
        self._opened, self._closing = opened, closing
        self.grows = lru_cache(self._grows)
        """`grows(after, thoughts)`: whether history grows after replies followed by `after`. With `thoughts`, it must
        also grow after replies with thoughts."""

        self.continues = lru_cache(self._continues)
        """`continues(after)`: whether the template's text after a reply followed by `after` is known, even if it
        rewrites earlier history."""

    def behind(self, texts: Sequence[str], after: After, marks: Marks) -> str:
        """Return the rendered text after a reply: the user's next message, or one result per text."""
        if after == "user":
            messages = [make_user_message("?"), make_assistant_message(marks.reply), *map(make_user_message, texts)]
            return self._template.wording(messages, marks).rpartition(marks.reply)[2]
        calls = probe_calls(marks.reply, *["look_up"] * len(texts))
        messages = [make_user_message("?"), make_assistant_message("", *calls), *map(make_tool_message, texts)]
        rest = self._template.wording(messages, marks, _TOOLS).rpartition(marks.reply)[2]
        return "".join(rest.partition(self._closing)[1:])

    def continued(self, before: str, said: Message, now: str, marks: Marks) -> str | None:
        """Return the text of `now` after the rendering `before` and the reply `said`. Returns None if `now` does not
        begin with them. White space in the reply is ignored. `marks` are those of both renderings."""
        if not now.startswith(before):
            return None
        written, closing, rest = now[len(before) :].partition(self._closing)
        if not closing or not self._is_kept(marks.restored(written), said):
            return None
        return closing + rest

    def _grows(self, after: After, thoughts: bool) -> bool:
        try:
            if after == "user":
                return all(map(self._is_growing, self._list_chats(thoughts)))
            return self._support.dialect is not None and all(map(self._is_growing, self._list_tool_chats(thoughts)))
        except GymposiumError:  # the template rejects a second user message, or what follows a result
            return False

    def _continues(self, after: After) -> bool:
        if after == "tool" and self._support.dialect is None:
            return False
        try:
            return self.behind(["?"], after, self._template.usual).startswith(self._closing)
        except GymposiumError:  # the template rejects a second user message, or a result
            return False

    def _list_thoughts(self, thoughts: bool) -> list[str]:
        """Return the thoughts to try before an answer: one example and, unless the template opens thoughts, an empty
        text."""
        some = (self._opened or "<think>\n") + "b\n</think>\n\n"
        return [some] if self._opened else ["", some] if thoughts else [""]

    def _list_chats(self, thoughts: bool) -> Iterable[list[_Turn]]:
        """Yield conversations with a user message after each reply, and with tool calls before some replies."""
        leads = self._list_thoughts(thoughts)
        replies = [f"{lead}b2" for lead in leads]
        if thoughts and not self._opened:
            replies.append("<think>b</think><move>b2</move>")  # as the form `tags` writes them
        for reply in replies:
            yield [(make_assistant_message(reply), [make_user_message("?")])] * 2
        if self._support.dialect is not None:
            called = (make_assistant_message(leads[0], *probe_calls("b2", "count")), [make_tool_message("?")])
            yield [called, (make_assistant_message(f"{leads[0]}b2"), [make_user_message("?")])] * 2

    def _list_tool_chats(self, thoughts: bool) -> Iterable[list[_Turn]]:
        """Yield conversations whose replies all call tools."""
        for lead in self._list_thoughts(thoughts):
            once = (make_assistant_message(lead, *probe_calls("b2", "count")), [make_tool_message("?")])
            yield [once] * 2
            if self._support.several:
                twice = (
                    make_assistant_message(lead, *probe_calls("b2", "count", "count")),
                    [make_tool_message("?"), make_tool_message("!")],
                )
                yield [twice, once]

    def _is_growing(self, turns: Sequence[_Turn]) -> bool:
        """Return True if each rendering of a conversation begins with the previous rendering, followed by the reply."""
        usual = self._template.usual
        tools: tuple[Tool, ...] = _TOOLS if any(said["tool_calls"] for said, _ in turns) else ()
        messages = [make_user_message("?")]
        grown = self._template.wording(messages, usual, tools)
        for said, answers in turns:
            messages += said, *answers
            whole = self._template.wording(messages, usual, tools)
            after: After = "tool" if said["tool_calls"] else "user"
            behind = self.behind([answer["content"] for answer in answers], after, usual)
            new = whole[len(grown) :]
            continued = whole.startswith(grown) and new.endswith(behind) and behind.startswith(self._closing)
            if not continued or not self._is_kept(new.removesuffix(behind), said):
                return False
            grown = whole
        return True

    def _is_kept(self, written: str, said: Message) -> bool:
        """Return True if the template has written a reply unchanged, ignoring white space."""
        reply, lead = f"{self._opened}{written}", said["content"]
        calls = said.get("tool_calls", ())
        if not calls:
            return reply.split() == lead.split()
        if self._support.dialect is None or not reply.lstrip().startswith(lead.strip()):
            return False
        try:
            return self._support.dialect.read(reply.lstrip().removeprefix(lead.strip()), {}) == tuple(calls)
        except ValueError:
            return False
