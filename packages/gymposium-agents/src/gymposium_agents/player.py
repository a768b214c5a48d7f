"""A language model as a player: any model in any seat."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from gymposium.games.protocol import Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.identity import Fact, Identity
from gymposium.players.protocol import Ask, Repeats, Reply, Usage
from gymposium.prompt import prompt_for
from gymposium.reading import Reader, reader
from gymposium.streams import stream
from gymposium_agents.chat import Chat
from gymposium_agents.context import Context, Exchange, context as context_called, out_of_context
from gymposium_agents.conversation import Conversation, Dialogue
from gymposium_agents.distribution import estimate_distributions, may_think, move_distributions
from gymposium_agents.engines.protocol import ConcurrentTokenEngine, TokenEngine
from gymposium_agents.futures import then
from gymposium_agents.identity import Origin
from gymposium_agents.settings import PlayerSettings
from gymposium_agents.tokens import Completion, Policy, Sampling, TokenRequest, TurnTokens


@dataclass(slots=True)
class _Turn:
    """A decision under way: what the model is told and what it is asked."""

    ask: Ask
    conversation: Conversation
    told: Exchange
    request: TokenRequest


class LanguageModelPlayer:
    """Plays by a token engine, in any seat of any game. What the model reads of the match so far is its `context`;
    the default is the present state alone, so each turn is a chat of one message. Sampling is keyed by match, seat
    and turn. Whose weights answer is `policy`, or the engine's current policy where it is None.

    A prompt that leaves no room for a reply is never sent: the reply says `context`, which ends the match."""

    repeats: Repeats = "up_to_rounding"

    def __init__(
        self,
        name: str,
        engine: TokenEngine,
        chat: Chat,
        *,
        sampling: Sampling,
        style: Style = "compact",
        reply: str = "move",
        context: str | Context = "state",
        policy: Policy | None = None,
        origin: Origin | None = None,
    ) -> None:
        """`origin` is what it was made from, where that lies in files."""
        self.name = name
        self.engine = engine
        self.chat = chat
        self.sampling = sampling
        self.style: Style = style
        self.reader: Reader = reader(reply)
        self.context: Context = context_called(context) if isinstance(context, str) else context
        self.policy = policy
        self.origin = origin
        self._dialogue = Dialogue(chat, self.context)
        self._without_room = 0

    @property
    def deterministic(self) -> bool:
        """Whether nothing is drawn."""
        return self.sampling.temperature == 0

    def identity(self) -> Identity:
        """The digests of its files, and how its replies are sampled."""
        decoding: dict[str, Fact] = {
            "temperature": self.sampling.temperature,
            "max_tokens": self.sampling.max_tokens,
            "context": self.context.name,
            "thinking": self.chat.thinking,
        }
        if self.origin is None:
            return Identity(facts={"policy": str(self.policy or self.engine.policy)}, decoding=decoding)
        return Identity(self.origin.files(), self.origin.facts(), decoding)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        """One reply for each ask, in order, from one call of the engine."""
        started = time.perf_counter()
        turns = [self._turn(ask) for ask in asks]
        fits = [self._fits(turn.request) for turn in turns]
        asked = [turn.request for turn, fit in zip(turns, fits, strict=True) if fit]
        completions = iter(self.engine.generate(asked, self.sampling) if asked else ())
        share = (time.perf_counter() - started) / max(1, len(asked))
        return [
            self._reply(turn, next(completions), share) if fit else self._no_room(turn)
            for turn, fit in zip(turns, fits, strict=True)
        ]

    def prompt(self, ask: Ask) -> tuple[int, ...]:
        """The ids that the model reads at this ask. Nothing is remembered of it."""
        return self._turn(ask).request.prompt

    def distributions(self, asks: Sequence[Ask], samples: int = 256) -> list[MoveDistribution]:
        """How likely it plays each legal move at each ask: computed where it answers with the move at once or always
        gives its most likely reply, an estimate from so many sampled replies where it may think first."""
        if self.sampling.temperature > 0.0 and may_think(self):
            return estimate_distributions(self, asks, samples)
        return move_distributions(self, asks)

    def distribution(self, ask: Ask, samples: int = 256) -> MoveDistribution:
        """How likely it plays each legal move at one ask, as `distributions`."""
        return self.distributions([ask], samples)[0]

    def remarks(self) -> list[str]:
        """What to do about prompts that left no room for a reply, where there were any."""
        if not self._without_room:
            return []
        return [out_of_context(self._without_room, f"the {self.engine.context} tokens that the model reads")]

    def _turn(self, ask: Ask) -> _Turn:
        conversation = Conversation.of(ask)
        told = Exchange.of(ask, prompt_for(ask.game, self.style, self.reader))
        prompt = self._dialogue.prompt(conversation, told)
        return _Turn(ask, conversation, told, TokenRequest(prompt, self._rng(ask), self.policy))

    def _rng(self, ask: Ask) -> random.Random:
        return stream(ask.seed, "sampling", ask.seat, ask.turn)

    def _fits(self, request: TokenRequest) -> bool:
        return len(request.prompt) < self.engine.context

    def _reply(self, turn: _Turn, completion: Completion, seconds: float) -> Reply:
        text, tokens = self.chat.read(completion.ids), TurnTokens(turn.request.prompt, completion)
        turn.conversation.keep(turn.ask, Exchange(turn.told.first, turn.told.later, text), tokens)
        usage = Usage(len(tokens.prompt), len(completion.ids), seconds)
        return Reply(text, completion.finish_reason, tokens, usage=usage)

    def _no_room(self, turn: _Turn) -> Reply:
        self._without_room += 1
        return Reply("", "context", turn.request.prompt, usage=Usage(len(turn.request.prompt), 0))


class ConcurrentLanguageModelPlayer(LanguageModelPlayer):
    """A `LanguageModelPlayer` over an engine that answers each request as soon as it is ready: a server's."""

    engine: ConcurrentTokenEngine

    def submit(self, ask: Ask) -> Future[Reply]:
        """Begin the reply to one ask. The future raises what the engine raises."""
        started = time.perf_counter()
        turn = self._turn(ask)
        if not self._fits(turn.request):
            full: Future[Reply] = Future()
            full.set_result(self._no_room(turn))
            return full
        completing = self.engine.submit(turn.request, self.sampling)
        return then(completing, lambda done: self._reply(turn, done.result(), time.perf_counter() - started))


def over(
    name: str,
    engine: TokenEngine,
    chat: Chat,
    settings: PlayerSettings,
    policy: Policy | None = None,
    origin: Origin | None = None,
) -> LanguageModelPlayer:
    """The player over this engine that is asked as `settings` say; `Concurrent` where the engine is. `chat` must think
    or not as the settings do."""
    kind = ConcurrentLanguageModelPlayer if isinstance(engine, ConcurrentTokenEngine) else LanguageModelPlayer
    return kind(
        name,
        engine,
        chat,
        sampling=Sampling(settings.temperature, settings.max_tokens),
        style=settings.style,
        reply=settings.reply,
        context=settings.context,
        policy=policy,
        origin=origin,
    )
