"""The player `api:MODEL`: a language model behind a chat service, for evaluation and as an opponent.

The player sends messages and receives text. Its traces have no tokens, so they cannot be used for training.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Style
from gymposium.players.identity import Identity
from gymposium.players.protocol import Ask, Reply, Usage
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import Reader
from gymposium.tasks.tools import list_tools
from gymposium.tasks.tools.dialects import DIALECTS
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.util.streams import stream
from gymposium.util.user_file import load_user_file
from gymposium_agents.chat.context import (
    Exchange,
    Pictures,
    check_pictures,
    describe_full_context,
    list_template_tools,
    parse_context,
)
from gymposium_agents.chat.settings import (
    TOOLS,
    PlayerSettings,
    choose_reader_for,
    convert_options,
    find_reply_form,
    parse_options,
)
from gymposium_agents.chat.tokens import Message, Sampling
from gymposium_agents.engines.api_errors import PromptTooLong
from gymposium_agents.engines.api_settings import ApiSettings, Prices
from gymposium_agents.engines.futures import map_future, wait_for_results
from gymposium_agents.engines.protocol import ChatCompletion, ChatEngine

_NO_REPLY = "[no reply]"
"""Stands for an empty reply in later messages, because some services refuse messages without text."""
_CALLS = DIALECTS["hermes"]
"""The dialect in which replies show calls, whatever the service's form (`find_reply_form`)."""
_THOUGHT_TAGS = re.compile("</?think>")


@dataclass(slots=True)
class ChatTurn:
    """The trace of one decision of a model behind a chat engine."""

    messages: Sequence[Message]
    """The messages that the model read."""
    completion: ChatCompletion
    """The model's answer."""


