"""The player `api:MODEL`: a language model behind a chat service, for evaluation and as an opponent.

Messages go out and text comes in. Its traces hold no tokens, so nothing can be trained on them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from gymposium.errors import BadOption
from gymposium.games.protocol import Style
from gymposium.players.identity import Identity
from gymposium.players.protocol import Ask, Reply, Usage
from gymposium.prompt import prompt_for
from gymposium.reading import Reader, reader
from gymposium.streams import stream
from gymposium_agents.context import Exchange, context, out_of_context
from gymposium_agents.engines.api_errors import PromptTooLong
from gymposium_agents.engines.api_settings import ApiSettings, Prices
from gymposium_agents.engines.protocol import ChatCompletion, ChatEngine
from gymposium_agents.futures import results, then
from gymposium_agents.settings import PlayerSettings, boolean, number, parse_options, text, whole
from gymposium_agents.tokens import Message, Sampling

DEFAULTS = PlayerSettings(style="full", max_tokens=1024)
"""How a model is asked that was not trained on our prompts and may think before it answers."""


@dataclass(slots=True)
class ChatTurn:
    """What was said in one decision."""

    messages: Sequence[Message]
    """What the model read."""
    completion: ChatCompletion


class ApiPlayer:
    """Plays by a chat engine. Sampling is keyed by match, seat and turn, as far as the service keeps to its seed. Few
    do, and what they run today may be another model tomorrow: its replies stand on the word of who let it play."""

    def __init__(
        self, name: str, engine: ChatEngine, settings: PlayerSettings = DEFAULTS, service: ApiSettings | None = None
    ) -> None:
        """`service` says how the engine reaches a model, where it does."""
        self.name = name
        self.service = service
        self.engine = engine
        self.style: Style = settings.style
        self.reader: Reader = reader(settings.reply)
        self.context = context(settings.context)
        self.sampling = Sampling(settings.temperature, settings.max_tokens)
        self._sums: Counter[str] = Counter()
        self._cost = 0.0

    def identity(self) -> Identity:
        """The model, the address of its service, and how its replies are sampled. Keys are no part of it."""
        facts = {} if self.service is None else {"model": self.service.model, "base_url": self.service.base_url}
        own = self.service is not None and self.service.own_temperature
        decoding = {
            "temperature": None if own else self.sampling.temperature,
            "max_tokens": self.sampling.max_tokens,
            "context": self.context.name,
        }
        return Identity(facts=facts, decoding=decoding)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return results([self.submit(ask) for ask in asks])

    def submit(self, ask: Ask) -> Future[Reply]:
        """Begin the reply to one ask. To cancel the future gives up the request."""
        past: list[Exchange] = ask.memory.setdefault("exchanges", [])
        now = Exchange.of(ask, prompt_for(ask.game, self.style, self.reader))
        messages = self.context.messages(past, now)
        seed = stream(ask.seed, "sampling", ask.seat, ask.turn).getrandbits(31)
        began = time.monotonic()

        def answered(asked: Future[ChatCompletion]) -> Reply:
            try:
                completion = asked.result()
            except PromptTooLong:
                self._sums["without room"] += 1
                return Reply("", "context")
            self._count(completion)
            past.append(Exchange(now.first, now.later, completion.text))
            usage = Usage(
                completion.prompt_tokens, completion.completion_tokens, time.monotonic() - began, completion.cost
            )
            return Reply(completion.text, completion.finish_reason, ChatTurn(messages, completion), usage=usage)

        return then(self.engine.submit(messages, self.sampling, seed), answered)

    def remarks(self) -> list[str]:
        """Tokens and cost so far, and what the engine has to say."""
        sums = self._sums
        said = []
        if sums["replies"]:
            cost = f", cost {self._cost:.4f}" if sums["priced"] else ""
            said.append(f"{sums['replies']} replies, {sums['prompt']} tokens in and {sums['completion']} out{cost}.")
        if sums["without room"]:
            said.append(out_of_context(sums["without room"], "what the service lets it read"))
        remarks = getattr(self.engine, "remarks", None)
        return [*said, *(() if remarks is None else remarks())]

    def _count(self, completion: ChatCompletion) -> None:
        self._sums["replies"] += 1
        self._sums["prompt"] += completion.prompt_tokens or 0
        self._sums["completion"] += completion.completion_tokens or 0
        if completion.cost is not None:
            self._sums["priced"] += 1
            self._cost += completion.cost


_READ: Mapping[str, Callable[[str, str], Any]] = {
    "base_url": text,
    "key": text,
    "prices": lambda name, value: Prices.parse(value),
    "rpm": whole,
    "at_once": whole,
    "timeout": number,
    "retries": whole,
    "seed": boolean,
}
"""The options that say how the service is reached, each with how it is read; those of `PlayerSettings` say how the
model is asked."""


def api_player(model: str, options: str | None = None) -> ApiPlayer:
    """The player written `api:MODEL?OPTIONS`. Raises `BadOption` or `UnknownName` for what cannot be read,
    `MissingExtra` without the openai library."""
    from gymposium_agents.engines.chat_api import OpenAIChatEngine

    name = f"api:{model}" + (f"?{options}" if options else "")
    service, settings = read_options(model, parse_options(options))
    return ApiPlayer(name, OpenAIChatEngine(service), settings, service)


def read_options(model: str, given: Mapping[str, str]) -> tuple[ApiSettings, PlayerSettings]:
    """How the service is reached, and how the model is asked."""
    own_temperature = given.get("temperature") == "default"
    if "thinking" in given:
        raise BadOption("thinking= is for models that run here; how much a model behind a service thinks, it says.")
    asked = {name: value for name, value in given.items() if not (name == "temperature" and own_temperature)}
    settings = DEFAULTS.with_options(asked, others=_READ)
    reached = {name: read(name, given[name]) for name, read in _READ.items() if name in given}
    return ApiSettings(model, own_temperature=own_temperature, **reached), settings
