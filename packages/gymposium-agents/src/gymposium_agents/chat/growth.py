"""Whether a chat template lets history grow: whether each prompt begins with the whole prompt and the reply before.

Renderings are compared as text, not as tokens: sampled tokens stay as they are even if the tokenizer would merge the
end of a reply with the text behind it, or if the template writes the JSON of a call with other white space.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from gymposium.errors import GymposiumError
from gymposium.tasks.tools import Tool
from gymposium_agents.chat.marks import Marks
from gymposium_agents.chat.messages import assistant, result, user
from gymposium_agents.chat.template import Template
from gymposium_agents.chat.tokens import Message
from gymposium_agents.chat.tools import ToolSupport, probe_calls, probe_tools

After = Literal["user", "tool"]
"""What follows a reply: the user's next message, or results of tools."""

_TOOLS = probe_tools("?")
_Turn = tuple[Message, Sequence[Message]]
"""A reply and what follows it."""


class Growth:
    """What a chat template does with past turns."""

    def __init__(self, template: Template, support: ToolSupport, *, opened: str, closing: str) -> None:
        """`opened` is the beginning of each reply that the template writes itself, `closing` the text of the token that
        ends a reply."""
        self._template, self._support = template, support
        self._opened, self._closing = opened, closing
        self.grows = lru_cache(self._grows)
        """`grows(after, thoughts)`: whether history grows behind replies that are followed by `after`. With `thoughts`
        it must grow behind replies with thoughts too."""

        self.continues = lru_cache(self._continues)
        """`continues(after)`: whether it is known what the template writes behind a reply that is followed by `after`,
        whatever it does with the history before."""

    def behind(self, texts: Sequence[str], after: After, marks: Marks) -> str:
        """The rendering behind a reply, with the user's next message, or with the results of as many calls as there
        are texts."""
        if after == "user":
            messages = [user("?"), assistant(marks.reply), *map(user, texts)]
            return self._template.wording(messages, marks).rpartition(marks.reply)[2]
        calls = probe_calls(marks.reply, *["look_up"] * len(texts))
        messages = [user("?"), assistant("", *calls), *map(result, texts)]
        rest = self._template.wording(messages, marks, _TOOLS).rpartition(marks.reply)[2]
        return "".join(rest.partition(self._closing)[1:])

    def continued(self, before: str, said: Message, now: str, marks: Marks) -> str | None:
        """The rendering behind the reply `said`, if the rendering `now` is `before`, the reply and more; None if the
        template wrote something else there. White space in the reply does not count. Both renderings have these
        marks."""
        if not now.startswith(before):
            return None
        written, closing, rest = now[len(before) :].partition(self._closing)
        if not closing or not self._is_kept(marks.restored(written), said):
            return None
        return closing + rest

    def _grows(self, after: After, thoughts: bool) -> bool:
        try:
            if after == "user":
                return all(map(self._keeps, self._talks(thoughts)))
            return self._support.dialect is not None and all(map(self._keeps, self._errands(thoughts)))
        except GymposiumError:  # the template refuses a second message of the user, or what follows a result
            return False

    def _continues(self, after: After) -> bool:
        if after == "tool" and self._support.dialect is None:
            return False
        try:
            return self.behind(["?"], after, self._template.usual).startswith(self._closing)
        except GymposiumError:  # the template refuses a second message of the user, or a result
            return False

    def _thoughts(self, thoughts: bool) -> list[str]:
        """The thoughts before an answer that are tried: none, unless the template opens them, and some."""
        some = (self._opened or "<think>\n") + "b\n</think>\n\n"
        return [some] if self._opened else ["", some] if thoughts else [""]

    def _talks(self, thoughts: bool) -> Iterable[list[_Turn]]:
        """Conversations in which the user answers each reply, or some replies call tools before."""
        leads = self._thoughts(thoughts)
        replies = [f"{lead}b2" for lead in leads]
        if thoughts and not self._opened:
            replies.append("<think>b</think><move>b2</move>")  # as the form `tags` writes them
        for reply in replies:
            yield [(assistant(reply), [user("?")])] * 2
        if self._support.dialect is not None:
            called = (assistant(leads[0], *probe_calls("b2", "count")), [result("?")])
            yield [called, (assistant(f"{leads[0]}b2"), [user("?")])] * 2

    def _errands(self, thoughts: bool) -> Iterable[list[_Turn]]:
        """Conversations in which each reply calls tools."""
        for lead in self._thoughts(thoughts):
            once = (assistant(lead, *probe_calls("b2", "count")), [result("?")])
            yield [once] * 2
            if self._support.several:
                twice = (assistant(lead, *probe_calls("b2", "count", "count")), [result("?"), result("!")])
                yield [twice, once]

    def _keeps(self, turns: Sequence[_Turn]) -> bool:
        """Whether the rendering of a conversation is that of its beginning, followed by each reply and the text behind
        it."""
        usual = self._template.usual
        tools: tuple[Tool, ...] = _TOOLS if any(said["tool_calls"] for said, _ in turns) else ()
        messages = [user("?")]
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
        """Whether the template has written a reply as it was, up to white space."""
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
