"""TextArena agents as gymposium players."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

from gymposium.errors import BadOption, GymposiumError, WrongType
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Reply, Usage
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import Reader, get_reader

_MEMORY = "textarena"


class BadAgent(GymposiumError, TypeError):
    """Error for an agent that returned something other than text."""

    is_actionable = False


class TextArenaPlayer:
    """A player whose replies come from a TextArena agent, or any callable from observation text to action text.

    The agent reads the prompt of a language model in its seat: rules, position, legal moves, instructions. It exists
    only in Python and has no player name for commands.
    """

    def __init__(
        self,
        agent: Callable[[str], str],
        *,
        name: str | None = None,
        reply: str = "move",
        prompt: Style = "full",
        context: Literal["state", "full"] = "state",
    ) -> None:
        """`name` is the name in records, by default that of the agent's class. `reply` (`"move"`, `"tags"`, `"json"`)
        and `prompt` (`"full"`, `"compact"`) are as in `gymposium.Table`. With `context="full"` the agent reads all of
        its prompts and replies so far, which games with incremental positions need.

        Raises `WrongType` for an agent that cannot be called, `UnknownName` for an unknown reply form, and `BadOption`
        for an unknown context."""
        if not callable(agent):
            raise WrongType("An agent", "callable with the text of an observation", agent)
        if context not in ("state", "full"):
            raise BadOption(f"context={context!r}: write 'state' or 'full'.")
        self.agent = agent
        self.name = type(agent).__name__ if name is None else name
        self.reader: Reader = get_reader(reply)
        self.style: Style = prompt
        self.context = context

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        """Return the agent's reply to each ask. Raises `BadAgent` unless it is text."""
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        began = time.perf_counter()
        before: tuple[str, ...] = ask.memory.get(_MEMORY, ())
        prompt = get_prompt(ask.game, self.style, self.reader)
        now = prompt(ask.observe(self.style), ask.reason, rules=not before)
        said: object = self.agent("\n".join((*before, now)))
        if not isinstance(said, str):
            raise BadAgent(f"{self.name} returned {said!r} of type {type(said).__name__} instead of text.")
        if self.context == "full":
            ask.memory[_MEMORY] = (*before, now, f"[Player {ask.seat}] {said}\n")
        return Reply(said, usage=Usage(seconds=time.perf_counter() - began))
