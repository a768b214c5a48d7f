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
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gymposium.errors import GymposiumError
from gymposium.players.protocol import Ask
from gymposium.reading import TagsReader, read
from gymposium.streams import stream
from gymposium_agents.tokens import Completion, TokenRequest

if TYPE_CHECKING:
    from gymposium_agents.player import LanguageModelPlayer

Tokens = tuple[int, ...]

EXACT_FROM = 0.999
"""A legal mass from which the legal-restricted policy may be called the agent's own."""


@dataclass(frozen=True, slots=True)
class MoveDistribution:
    """How likely a player plays each legal move at one ask."""

    moves: tuple[str, ...]
    """The legal moves, in the game's order."""
    probabilities: tuple[float, ...]
    """Of each move, given that a legal one is played: they add up to 1. All are 0 where `legal_mass` is 0 and no legal
    move was seen or can be: a greedy reply that is none, or samples without one."""
    legal_mass: float
    """The share of replies that play a legal move; the rest is what a forfeit or a retry is made of."""
    samples: int | None
    """The replies that an estimate was counted from; None where it was computed from log-probabilities."""

    @property
    def exact(self) -> bool:
        """Whether these are the odds of the agent as it plays: computed, and with next to nothing beside the canonical
        replies of legal moves (a legal mass of 0.999 or more)."""
        return self.samples is None and self.legal_mass >= EXACT_FROM


def may_think(player: LanguageModelPlayer) -> bool:
    """Whether the player may write something before its move, so that one move has many replies."""
    return isinstance(player.reader, TagsReader) or player.chat.thinking


def move_distribution(player: LanguageModelPlayer, ask: Ask) -> MoveDistribution:
    """The distribution from the log-probabilities of the canonical replies. Nothing is remembered of the ask. A reply
    that is longer than the player's `max_tokens`, or than the context leaves room for, cannot be given and counts as
    impossible.

    At temperature 0 the most likely reply decides: its move has probability 1 and the legal mass is 1, or, where it
    plays none, all are 0.

    Raises `GymposiumError` where the game lists no moves, the prompt leaves no room for a reply, or every legal reply
    is too long."""
    moves, prompt = _legal(ask), _prompt(player, ask)
    if player.sampling.temperature == 0.0:
        request = TokenRequest(prompt, stream(ask.seed, "distribution", ask.seat, ask.turn), player.policy)
        (completion,) = player.engine.generate([request], player.sampling)
        return _of_counts(moves, Counter([_move(player, ask, completion)]), None)
    room = min(player.sampling.max_tokens, player.engine.context - len(prompt))
    replies = {move: player.chat.reply(player.reader.answer(move)) for move in moves}
    pairs = {move: (prompt, reply) for move, reply in replies.items() if len(reply) <= room}
    if not pairs:
        raise GymposiumError(
            f"No legal move of {ask.game.name} fits into {room} tokens: the shortest reply has "
            f"{min(map(len, replies.values()))}. Give the player more max_tokens, or a longer context."
        )
    scored = player.engine.score(list(pairs.values()), temperature=player.sampling.temperature, policy=player.policy)
    scores = dict(zip(pairs, map(math.fsum, scored), strict=True))
    highest = max(scores.values())
    weights = [math.exp(scores[move] - highest) if move in scores else 0.0 for move in moves]
    total = math.fsum(weights)
    return MoveDistribution(
        tuple(moves), tuple(weight / total for weight in weights), math.exp(highest) * total, samples=None
    )


def estimate_distribution(player: LanguageModelPlayer, ask: Ask, samples: int = 256) -> MoveDistribution:
    """The distribution counted from so many replies, each read as the driver reads it: for a player that may think
    first. Nothing is remembered of the ask; the samples follow from the match's seed, the seat and the turn, and are
    not those that it plays.

    Raises `GymposiumError` where the game lists no moves or the prompt leaves no room for a reply."""
    if samples < 1:
        raise GymposiumError(f"samples={samples}: an estimate needs at least one reply.")
    moves, prompt = _legal(ask), _prompt(player, ask)
    requests = [
        TokenRequest(prompt, stream(ask.seed, "distribution", ask.seat, ask.turn, i), player.policy)
        for i in range(samples)
    ]
    completions = player.engine.generate(requests, player.sampling)
    return _of_counts(moves, Counter(_move(player, ask, completion) for completion in completions), samples)


def _legal(ask: Ask) -> list[str]:
    moves = ask.legal_moves
    if moves is None:
        raise GymposiumError(f"{ask.game.name} takes free text: it has no legal moves to spread a probability over.")
    return moves


def _prompt(player: LanguageModelPlayer, ask: Ask) -> Tokens:
    prompt = player.prompt(ask)
    if len(prompt) >= player.engine.context:
        raise GymposiumError(
            f"The prompt has {len(prompt)} tokens and the model reads {player.engine.context} with its reply: no room "
            f"to answer. Use a shorter context (context=state), the compact prompt or another model."
        )
    return prompt


def _move(player: LanguageModelPlayer, ask: Ask, completion: Completion) -> str | None:
    """The legal move that a completion plays, or None."""
    text, cut_off = player.chat.read(completion.ids), completion.finish_reason == "length"
    reading = read(text, ask.legal_moves, player.reader, ask.game.move_pattern, cut_off=cut_off)
    return reading.move if reading.kind == "move" else None


def _of_counts(moves: list[str], counts: Counter[str | None], samples: int | None) -> MoveDistribution:
    legal = sum(counts[move] for move in moves)
    probabilities = tuple(counts[move] / legal if legal else 0.0 for move in moves)
    return MoveDistribution(tuple(moves), probabilities, legal / counts.total(), samples)
