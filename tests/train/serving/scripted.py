"""The service over HTTP with prescribed replies, for tests of its clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.serving.scripted import Break, Script

from gymposium.runs.sessions import SessionsFile
from gymposium.tasks.tools import Call
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.rows import make_token_rows
from gymposium_agents.chat.tokens import Sampling
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_agents.serving.turns import ServedTurn, sort_by_rows
from gymposium_train.config import TrainConfig
from gymposium_train.serving.server import serve
from gymposium_train.serving.trajectories import list_turns

from .serving import begin, service_in

MAX_TOKENS = 200
"""Maximum number of tokens of a reply."""
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Look up the number of a word.",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        },
    }
]
CALLS = [Call("look_up", {"word": word}) for word in ("a", "é", "c")]
GROWN = ["fresh", "grown", "grown", "grown"]
"""How the prompts of four turns with calls begin."""


@dataclass(frozen=True)
class ServedSession:
    """One session of a service."""

    base_url: str
    script: Script
    file: SessionsFile
    name: str

    def turns(self) -> list[ServedTurn]:
        """The turns that are on disk."""
        row = self.file.session(self.name)
        assert row is not None
        return list_turns(row, self.file.turns(self.name))

    def beginnings(self) -> list[str]:
        """How the prompt of each turn begins; a changed reply is named by its field."""
        return [turn.differs or turn.beginning for turn in self.turns()]

    def rows(self) -> int:
        """The number of rows of tokens that the session is."""
        return len(make_token_rows([turn.tokens for turn in sort_by_rows(self.turns())]))


Serve = Callable[..., AbstractContextManager[ServedSession]]


@contextmanager
def served(chat: Chat, replies: Iterable[str | Call | Break], directory: Path) -> Iterator[ServedSession]:
    """Serve one session with these replies during the block."""
    script = Script(chat, replies)
    player = LanguageModelPlayer("lm:script", script, chat, sampling=Sampling(1.0, MAX_TOKENS))
    service = service_in(directory, player, group_size=1, port=0)
    with closing(service), serve(service, service.sessions.settings, directory, TrainConfig(), None) as address:
        row, secret = begin(service)
        yield ServedSession(f"{address}/s/{secret}/v1", script, service.file, row.id)
