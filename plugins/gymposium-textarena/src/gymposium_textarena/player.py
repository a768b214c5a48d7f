"""Agents of TextArena as players of gymposium."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gymposium.errors import GymposiumError, WrongType
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Reply, Usage
from gymposium.prompt import prompt_for
from gymposium.reading import Reader, reader


class BadAgent(GymposiumError, TypeError):
    """An agent returned something else than text."""

    tells_what_to_do = False


class TextArenaPlayer:
    """A player whose replies come from an agent of TextArena, or any callable from the text of an observation to the
    text of an action.

    The agent reads the prompt that a language model in its seat would get: rules, position, legal moves and how to
    answer. Agents exist in Python only: no name of a player, in a command or a file, stands for one.
    """

    def __init__(
        self, agent: Callable[[str], str], *, name: str | None = None, reply: str = "move", prompt: Style = "full"
    ) -> None:
        """`name` is the name in records, by default that of the agent's class. `reply` (`"move"`, `"tags"`, `"json"`)
        and `prompt` (`"full"`, `"compact"`) are as for `gymposium.Table`.

        Raises `WrongType` for an agent that cannot be called, and `UnknownName` for another form of replies."""
        if not callable(agent):
            raise WrongType("An agent", "callable with the text of an observation", agent)
        self.agent = agent
        self.name = type(agent).__name__ if name is None else name
        self.reader: Reader = reader(reply)
        self.style: Style = prompt

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        """The agent's reply to each ask. Raises `BadAgent` unless it is text."""
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        began = time.perf_counter()
        prompt = prompt_for(ask.game, self.style, self.reader)
        said: object = self.agent(prompt(ask.observe(self.style), ask.reason))
        if not isinstance(said, str):
            raise BadAgent(f"{self.name} returned {said!r} of type {type(said).__name__} in place of text.")
        return Reply(said, usage=Usage(seconds=time.perf_counter() - began))
