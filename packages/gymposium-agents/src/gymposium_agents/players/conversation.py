"""The conversation of one seat in one match, and the prompt of its next turn.

A conversation is stored in `Ask.memory`. Each seat has a separate conversation, which ends with the match. A model's
thoughts are stored only here and in the trace of its turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gymposium.players.protocol import Ask
from gymposium.tasks.tools import Tool
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.context import Context, Exchange
from gymposium_agents.chat.growth import After
from gymposium_agents.chat.tokens import Tokens, TurnTokens

_NAME = "conversation"


@dataclass(slots=True)
class Conversation:
    """The turns of one seat so far."""

    past: list[Exchange] = field(default_factory=list)
    """The exchanges so far, each with its reply."""
    last: TurnTokens | None = None
    """The tokens of the latest turn. The next prompt begins with them if the history grows."""

    @classmethod
    def from_ask(cls, ask: Ask) -> Conversation:
        """Return the conversation of the ask's seat so far, or a new one at its first turn."""
        kept = ask.memory.get(_NAME)
        return kept if isinstance(kept, cls) else cls()

    def keep(self, ask: Ask, exchange: Exchange, tokens: TurnTokens) -> None:
        """Add a turn, and store the conversation in the seat's memory."""
        self.past.append(exchange)
        self.last = tokens
        ask.memory[_NAME] = self


def make_conversation_name(ask: Ask) -> str:
    """Return a name for the conversation of the ask's seat. Engines use it (`TokenRequest.conversation`)."""
    return f"{ask.key}/{ask.seat}"


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The conversion of conversations to prompts, by a chat template and a context."""

    chat: Chat
    context: Context

    def prompt(self, conversation: Conversation, now: Exchange, tools: tuple[Tool, ...] = ()) -> Tokens:
        """Return the ids of the next prompt, with the reply opened. `tools` are those listed by the chat template. If
        the history grows, sampled tokens stay unchanged and are not tokenized again."""
        past, last = conversation.past, conversation.last
        if last is not None and self.context.grows and now.picture is None:
            after: After = "tool" if now.results and past[-1].calls else "user"
            thoughts = any("<think>" in (exchange.reply or "") for exchange in past)
            if self.chat.grows(after, thoughts=thoughts):
                ended = last.completion.ids[-1:] == (self.chat.end,)
                texts = now.results if after == "tool" else (now.later,)
                more = self.chat.more(*texts, after=after, ended=ended, thoughts=thoughts)
                return (*last.prompt, *last.completion.ids, *more)
        messages = self.context.messages(past, now)
        if len(messages) == 1 and now.picture is None:
            return self.chat.prompt(messages[0]["content"], tools)  # cached, because many matches begin alike
        return self.chat.conversation(messages, tools)
