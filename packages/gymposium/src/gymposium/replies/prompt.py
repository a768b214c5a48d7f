"""Prompts for players: rules, observation, legal moves and answer instructions."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NamedTuple

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Observation, Style
from gymposium.replies.reading import Reader, Wanted
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.tasks.tools.tool import list_tools
from gymposium.tasks.tools.wording import describe_tools

PROMPT_VERSION = 1
"""Version of the prompts' wording, stored in every record. Increment it when the wording changes."""


class PromptParts(NamedTuple):
    """The parts of a prompt, in order. Joined, they form the prompt."""

    reason: str
    """Why the seat's last reply was rejected; empty if this is not a retry."""
    rules: str
    """The rules, the same in all of a seat's prompts."""
    position: str
    """The seat's view and, in the full style, its legal moves."""
    instructions: str
    """How to answer. In games with talk, it differs between texts and decisions."""


class Prompt:
    """A builder of prompts for one game, style and reader. The fixed parts are built once."""

    def __init__(self, game: Game, style: Style, how: Reader) -> None:
        if style not in ("full", "compact"):
            raise BadOption(f"Unknown prompt={style!r}. Use 'full' or 'compact'.")
        self.style: Style = style
        self.reader = how
        tools = list_tools(game)
        listed = describe_tools(tools, style) if tools and not isinstance(how, ToolsReader) else ""
        gap = "\n" if style == "full" else ""
        self._heads = [game.rules(seat, style) + listed + gap for seat in range(game.seats)]
        is_listed = game.num_actions > 0 or game.spec.talk
        wanted: list[Wanted] = ["one call"] if tools else ["one legal move"] if is_listed else ["your text"]
        if game.spec.talk:
            wanted.append("your text")
        tails = [how.instructions(style, wanted=one) for one in wanted]
        self._tail, self._text_tail = tails[0], tails[-1]
        self._full = style == "full"
        self.hash = hashlib.sha256("\0".join([*self._heads, *tails]).encode()).hexdigest()[:12]
        """Digest of the fixed parts: 12 hexadecimal digits."""

    def __call__(self, observation: Observation, reason: str | None = None, *, rules: bool = True) -> str:
        """Return the prompt for an observation.

        `reason` says why the seat's last reply was rejected, and comes first. `rules=False` omits the rules, for later
        messages in a conversation that began with them."""
        head = self._heads[observation.seat] if rules else ""
        if reason is not None:
            head = f"{reason}\n{head}"
        return f"{head}{self._render_position(observation)}{self._get_instructions(observation)}"

    def parts(self, observation: Observation, reason: str | None = None, *, rules: bool = True) -> PromptParts:
        """Return the parts of the prompt that `__call__` returns for these arguments."""
        return PromptParts(
            "" if reason is None else f"{reason}\n",
            self._heads[observation.seat] if rules else "",
            self._render_position(observation),
            self._get_instructions(observation),
        )

    def _get_instructions(self, observation: Observation) -> str:
        return self._text_tail if observation.legal_moves is None else self._tail

    def _render_position(self, observation: Observation) -> str:
        if self._full and observation.legal_moves is not None:
            return f"{observation.text}Legal moves: {observation.describe_moves()}\n"
        return observation.text


@lru_cache(maxsize=256)
def get_prompt(game: Game, style: Style, how: Reader) -> Prompt:
    """Return the shared `Prompt` for a game, style and reader."""
    return Prompt(game, style, how)
