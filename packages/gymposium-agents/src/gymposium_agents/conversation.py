"""What one seat's model was told and said in one match, and the prompt that this makes of its next turn.

It lives in `Ask.memory`: each seat has its own, and it ends with the match. What a model thought is nowhere else but
here and in the trace of its turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gymposium.players.protocol import Ask
from gymposium_agents.chat import Chat
from gymposium_agents.context import Context, Exchange
from gymposium_agents.tokens import TurnTokens

Tokens = tuple[int, ...]

_NAME = "conversation"


@dataclass(slots=True)
class Conversation:
    """The turns of one seat so far."""

    past: list[Exchange] = field(default_factory=list)
    last: TurnTokens | None = None
    """The tokens of the newest turn; what grows, grows from there."""

    @classmethod
    def of(cls, ask: Ask) -> Conversation:
        """The conversation that this ask goes on with."""
        kept = ask.memory.get(_NAME)
        return kept if isinstance(kept, cls) else cls()

    def keep(self, ask: Ask, said: Exchange, tokens: TurnTokens) -> None:
        """Remember a turn."""
        self.past.append(said)
        self.last = tokens
        ask.memory[_NAME] = self


@dataclass(frozen=True, slots=True)
class Dialogue:
    """How conversations become prompts: a chat template and what of the past is shown in it."""

    chat: Chat
    context: Context

    @property
    def grows(self) -> bool:
        """Whether each prompt of a match begins with all tokens of the turn before."""
        return self.context.grows and self.chat.grows

    def prompt(self, conversation: Conversation, now: Exchange) -> Tokens:
        """The ids of the next prompt, reply opened. Nothing that was sampled is tokenized again where history grows."""
        if self.grows and conversation.last is not None:
            prompt, sampled = conversation.last.prompt, conversation.last.completion.ids
            return (*prompt, *sampled, *self.chat.more(now.later, ended=sampled[-1:] == (self.chat.end,)))
        messages = self.context.messages(conversation.past, now)
        if len(messages) == 1:
            return self.chat.prompt(messages[0]["content"])  # cached: many matches begin alike
        return self.chat.conversation(messages)