class ApiPlayer:
    """A player whose replies come from a chat engine.

    Sampling is keyed by match, seat and turn, if the service honors its seed. Runs are not reproducible, because few
    services honor seeds, and a service may later run another model under the same name."""

    def __init__(
        self, name: str, engine: ChatEngine, settings: PlayerSettings, service: ApiSettings | None = None
    ) -> None:
        """`service` describes the service behind the engine, or None for an engine without one.

        Raises `BadOption` for tool calls in a template's form."""
        form = find_reply_form(settings.reply)
        if isinstance(form, ToolsReader) and settings.reply != TOOLS:
            raise BadOption(
                f"reply={settings.reply} is not supported: chat services have their own form of calls. Use reply=tools."
            )
        self.name = name
        self.service = service
        self.engine = engine
        self.pictures: Pictures = settings.pictures
        self.style: Style = settings.style
        self.reader: Reader = choose_reader_for(form, settings.reading)
        self.context = parse_context(settings.context)
        self.sampling = Sampling(settings.temperature, settings.max_tokens)
        self._without_space = 0
        self._described: str | None = None
        """A game whose tools only the prompt described."""

    def identity(self) -> Identity:
        """Return the model, the address of its service, and the sampling settings. Keys are not included."""
        facts = {} if self.service is None else {"model": self.service.model, "base_url": self.service.base_url}
        own = self.service is not None and self.service.own_temperature
        decoding = {
            "temperature": None if own else self.sampling.temperature,
            "max_tokens": self.sampling.max_tokens,
            "context": self.context.name,
            **({} if self.pictures == "none" else {"prompt": self.pictures}),
            **({} if self.service is None else self.service.decoding),
        }
        return Identity(facts=facts, decoding=decoding)

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` for pictures in a game with tools, whose results are text."""
        check_pictures(self.pictures, game)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return wait_for_results([self.submit(ask) for ask in asks])

    def submit(self, ask: Ask) -> Future[Reply]:
        """Start the reply to one ask. Cancelling the future cancels the request."""
        past: list[Exchange] = ask.memory.setdefault("exchanges", [])
        now = Exchange.from_ask(ask, get_prompt(ask.game, self.style, self.reader), self.pictures)
        messages = self.context.messages(past, now)
        seed = stream(ask.seed, "sampling", ask.seat, ask.turn).getrandbits(31)
        began = time.monotonic()

        def answered(asked: Future[ChatCompletion]) -> Reply:
            try:
                completion = asked.result()
            except PromptTooLong:
                self._without_space += 1
                return Reply("", "context")
            past.append(_add_reply(now, completion))
            usage = Usage(
                completion.prompt_tokens, completion.completion_tokens, time.monotonic() - began, completion.cost
            )
            return Reply(
                _write_reply(completion), completion.finish_reason, ChatTurn(messages, completion), usage=usage
            )

        tools = list_template_tools(self.reader, ask.game)
        if not tools and list_tools(ask.game):
            self._described = ask.game.name
        return map_future(self.engine.submit(messages, self.sampling, seed, tools), answered)

    @property
    def withheld(self) -> int:
        """The number of replies that the service's content filter cut off."""
        counts: Mapping[str, int] = getattr(self.engine, "counts", {})
        return counts.get("withheld", 0)

    def remarks(self) -> list[str]:
        """Return advice about prompts without space for a reply, if any, and the remarks of the engine."""
        advice = list[str]()
        if self._without_space:
            told = describe_full_context(self._without_space, "the service's context")
            advice = [f"{told} Most services count max_tokens= as well: lower it if it is large."]
        if self._described is not None:
            advice.append(f"The tools of {self._described} were described in the prompt. reply=tools offers them.")
        return advice + list_remarks(self.engine)


def _add_reply(exchange: Exchange, completion: ChatCompletion) -> Exchange:
    """Return an exchange with its reply. Calls in a reply that was cut off are not made, so they are left out."""
    if completion.calls and completion.finish_reason == "stop":
        return replace(exchange, reply=completion.text, calls=completion.calls, native=completion.native)
    return replace(exchange, reply=completion.text if completion.text.strip() else _NO_REPLY)


def _write_reply(completion: ChatCompletion) -> str:
    """Return the text of a reply for its reader and the record: the calls, after the text beside them as a thought."""
    if not completion.calls:
        return completion.text
    said = _THOUGHT_TAGS.sub("", completion.text).strip()
    return (f"<think>{said}</think>\n" if said else "") + _CALLS.write(completion.calls)


def list_remarks(engine: ChatEngine) -> list[str]:
    """Return the remarks of a chat engine, if it makes any."""
    remarks = getattr(engine, "remarks", None)
    return [] if remarks is None else remarks()


_SERVICE_OPTIONS = (
    *("base_url", "key", "prices", "max_cost", "rpm", "at_once", "timeout", "retries", "seed", "limit"),
    *("system", "top_p", "reasoning_effort", "thinking_budget", "dialect"),
)
"""The options that set fields of `ApiSettings`. The other options set fields of `PlayerSettings`."""


def make_api_player(model: str, options: str | None = None) -> ApiPlayer:
    """Make the player written `api:MODEL?OPTIONS`. Raises `BadOption` or `UnknownName` for invalid options, and
    `MissingExtra` without the openai library."""
    from gymposium_agents.engines.chat_api import OpenAIChatEngine

    name = f"api:{model}" + (f"?{options}" if options else "")
    service, settings = read_options(model, parse_options(options))
    return ApiPlayer(name, OpenAIChatEngine(service), settings, service)


def read_options(model: str, options: Mapping[str, str]) -> tuple[ApiSettings, PlayerSettings]:
    """Return the settings of the service, and those of the player. Without `prices`, the user's file is searched for
    those of the model. Raises the same errors as `make_api_player`."""
    if "history" in options:
        raise BadOption(
            "history= is only for models whose prompts are rendered here. Omit it: a chat service renders its own."
        )
    if "thinking" in options:
        raise BadOption(
            "thinking= is only for models in this process. Omit it: a chat service decides how much its model thinks."
        )
    # Anthropic's newest models have no temperature
    usual = "default" if options.get("dialect") == "messages" else None
    own_temperature = options.get("temperature", usual) == "default"
    others = (*_SERVICE_OPTIONS, *(("temperature",) if own_temperature else ()))
    # without history, a model in a game with tools would not see its task
    context = "full" if options.get("reply") == TOOLS else "state"
    settings = PlayerSettings(reading="lenient", context=context).with_options(options, others=others)
    service = convert_options(ApiSettings, [(name, options[name]) for name in _SERVICE_OPTIONS if name in options])
    prices = service.get("prices") or load_user_file().prices.get(model)
    service["prices"] = None if prices is None else Prices.parse(prices)
    return ApiSettings(model, own_temperature=own_temperature, **service), settings
