"""Writes the lessons of a match: what a language model in a player's seat would have read, and its reply."""

from __future__ import annotations

from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import Reader
from gymposium_agents.chat.context import Exchange, Pictures, list_template_tools, parse_context
from gymposium_train.run.lessons.lessons import Lesson

_PAST = "lesson writer"


class LessonWriter:
    """Writes lessons for a model with these prompts. The past of each seat is stored in its memory."""

    def __init__(self, style: Style, reader: Reader, context: str, pictures: Pictures) -> None:
        self._style: Style = style
        self._pictures: Pictures = pictures
        self._reader = reader
        self._context = parse_context(context)

    def show(self, ask: Ask) -> Exchange:
        """Return what the model reads at this ask, without its past."""
        return Exchange.from_ask(ask, get_prompt(ask.game, self._style, self._reader), self._pictures)

    def write(self, ask: Ask, now: Exchange, move: str, taught: tuple[float, ...] = ()) -> Lesson:
        """Return the lesson that replies `move` at this ask. `taught` are a teacher's probabilities."""
        answered = now.answered(move, self._reader)
        return Lesson(
            tuple(self._context.messages(_find_past(ask), now)),
            answered.said["content"],
            legal=None if ask.legal_moves is None else tuple(ask.legal_moves),
            taught=taught,
            calls=answered.calls,
            tools=list_template_tools(self._reader, ask.game),
        )

    def remember(self, ask: Ask, now: Exchange, move: str) -> None:
        """Add the move that was played to the seat's past."""
        _find_past(ask).append(now.answered(move, self._reader))


def _find_past(ask: Ask) -> list[Exchange]:
    past: list[Exchange] = ask.memory.setdefault(_PAST, [])
    return past
