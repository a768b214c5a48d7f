"""Rendering of chat templates: plain ones in this process, others in a process with limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import TemplateError
from transformers.utils.chat_template_utils import render_jinja_template

from gymposium.errors import GymposiumError
from gymposium.util.isolated import CallFailed, Child
from gymposium_agents.chat.rendering.plain import is_plain

MOST_CHARACTERS = 8_000_000
"""Maximum length of a rendering. No model reads more."""
MOST_REASON = 1_000
"""Maximum length of a template's error message. A template may raise an error with gigabytes of text."""

_REFUSALS = (
    TemplateError, ArithmeticError, AttributeError, LookupError, RuntimeError, SyntaxError, TypeError, ValueError
)  # fmt: skip
"""Errors that a template may raise, for example by dividing by zero, adding a text and a number, or nesting too deeply
for Python."""
_RENDERER = Child("its rendering", 60.0, cpu_seconds=2.0, memory=1 << 30)
_plain = lru_cache(maxsize=64)(is_plain)


class RenderingRefusal(GymposiumError):
    """Error raised by a template. The message is the template's."""


class RenderingCost(GymposiumError):
    """Error for a rendering that exceeds the limit on time, memory or text. The message says which."""


def render_chat(
    template: str,
    messages: Sequence[Mapping[str, Any]],
    tools: list[Any] | None,
    *,
    opened: bool,
    variables: Mapping[str, Any],
) -> str:
    """Render messages and tools with a chat template, as transformers does. With `opened`, the result ends with the
    opening of the next reply. `variables` are the template's other variables.

    Raises `RenderingRefusal` or `RenderingCost`."""
    if _plain(template):
        text, reason = _try_rendering(template, messages, tools, opened, variables)
    else:
        try:
            text, reason = _RENDERER.call(_try_rendering, template, messages, tools, opened, variables)
        except CallFailed as error:
            raise RenderingCost(str(error).removesuffix(".")) from error
    if reason:
        raise RenderingRefusal(reason)
    if len(text) > MOST_CHARACTERS:
        raise RenderingCost(f"its rendering has more than {MOST_CHARACTERS:,} characters")
    return text


def _try_rendering(
    template: str,
    messages: Sequence[Mapping[str, Any]],
    tools: list[Any] | None,
    opened: bool,
    variables: Mapping[str, Any],
) -> tuple[str, str]:
    """Return the beginning of the rendering and "", or "" and the error raised by the template."""
    chat = [{key: value for key, value in message.items() if value is not None} for message in messages]
    try:
        rendered: Any = render_jinja_template(  # texts and positions, although its annotation says otherwise
            conversations=[chat], tools=tools, chat_template=template, add_generation_prompt=opened, **variables
        )
    except _REFUSALS as error:
        return "", str(error)[:MOST_REASON] or type(error).__name__
    except MemoryError as error:
        raise RenderingCost("its rendering takes too much memory") from error
    return rendered[0][0][: MOST_CHARACTERS + 1], ""
