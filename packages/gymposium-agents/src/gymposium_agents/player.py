"""A language model as a player: any model in any seat."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Self

from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Reply
from gymposium.prompt import prompt_for
from gymposium.reading import Reader, reader
from gymposium.streams import stream
from gymposium_agents.chat import Chat
from gymposium_agents.engines.protocol import TokenEngine
from gymposium_agents.tokens import Sampling, TokenRequest, TurnTokens


@dataclass(frozen=True, slots=True)
class PlayerSettings:
    """How a model is asked: what a run trains with and `lm:` reads back."""

    style: Style = "compact"
    reply: str = "move"
    max_tokens: int = 16

    FILE: ClassVar[str] = "player.json"

    def save(self, directory: Path) -> None:
        (directory / self.FILE).write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def beside(cls, *places: str | Path) -> Self:
        """The settings in the first of these directories that has some, or the defaults."""
        for place in places:
            file = Path(place) / cls.FILE
            if file.is_file():
                return cls(**json.loads(file.read_text(encoding="utf-8")))
        return cls()


class LanguageModelPlayer:
    """Plays by a token engine with a state-only context: each turn is a chat of one message that says all
    the seat may know now. Sampling is keyed by match, seat and turn."""

    def __init__(
        self,
        name: str,
        engine: TokenEngine,
        chat: Chat,
        *,
        sampling: Sampling,
        style: Style = "compact",
        reply: str = "move",
    ) -> None:
        self.name = name
        self.engine = engine
        self.chat = chat
        self.sampling = sampling
        self.style: Style = style
        self.reader: Reader = reader(reply)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        requests = [
            TokenRequest(self.chat.prompt(self.prompt_text(ask)), stream(ask.seed, "sampling", ask.seat, ask.turn))
            for ask in asks
        ]
        completions = self.engine.generate(requests, self.sampling)
        return [
            Reply(self.chat.read(completion.ids), completion.finish_reason, TurnTokens(request.prompt, completion))
            for request, completion in zip(requests, completions, strict=True)
        ]

    def prompt_text(self, ask: Ask) -> str:
        """The user's message: the prompt, behind why the last reply was not accepted."""
        return prompt_for(ask.game, self.style, self.reader)(ask.observe(self.style), ask.reason)
