"""The probability that a language model plays each legal move, computed or estimated.

To compute it, each move gets a score: the log-probability of its canonical reply, including the end of turn, at the
playing temperature. The *legal-restricted* policy is the softmax of the scores over the legal moves. The *legal mass*
is the sum of their exponentials: the probability that a reply is the canonical reply for a legal move. Other replies
are illegal, unreadable, or name a legal move differently (other white space, another tokenization). The
legal-restricted policy represents the agent's play only if the legal mass is near 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

from gymposium.errors import GymposiumError
from gymposium.match.result import check_integer
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask
from gymposium.replies.reading import LenientReader, Reader, TagsReader, read_reply
from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.context import Context
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest, Tokens
from gymposium_agents.engines.protocol import TokenEngine
from gymposium_agents.players.conversation import Conversation, make_conversation_name

AT_ONCE = 4096
"""Maximum number of replies that an estimate requests in one engine call. Each request holds a random generator."""


class PromptedModel(Protocol):
    """The parts of a language-model player that determine its move probabilities."""

    name: str
    engine: TokenEngine
    chat: Chat
    sampling: Sampling
    reader: Reader
    context: Context
    policy: Policy | None

    def prompt(self, ask: Ask) -> Tokens:
        """Return the token ids that the model reads at this ask."""
        ...


def may_think(player: PromptedModel) -> bool:
    """Return True if the player may write thoughts before its move, so that many replies lead to one move."""
    form = player.reader.strict if isinstance(player.reader, LenientReader) else player.reader
    return isinstance(form, TagsReader) or player.chat.thinking


def compute_move_distributions(player: PromptedModel, asks: Sequence[Ask]) -> list[MoveDistribution]:
    """Return the distribution at each ask, from the log-probabilities of the canonical replies in one engine call. The
    player's memory is unchanged. A reply with more tokens than `max_tokens` or the context allow has probability 0.

    At temperature 0, the most likely reply decides: its move has probability 1 and the legal mass is 1. If that reply
    is not a legal move, all probabilities and the legal mass are 0.

    Raises `GymposiumError` if a game lists no moves, a prompt leaves no space for a reply, or every legal reply is too
    long. Also raises it if the player reads past turns that are missing from the ask."""
    legal, prompts = [_list_legal_moves(ask) for ask in asks], [_make_prompt(player, ask) for ask in asks]
    if player.sampling.temperature == 0.0:
        requests = [
            TokenRequest(
                prompt,
                stream(ask.seed, "distribution", ask.seat, ask.turn),
                player.policy,
                conversation=make_conversation_name(ask),
            )
            for ask, prompt in zip(asks, prompts, strict=True)
        ]
        completions = player.engine.generate(requests, player.sampling) if requests else []
        return [
            _normalize_counts(moves, Counter([_read_move(player, ask, completion)]), None)
            for ask, moves, completion in zip(asks, legal, completions, strict=True)
        ]
    replies = {move: player.chat.reply(player.reader.answer(move)) for move in set().union(*legal)}
    pairs = [
        (prompt, replies[move])
        for ask, prompt, moves in zip(asks, prompts, legal, strict=True)
        for move in _select_fitting_moves(player, ask, prompt, moves, replies)
    ]
    distinct = [*dict.fromkeys(pairs)]
    temperature, policy = player.sampling.temperature, player.policy
    scored = player.engine.score(distinct, temperature=temperature, policy=policy) if distinct else []
    scores = dict(zip(distinct, map(math.fsum, scored), strict=True))
    return [
        _normalize_scores(moves, [scores.get((prompt, replies[move])) for move in moves])
        for prompt, moves in zip(prompts, legal, strict=True)
    ]


def estimate_distributions(player: PromptedModel, asks: Sequence[Ask], samples: int = 256) -> list[MoveDistribution]:
    """Return the distribution at each ask, counted over `samples` replies read like the driver's. Use it for a player
    that may think first. The player's memory is unchanged. The samples follow from the match's seed, the seat and the
    turn, with a random stream separate from play.

    Raises `GymposiumError` if a game lists no moves, a prompt leaves no space for a reply, or the player reads past
    turns missing from the ask."""
    check_integer("samples", samples, least=1)
    legal, prompts = [_list_legal_moves(ask) for ask in asks], [_make_prompt(player, ask) for ask in asks]

    def list_requests() -> Iterator[tuple[int, TokenRequest]]:
        for i, (ask, prompt) in enumerate(zip(asks, prompts, strict=True)):
            for sample in range(samples):
                rng = stream(ask.seed, "distribution", ask.seat, ask.turn, sample)
                yield i, TokenRequest(prompt, rng, player.policy, conversation=make_conversation_name(ask))

    counts: list[Counter[str | None]] = [Counter() for _ in asks]
    waiting = list_requests()
    while part := [*islice(waiting, AT_ONCE)]:
        completions = player.engine.generate([request for _, request in part], player.sampling)
        for (i, _), completion in zip(part, completions, strict=True):
            counts[i][_read_move(player, asks[i], completion)] += 1
    return [_normalize_counts(moves, count, samples) for moves, count in zip(legal, counts, strict=True)]


def find_continuations(replies: Iterable[Tokens], sampled: Tokens) -> tuple[Tokens, ...]:
    """Return, for each sampled token, the ids at its place that continue one of `replies`, ascending.

    After a sampled token that continues no reply, all entries are empty. A reply's text in another tokenization
    continues no reply."""
    left, found = [*replies], []
    for place, token in enumerate(sampled):
        found.append(tuple(sorted({reply[place] for reply in left})))
        left = [reply for reply in left if reply[place] == token and len(reply) > place + 1]
    return tuple(found)


def split_probabilities(odds: Mapping[Tokens, float], sampled: Tokens) -> tuple[tuple[float, ...], ...]:
    """Return, for each sampled token, the probability of each id in `find_continuations`, given the tokens before it.
    `odds` are the probabilities of all replies. After a token that leads to no reply with a probability above 0, all
    probabilities are 0."""
    left, found = odds, []
    for place, token in enumerate(sampled):
        total = math.fsum(left.values())
        share = dict.fromkeys(sorted({reply[place] for reply in left}), 0.0)
        for reply, probability in left.items():
            share[reply[place]] += probability / total if total else 0.0
        found.append(tuple(share.values()))
        left = {reply: p for reply, p in left.items() if reply[place] == token and len(reply) > place + 1}
    return tuple(found)


def _list_legal_moves(ask: Ask) -> list[str]:
    if ask.legal_moves is None:
        raise GymposiumError(
            f"{ask.game.name} takes free text, so it has no legal moves with probabilities. Choose another game."
        )
    return ask.legal_moves


def _make_prompt(player: PromptedModel, ask: Ask) -> Tokens:
    if ask.turn > 0 and player.context.remembers and not Conversation.from_ask(ask).past:
        raise GymposiumError(
            f"{player.name} needs the earlier turns (context={player.context.name}), but the request has none. Use "
            f"context=state."
        )
    prompt = player.prompt(ask)
    if len(prompt) >= player.engine.context:
        raise GymposiumError(
            f"The prompt has {len(prompt)} tokens, but the model's context of {player.engine.context} must also hold "
            f"the reply. Use a shorter context (context=state), the compact prompt or another model."
        )
    return prompt


def _select_fitting_moves(
    player: PromptedModel, ask: Ask, prompt: Tokens, moves: list[str], replies: dict[str, Tokens]
) -> list[str]:
    """Return the moves whose replies are within the player's token limit."""
    space = min(player.sampling.max_tokens, player.engine.context - len(prompt))
    fit = [move for move in moves if len(replies[move]) <= space]
    if not fit:
        raise GymposiumError(
            f"No legal move of {ask.game.name} fits into {quantity(space, 'token')}: the shortest reply has "
            f"{min(len(replies[move]) for move in moves)}. Raise the player's max_tokens, or use a longer context."
        )
    return fit


def _read_move(player: PromptedModel, ask: Ask, completion: Completion) -> str | None:
    """Return the legal move that a completion plays, or None."""
    text, cut_off = player.chat.read(completion.ids), completion.finish_reason == "length"
    reading = read_reply(text, ask.legal_moves, player.reader, ask.game.move_pattern, cut_off=cut_off)
    return reading.move if reading.kind == "move" else None


def _normalize_scores(moves: list[str], scores: list[float | None]) -> MoveDistribution:
    """Make the distribution from the log-probability of each move's reply. None stands for an impossible reply."""
    highest = max(score for score in scores if score is not None)
    weights = [0.0 if score is None else math.exp(score - highest) for score in scores]
    total = math.fsum(weights)
    return MoveDistribution(
        tuple(moves), tuple(weight / total for weight in weights), math.exp(highest) * total, samples=None
    )


def _normalize_counts(moves: list[str], counts: Counter[str | None], samples: int | None) -> MoveDistribution:
    """Make the distribution from the number of replies for each move. None stands for replies without a legal move."""
    legal = sum(counts[move] for move in moves)
    probabilities = tuple(counts[move] / legal if legal else 0.0 for move in moves)
    return MoveDistribution(tuple(moves), probabilities, legal / counts.total(), samples)
