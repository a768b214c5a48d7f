"""Language models as players, for any seat of any game."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.identity import Fact, Identity
from gymposium.players.protocol import Ask, Repeats, Reply, Usage
from gymposium.players.teaching import AskTeacher
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import Reader, bind_reader, get_reader
from gymposium.tasks.tools import list_tools
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.util.streams import stream
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.context import (
    Context,
    Exchange,
    Pictures,
    check_pictures,
    describe_full_context,
    list_template_tools,
    parse_context as context_called,
)
from gymposium_agents.chat.settings import TOOLS, PlayerSettings, ReadingName, choose_reader_for
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest, Tokens, TurnTokens
from gymposium_agents.engines.futures import map_future
from gymposium_agents.engines.protocol import ConcurrentTokenEngine, TokenEngine
from gymposium_agents.modeling.identity import Origin
from gymposium_agents.players.conversation import Conversation, Dialogue, make_conversation_name
from gymposium_agents.players.distribution import (
    compute_move_distributions,
    estimate_distributions,
    find_continuations,
    may_think,
    split_probabilities,
)

ROUNDING = 1e-4
"""Maximum rounding difference between two log-probabilities, across batch sizes and machines."""


@dataclass(slots=True)
class _Turn:
    """One decision: the ask, and the request to the engine."""

    ask: Ask
    conversation: Conversation
    exchange: Exchange
    request: TokenRequest


class LanguageModelPlayer:
    """A player whose replies are sampled by a token engine.

    `context` selects the past turns that the model reads. By default, the model reads only the current state, so that
    each turn is a chat of one message. Sampling is keyed by match, seat and turn. `policy` names the weights that
    answer. None stands for the engine's current policy.

    A prompt without space for a reply is never sent: the reply gets the finish reason `context`, which ends the
    match."""

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
        reading: ReadingName = "strict",
        context: str | Context = "state",
        pictures: Pictures = "none",
        policy: Policy | None = None,
        origin: Origin | None = None,
        note_legal: bool = False,
        teacher: AskTeacher | None = None,
    ) -> None:
        """`pictures` requires a `chat` with sight. `origin` names the files of the model and adapter, if the
        weights were read from files. With `note_legal`, the trace of each turn lists the tokens that would have
        continued a legal reply (`TurnTokens.legal`). With a `teacher`, it also has the teacher's probabilities of
        them."""
        self.name = name
        self.engine = engine
        self.chat = chat
        self.sampling = sampling
        self.style: Style = style
        self.reader: Reader = choose_reader(reply, chat, reading)
        self.context: Context = context_called(context) if isinstance(context, str) else context
        self.policy = policy
        self.origin = origin
        self.note_legal = note_legal or teacher is not None
        self._teacher = teacher
        self._canonical = lru_cache(maxsize=8192)(lambda move: chat.reply(self.reader.answer(move)))
        self.pictures: Pictures = pictures
        self._dialogue = Dialogue(chat, self.context)
        self._without_space = 0

    @property
    def deterministic(self) -> bool:
        """Whether replies are greedy, so that nothing is drawn."""
        return self.sampling.temperature == 0

    @property
    def current_policy(self) -> Policy:
        """The policy that answers: the player's own, or else the engine's current one."""
        return self.policy or self.engine.policy

    def identity(self) -> Identity:
        """Return the digests of the player's files, and the sampling settings."""
        decoding: dict[str, Fact] = {
            "temperature": self.sampling.temperature,
            "max_tokens": self.sampling.max_tokens,
            "context": self.context.name,
            "thinking": self.chat.thinking,
            **({"history": self.chat.history} if self.chat.history != "template" else {}),
            **({"prompt": self.pictures} if self.pictures != "none" else {}),
        }
        if self.origin is None:
            return Identity(facts={"policy": str(self.current_policy)}, decoding=decoding)
        return Identity(self.origin.files(), self.origin.facts(), decoding)

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` for pictures in a game with tools."""
        check_pictures(self.pictures, game)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        """Return one reply per ask, in order, from one engine call."""
        started = time.perf_counter()
        turns = [self._make_turn(ask) for ask in asks]
        fits = [self._fits(turn.request) for turn in turns]
        requests = [turn.request for turn, fit in zip(turns, fits, strict=True) if fit]
        completions = iter(self.engine.generate(requests, self.sampling) if requests else ())
        share = (time.perf_counter() - started) / max(1, len(requests))
        labels = self._ask_teacher(asks)
        return [
            self._make_reply(turn, next(completions), share, label) if fit else self._make_full_context_reply(turn)
            for turn, fit, label in zip(turns, fits, labels, strict=True)
        ]

    def is_tie(self, ask: Ask, given: Reply, other: Reply) -> bool:
        """Return True if rounding could make a greedy player write `other` instead of `given`. Where they differ, the
        log-probability of the other token must be at most `ROUNDING` below the highest. Always False for players that
        sample."""
        if self.sampling.temperature > 0.0 or not isinstance(given.trace, TurnTokens):
            return False
        prompt, written = given.trace.prompt, given.trace.completion.ids
        space = min(self.sampling.max_tokens, self.engine.context - len(prompt))
        wanted = self.chat.reply(other.text)
        if other.finish_reason == "length":
            wanted = wanted[:space] if len(wanted) == space + 1 else ()
        counted = None if other.usage is None else Usage(len(prompt), len(wanted), other.usage.seconds)
        if written == wanted or counted is None or other.usage != counted:
            return False  # they differ in more than tokens
        while wanted and written != wanted:
            place = next((place for place, (one, two) in enumerate(zip(written, wanted)) if one != two), None)
            if place is None or not self._are_equally_likely(prompt + wanted[:place], written[place], wanted[place]):
                return False
            place += 1
            prompt, wanted, space = prompt + wanted[:place], wanted[place:], space - place
            if wanted:
                request = TokenRequest(prompt, stream(ask.seed, "tie", ask.seat, ask.turn), self.policy)
                [completion] = self.engine.generate([request], Sampling(0.0, space))
                written = completion.ids
        return True

    def _are_equally_likely(self, prompt: Tokens, one: int, other: int) -> bool:
        """Return True if two tokens after a prompt have the same probability, up to rounding."""
        [of_one], [of_other] = self.engine.score([(prompt, (one,)), (prompt, (other,))], policy=self.policy)
        return abs(of_one - of_other) <= ROUNDING

    def prompt(self, ask: Ask) -> tuple[int, ...]:
        """Return the token ids that the model reads at this ask. The player's memory is unchanged."""
        return self._make_turn(ask).request.prompt

    def distributions(self, asks: Sequence[Ask], samples: int = 256) -> list[MoveDistribution]:
        """Return the probability of each legal move at each ask. It is computed if the player is greedy or does not
        think first. Otherwise it is estimated from this many sampled replies."""
        if self.sampling.temperature > 0.0 and may_think(self):
            return estimate_distributions(self, asks, samples)
        return compute_move_distributions(self, asks)

    def distribution(self, ask: Ask, samples: int = 256) -> MoveDistribution:
        """Return the probability of each legal move at one ask, like `distributions`."""
        return self.distributions([ask], samples)[0]

    def remarks(self) -> list[str]:
        """Return advice about prompts without space for a reply, if any."""
        if not self._without_space:
            return []
        return [describe_full_context(self._without_space, f"the model's context of {self.engine.context} tokens")]

    def _make_turn(self, ask: Ask) -> _Turn:
        conversation = Conversation.from_ask(ask)
        exchange = Exchange.from_ask(ask, get_prompt(ask.game, self.style, self.reader), self.pictures)
        prompt = self._dialogue.prompt(conversation, exchange, list_template_tools(self.reader, ask.game))
        rng = stream(ask.seed, "sampling", ask.seat, ask.turn)
        request = TokenRequest(prompt, rng, self.policy, conversation=make_conversation_name(ask))
        return _Turn(ask, conversation, exchange, request)

    def _fits(self, request: TokenRequest) -> bool:
        return len(request.prompt) < self.engine.context

    def _ask_teacher(self, asks: Sequence[Ask]) -> list[MoveDistribution | None]:
        """Return the teacher's recommendation at each ask. None without a teacher, and in free text."""
        if self._teacher is None:
            return [None] * len(asks)
        found = iter(self._teacher([ask for ask in asks if ask.legal_moves is not None]))
        return [None if ask.legal_moves is None else next(found) for ask in asks]

    def _make_reply(self, turn: _Turn, completion: Completion, seconds: float, label: MoveDistribution | None) -> Reply:
        tokens = TurnTokens(turn.request.prompt, completion)
        if self.note_legal and turn.ask.legal_moves is not None:
            self._note_legal_replies(turn, tokens, turn.ask.legal_moves, label)
        text = self.chat.read(completion.ids)
        how = bind_reader(self.reader, list_tools(turn.ask.game), turn.ask.game.name)
        turn.conversation.keep(turn.ask, turn.exchange.replied(text, how), tokens)
        usage = Usage(len(tokens.prompt), len(completion.ids), seconds)
        return Reply(text, completion.finish_reason, tokens, usage=usage)

    def _note_legal_replies(
        self, turn: _Turn, tokens: TurnTokens, moves: Sequence[str], label: MoveDistribution | None
    ) -> None:
        """Note the ids that continue a legal reply at each token of the completion, with their probabilities if a
        teacher recommends some. Excludes replies over the player's token limit, because they would be cut off."""
        space = min(self.sampling.max_tokens, self.engine.context - len(tokens.prompt))
        replies = [reply for reply in map(self._canonical, moves) if len(reply) <= space]
        tokens.legal = find_continuations(replies, tokens.completion.ids)
        if label is not None and label.likeliest:
            odds = dict(zip(map(self._canonical, label.moves), label.probabilities, strict=True))
            tokens.taught = split_probabilities({reply: odds[reply] for reply in replies}, tokens.completion.ids)
            tokens.agrees = tokens.completion.ids in map(self._canonical, label.likeliest)

    def _make_full_context_reply(self, turn: _Turn) -> Reply:
        self._without_space += 1
        return Reply("", "context", turn.request.prompt, usage=Usage(len(turn.request.prompt), 0))


def choose_reader(reply: str, chat: Chat, reading: ReadingName = "strict") -> Reader:
    """Return the reader called `reply`. `tools` stands for the dialect of the chat template, which is read strictly.
    Raises `UnknownName`, and `BadOption` for `tools` with a template of unknown dialect."""
    if reply != TOOLS:
        return choose_reader_for(get_reader(reply), reading)
    if chat.dialect is None:
        raise BadOption(
            f"reply={TOOLS} is not supported: the chat template of {chat.tokenizer.name_or_path!r} has no tools, or "
            f"writes calls in an unknown format. Use reply=tags, reply=json or reply=move, which describe the tools "
            f"in the prompt."
        )
    return ToolsReader(chat.dialect)


class ConcurrentLanguageModelPlayer(LanguageModelPlayer):
    """A `LanguageModelPlayer` whose engine answers each request as soon as it is ready, as servers do."""

    engine: ConcurrentTokenEngine

    def submit(self, ask: Ask) -> Future[Reply]:
        """Start the reply to one ask. The future raises whatever the engine raises."""
        started = time.perf_counter()
        turn = self._make_turn(ask)
        if not self._fits(turn.request):
            no_room: Future[Reply] = Future()
            no_room.set_result(self._make_full_context_reply(turn))
            return no_room
        [label] = self._ask_teacher([ask])
        completing = self.engine.submit(turn.request, self.sampling)
        return map_future(
            completing, lambda done: self._make_reply(turn, done.result(), time.perf_counter() - started, label)
        )


def make_engine_player(
    name: str,
    engine: TokenEngine,
    chat: Chat,
    settings: PlayerSettings,
    policy: Policy | None = None,
    origin: Origin | None = None,
    *,
    note_legal: bool = False,
    teacher: AskTeacher | None = None,
) -> LanguageModelPlayer:
    """Make a player with this engine and these settings. The player answers single asks if the engine answers single
    requests. `chat` must have the `thinking` and the `history` of the settings. `origin`, `note_legal` and `teacher`
    are as in `LanguageModelPlayer`."""
    kind = ConcurrentLanguageModelPlayer if isinstance(engine, ConcurrentTokenEngine) else LanguageModelPlayer
    return kind(
        name,
        engine,
        chat,
        sampling=Sampling(settings.temperature, settings.max_tokens),
        style=settings.style,
        reply=settings.reply,
        reading=settings.reading,
        context=settings.context,
        pictures=settings.pictures,
        policy=policy,
        origin=origin,
        note_legal=note_legal,
        teacher=teacher,
    )
