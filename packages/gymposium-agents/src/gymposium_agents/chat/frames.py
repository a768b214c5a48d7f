"""The fixed text around a message, for chat templates that do not change the message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

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
"""Messages of various kinds that a template might treat specially."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The text that a template writes before and after a message, independent of the message."""

    before: str
    after: str
    trims: bool
    """True if white space at both ends of the message is removed."""

    @classmethod
    def from_render(cls, render: Callable[[str], str], probe: str) -> Self | None:
        """Find the frame in `render` by trying many kinds of messages. Returns None if no fixed frame fits all of them.

        `probe` is a character that the template does not use."""
        before, separator, after = render(probe).partition(probe)
        frame = cls(before, after, trims=render(f" {probe} ") == before + probe + after)
        texts = [text.format(probe) for text in _PROBES]
        fits = separator and all(render(text) == frame.around(text) for text in texts)
        return frame if fits else None

    def around(self, text: str) -> str:
        """Return the message `text` in its frame."""
        return f"{self.before}{text.strip() if self.trims else text}{self.after}"
