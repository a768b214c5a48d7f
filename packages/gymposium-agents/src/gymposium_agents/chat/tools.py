"""A chat template's tool support, found by rendering our own tools, calls and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Self

from gymposium.errors import GymposiumError
from gymposium.tasks.tools import Call, Tool, format_calls
from gymposium.tasks.tools.dialects import DIALECTS, Dialect
from gymposium.tasks.tools.reader import ToolsReader
from gymposium_agents.chat.messages import make_assistant_message, make_tool_message, make_user_message
from gymposium_agents.chat.template import Template
from gymposium_agents.chat.tokens import Message


def probe_tools(description: str) -> tuple[Tool, Tool]:
    """Return two tools, each with one argument called `word`."""
    argument = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    return Tool("look_up", description, argument), Tool("count", description, argument)


def probe_calls(word: str, *names: str) -> tuple[Call, ...]:
    """Return one call of each tool in `probe_tools`."""
    return tuple(Call(name, {"word": word}) for name in names)


@dataclass(frozen=True, slots=True)
class ToolSupport:
    """A chat template's tool support."""

    lists: bool
    """Whether the template writes the tools passed to it."""
    calls: bool
    """Whether the template writes calls and their results."""
    dialect: Dialect | None
    """The dialect of the template's calls. None if no dialect matches, or if the template does not write tools, calls
    and results."""
    several: bool
    """Whether the template writes several calls of one reply in that dialect."""
    before_result: str
    """The template's text between a call and the result. Empty without a dialect."""

    @classmethod
    def from_template(cls, template: Template) -> Self:
        """Probe the tool support of this template."""
        probe, mark = template.usual.probe, template.usual.reply
        listed = _render(template, [make_user_message("?")], probe_tools(probe))
        lists = all(text in listed for text in (probe, "look_up", "word"))
        (call,) = probe_calls(mark, "look_up")
        said = _render(
            template,
            [make_user_message("?"), make_assistant_message("", call), make_tool_message(probe)],
            probe_tools("?"),
        )
        before, _, behind = said.rpartition(mark)
        calls = "look_up" in before and probe in behind
        dialect = _find_dialect(template, (call,)) if lists and calls else None
        if dialect is None:
            return cls(lists, calls, None, several=False, before_result="")
        several = _find_dialect(template, probe_calls(mark, "look_up", "count")) == dialect
        between = behind.partition(probe)[0].removeprefix(_render_tail(template, (call,)))
        return cls(lists, calls, dialect, several, between)


def _find_dialect(template: Template, calls: Sequence[Call]) -> Dialect | None:
    """Return the dialect that can read the template's text for a reply with these calls."""
    written = _render_calls(template, calls)
    move = format_calls(calls)
    return next((one for one in DIALECTS.values() if ToolsReader(one).extract_move(written) == move), None)


def _render_calls(template: Template, calls: Sequence[Call]) -> str:
    """Return the template's text for a reply with these calls, whose last argument is the mark of a reply. The text
    begins where it differs from a reply without calls, and ends with the reply."""
    probe, mark = template.usual.probe, template.usual.reply
    tools = probe_tools("?")
    whole = _render(
        template,
        [make_user_message("?"), make_assistant_message("", *calls), *(make_tool_message("?") for _ in calls)],
        tools,
    )
    other = _render(
        template, [make_user_message("?"), make_assistant_message(probe), make_user_message("?")], tools
    ).partition(probe)[0]
    begins = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(whole, other)))
    return whole[begins:].rpartition(mark)[0] + mark + _render_tail(template, calls)


def _render_tail(template: Template, calls: Sequence[Call]) -> str:
    """Return the template's text from the last argument of these calls to the end of the reply."""
    probe, mark = template.usual.probe, template.usual.reply
    tools = probe_tools("?")
    ends = [
        _render(template, [make_user_message("?"), said], tools, opened=False).rpartition(last)[2]
        for said, last in ((make_assistant_message("", *calls), mark), (make_assistant_message(probe), probe))
    ]
    return ends[0].removesuffix(ends[1])


def _render(template: Template, messages: Sequence[Message], tools: tuple[Tool, ...], *, opened: bool = True) -> str:
    """Render our own messages with the template. Returns nothing if it rejects them."""
    try:
        return template.wording(messages, template.usual, tools, opened=opened)
    except GymposiumError:
        return ""
