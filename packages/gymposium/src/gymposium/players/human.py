"""The player `human`: a person at the terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Observation, Style
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import READERS, Reader, read_reply
from gymposium.tasks.tools import NO_CALL, list_tools

_END = "."


class HumanPlayer:
    """A player that shows the prompt and reads a line.

    If the line is not a legal move, the player says so and reads another line, so a typo does not forfeit. After the
    first turn, only the position is shown; `?` shows the whole prompt. A tool call is one line. Free text may have
    several lines; a line with only a dot ends it."""

    name = "human"
    reader: Reader = READERS["move"]
    style: Style = "full"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self.read_reply(ask)) for ask in asks]

    def read_reply(self, ask: Ask) -> str:
        """Return the person's text for one ask. Raises `GymposiumError` at the end of the input."""
        observation = ask.observe("full")
        prompt = get_prompt(ask.game, "full", self.reader)(observation)
        print()
        tools = list_tools(ask.game)
        free_text = observation.legal_moves is None and not tools
        moves = "" if observation.legal_moves is None else f"Legal moves: {observation.describe_moves()}"
        print(_wrap_lines(prompt if ask.turn == 0 else observation.text + moves))
        if free_text:
            print(f"End your text with a line that has only a dot: {_END}")
        while True:
            line = self._read_text(ask.seat) if free_text else self._read_line(ask.seat).strip()
            if line.strip() == "?":
                print(_wrap_lines(prompt))
                continue
            reading = read_reply(line, observation.legal_moves, self.reader, ask.game.move_pattern, calls=bool(tools))
            if reading.kind == "move":
                return line
            print(_wrap_lines(self._explain_rejection(line, observation, [tool.name for tool in tools])))

    def _read_text(self, seat: int) -> str:
        """Return the lines before a line with only a dot, or `?` if that is the first line."""
        lines: list[str] = []
        while (line := self._read_line(seat)) != _END:
            lines.append(line)
            if lines == ["?"]:
                break
        return "\n".join(lines)

    @staticmethod
    def _read_line(seat: int) -> str:
        try:
            return input(f"seat {seat}> ")
        except EOFError:
            raise GymposiumError(
                "The input ended before the match was over. Keep stdin open, and type one move per turn."
            ) from None

    @staticmethod
    def _explain_rejection(line: str, observation: Observation, tools: Sequence[str]) -> str:
        if tools:
            return f"{NO_CALL} Tools: {', '.join(tools)}."
        legal = observation.legal_moves
        problem = f"{line!r} is not a legal move." if line else "Type a move." if legal else "Type a text."
        return f"{problem} Legal moves: {observation.describe_moves()}" if legal else problem


def _wrap_lines(text: str) -> str:
    """Wrap the text's lines at word boundaries to the terminal's width."""
    width = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(line, width, break_long_words=False) if len(line) > width else line for line in text.split("\n")
    )
