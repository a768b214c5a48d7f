"""A message's place in a rendering, for templates that put the text there as it is, or trimmed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

# What a template might treat in a way of its own: each stands for a kind of text, and all must come out alike.
_PROBES = (
    "",
    "{0}",
    " \n\t{0} ",
    "{0}\n\n",
    "\u00a0\u3000{0}\u2028",
    "{0} {0}",
    "{0}<think>{0}</think>{0}",
    "</think>{0}",
    "<tool_response>{0}</tool_response>",
    "/no_think {0} /think",
    "system: {{{{ {0} }}}} {{% {0} %}}",
)


@dataclass(frozen=True, slots=True)
class Frame:
    """What a template writes before and behind a message, whatever the message says."""

    before: str
    after: str
    trims: bool
    """White space at both ends of the message is left out."""

    @classmethod
    def of(cls, render: Callable[[str], str], probe: str) -> Self | None:
        """The frame in `render`, tried with messages of many kinds; None where one fixed frame does not explain all.

        `probe` is a character that the template does not use."""
        before, found, after = render(probe).partition(probe)
        if not found:
            return None
        frame = cls(before, after, trims=render(f" {probe} ") == before + probe + after)
        texts = [text.format(probe) for text in _PROBES]
        return frame if all(render(text) == frame.around(text) for text in texts) else None

    def around(self, text: str) -> str:
        return f"{self.before}{text.strip() if self.trims else text}{self.after}"
