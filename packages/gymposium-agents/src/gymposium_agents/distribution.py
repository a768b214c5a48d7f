"""How likely a language model plays each legal move, computed or estimated.

Computed: a move's score is the log-probability of its canonical reply, end of turn included, at the playing
temperature. The *legal-restricted* policy is the softmax of the scores over the legal moves, and the *legal mass* is
the sum of their exponentials: the share of all replies that are the canonical one of a legal move. What is missing
from 1 is illegal or unreadable, or says a legal move in another way (other white space, another tokenization). Only
near 1 is the legal-restricted policy the agent as it plays.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

from gymposium.errors import GymposiumError
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask
from gymposium.reading import Reader, TagsReader, read
from gymposium.streams import stream
from gymposium_agents.chat import Chat
from gymposium_agents.context import Context
from gymposium_agents.conversation import Conversation
from gymposium_agents.engines.protocol import TokenEngine
from gymposium_agents.tokens import Completion, Policy, Sampling, TokenRequest

Tokens = tuple[int, ...]

AT_ONCE = 4096
"""Replies that an estimate asks the engine for in one call: each request has a generator of its own."""


class PromptedModel(Protocol):
    """The parts of a language-model player that decide how likely it plays each move."""

    name: str
    engine: TokenEngine
    chat: Chat
    sampling: Sampling
    reader: Reader
    context: Context
    policy: Policy | None

    def prompt(self, ask: Ask) -> Tokens:
        """The token ids that the model reads at this ask."""
        ...


def may_think(player: PromptedModel) -> bool:
    """Whether the player may write something before its move, so that one move has many replies."""
    return isinstance(player.reader, TagsReader) or player.chat.thinking


def move_distributions(player: PromptedModel, asks: Sequence[Ask]) -> list[MoveDistribution]:
    """The distribution at each ask from the log-probabilities of the canonical replies, from one call of the engine.
    Nothing is remembered of the asks. A reply that is longer than the player's `max_tokens`, or than the context leaves
    room for, cannot be given and counts as impossible.

    At temperature 0 the most likely reply decides: its move has probability 1 and the legal mass is 1, or, where it
    plays none, all are 0.

    Raises `GymposiumError` where a game lists no moves, a prompt leaves no room for a reply, every legal reply is too
    long, or what the player reads depends on a past that the ask does not have."""
    legal, prompts = [_legal(ask) for ask in asks], [_prompt(player, ask) for ask in asks]
    if player.sampling.temperature == 0.0:
        requests = [
            TokenRequest(prompt, stream(ask.seed, "distribution", ask.seat, ask.turn), player.policy)
            for ask, prompt in zip(asks, prompts, strict=True)
        ]
        completions = player.engine.generate(requests, player.sampling) if requests else []
        return [
            _of_counts(moves, Counter([_move(player, ask, completion)]), None)
            for ask, moves, completion in zip(asks, legal, completions, strict=True)
        ]
    replies = {move: player.chat.reply(player.reader.answer(move)) for move in set().union(*legal)}
    pairs = [
        [(prompt, replies[move]) for move in _that_fit(player, ask, prompt, moves, replies)]
        for ask, prompt, moves in zip(asks, prompts, legal, strict=True)
    ]
    together = [*dict.fromkeys(pair for theirs in pairs for pair in theirs)]
    temperature, policy = player.sampling.temperature, player.policy
    scored = player.engine.score(together, temperature=temperature, policy=policy) if together else []
    scores = dict(zip(together, map(math.fsum, scored), strict=True))
    return [
        _of_scores(moves, [scores.get((prompt, replies[move])) for move in moves])
        for prompt, moves in zip(prompts, legal, strict=True)
    ]


def estimate_distributions(player: PromptedModel, asks: Sequence[Ask], samples: int = 256) -> list[MoveDistribution]:
    """The distribution at each ask counted from so many replies, each read as the driver reads it: for a player that
    may think first. Nothing is remembered of the asks; the samples follow from the match's seed, the seat and the turn,
    and are not those that it plays.

    Raises `GymposiumError` where a game lists no moves, a prompt leaves no room for a reply, or what the player reads
    depends on a past that the ask does not have."""
    if samples < 1:
        raise GymposiumError(f"samples={samples}: an estimate needs at least one reply.")
    legal, prompts = [_legal(ask) for ask in asks], [_prompt(player, ask) for ask in asks]

    def wanted() -> Iterator[tuple[int, TokenRequest]]:
        for i, (ask, prompt) in enumerate(zip(asks, prompts, strict=True)):
            for sample in range(samples):
                rng = stream(ask.seed, "distribution", ask.seat, ask.turn, sample)
                yield i, TokenRequest(prompt, rng, player.policy)

    counts: list[Counter[str | None]] = [Counter() for _ in asks]
    waiting = wanted()
    while part := [*islice(waiting, AT_ONCE)]:
        completions = player.engine.generate([request for _, request in part], player.sampling)
        for (i, _), completion in zip(part, completions, strict=True):
            counts[i][_move(player, asks[i], completion)] += 1
    return [_of_counts(moves, count, samples) for moves, count in zip(legal, counts, strict=True)]


def _legal(ask: Ask) -> list[str]:
    moves = ask.legal_moves
    if moves is None:
        raise GymposiumError(f"{ask.game.name} takes free text: it has no legal moves to spread a probability over.")
    return moves


def _prompt(player: PromptedModel, ask: Ask) -> Tokens:
    if ask.turn > 0 and player.context.remembers and not Conversation.of(ask).past:
        raise GymposiumError(
            f"{player.name} reads what was said before (context={player.context.name}), so what it does depends on "
            f"more than the position, and this ask comes without the turns before it. Take context=state."
        )
    prompt = player.prompt(ask)
    if len(prompt) >= player.engine.context:
        raise GymposiumError(
            f"The prompt has {len(prompt)} tokens and the model reads {player.engine.context} with its reply: no room "
            f"to answer. Use a shorter context (context=state), the compact prompt or another model."
        )
    return prompt


def _that_fit(
    player: PromptedModel, ask: Ask, prompt: Tokens, moves: list[str], replies: dict[str, Tokens]
) -> list[str]:
    """The moves whose replies the player has room for."""
    room = min(player.sampling.max_tokens, player.engine.context - len(prompt))
    fit = [move for move in moves if len(replies[move]) <= room]
    if not fit:
        raise GymposiumError(
            f"No legal move of {ask.game.name} fits into {room} tokens: the shortest reply has "
            f"{min(len(replies[move]) for move in moves)}. Give the player more max_tokens, or a longer context."
        )
    return fit


def _move(player: PromptedModel, ask: Ask, completion: Completion) -> str | None:
    """The legal move that a completion plays, or None."""
    text, cut_off = player.chat.read(completion.ids), completion.finish_reason == "length"
    reading = read(text, ask.legal_moves, player.reader, ask.game.move_pattern, cut_off=cut_off)
    return reading.move if reading.kind == "move" else None


def _of_scores(moves: list[str], scores: list[float | None]) -> MoveDistribution:
    """From the log-probability of each move's reply, None where it cannot be given."""
    highest = max(score for score in scores if score is not None)
    weights = [0.0 if score is None else math.exp(score - highest) for score in scores]
    total = math.fsum(weights)
    return MoveDistribution(
        tuple(moves), tuple(weight / total for weight in weights), math.exp(highest) * total, samples=None
    )


def _of_counts(moves: list[str], counts: Counter[str | None], samples: int | None) -> MoveDistribution:
    legal = sum(counts[move] for move in moves)
    probabilities = tuple(counts[move] / legal if legal else 0.0 for move in moves)
    return MoveDistribution(tuple(moves), probabilities, legal / counts.total(), samples)
