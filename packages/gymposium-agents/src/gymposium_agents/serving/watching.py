"""Watching of a reply while it is sampled: ending it at a stop text, and passing on its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymposium.replies.delimiters import LONGEST_THOUGHT_DELIMITER
from gymposium.replies.thoughts import find_leading_thoughts, may_begin_thoughts
from gymposium_agents.chat.chat import Chat
from gymposium_agents.serving.requests import CompletionRequest


class Watch:
    """The `TokenRequest.watch` of a request. It ends the reply at a stop text, and passes on content that cannot be
    part of a stop text or thoughts."""

    def __init__(self, request: CompletionRequest, chat: Chat, show: Callable[[str], object] | None) -> None:
        """`show` is called with each piece of content. A request with tools has no content until its end is known,
        because the reply may be a call."""
        self._stop, self._stops = request.stop, chat.stops
        self._decode = chat.decoder()
        self._begins = len(chat.opened)
        self._text = chat.opened
        self._behind: int | None = None
        """The end of the leading thoughts, as an index, once known."""
        self._searched = 0
        """The length of the text already searched for the end of the leading thoughts."""
        self._show = None if request.tools else show
        self.shown: str = ""
        """The content passed on so far."""
        self.thoughts = ""
        """The thoughts before the content, without delimiters, once content was passed on."""
        self.head: dict[str, Any] = {}
        """The `id`, `created` and `model` of the answer, once sampling has begun."""
        self.prompt = 0
        """The number of prompt tokens, once sampling has begun."""

    @property
    def needed(self) -> bool:
        """True if the tokens must be watched."""
        return bool(self._stop) or self._show is not None

    def __call__(self, token: int) -> bool:
        if token in self._stops:
            return False  # the engine ends the reply
        self._text += self._decode(token)
        if any(self._text.find(stop, self._begins) >= 0 for stop in self._stop):
            return True
        if self._show is not None and (new := self._read_content()[len(self.shown) :]):
            self.shown += new
            self._show(new)
        return False

    def _read_content(self) -> str:
        """Return the content so far, without an ending that may become a stop text."""
        if self._behind is None:
            self._behind = self._find_content_start()
        if self._behind is None:
            return ""
        text = self._text[self._behind :]
        most = max((len(stop) for stop in self._stop), default=1) - 1
        held = next((n for n in range(min(most, len(text)), 0, -1) if self._may_stop(text[-n:])), 0)
        return text[: len(text) - held]

    def _find_content_start(self) -> int | None:
        """Return the index where the leading thoughts end, or None while they may still begin or continue."""
        text = self._text
        if not may_begin_thoughts(text):
            return 0
        thoughts = find_leading_thoughts(text, self._searched)
        self._searched = max(0, len(text) - LONGEST_THOUGHT_DELIMITER)
        if thoughts is None or thoughts[1] >= thoughts[2]:
            return None
        self.thoughts = text[thoughts[0] : thoughts[1]].strip()
        return thoughts[2]

    def _may_stop(self, end: str) -> bool:
        return any(stop.startswith(end) for stop in self._stop)
