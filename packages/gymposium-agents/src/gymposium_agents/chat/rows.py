"""Rows of tokens for a learner: the turns of a trajectory, merged if one continues another.

Nothing is tokenized here. Every id was given to the engine or sampled by it, so a learner trains on exactly the sampled
tokens. The rows work with any trainer that accepts token ids with a mask:

    for row in token_rows([turn.trace for turn in turns]):
        ids, mask, old_logprobs = row.ids, row.mask, row.logprobs
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from gymposium.errors import GymposiumError
from gymposium.util.visible import plural, quantity
from gymposium_agents.chat.tokens import TurnTokens


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A sequence of tokens, with three other values per token. All four tuples have the same length."""

    ids: tuple[int, ...]
    """The token ids."""
    mask: tuple[int, ...]
    """1 for a token that the model sampled, including its end of turn, and 0 for a token of a prompt."""
    logprobs: tuple[float, ...]
    """The log-probability of each sampled token as reported by the engine, in nats. 0.0 where the mask is 0."""
    turns: tuple[int, ...]
    """The index of the token's turn, counted from 0 over all rows. -1 where the mask is 0."""


def make_token_rows(turns: Sequence[TurnTokens]) -> list[TokenRow]:
    """Convert the turns of one seat in one match, in order, to rows. A turn continues the previous turn's row if its
    prompt begins with all tokens of that turn. Otherwise it begins a new row.

    Raises `GymposiumError` for a turn without a prompt, or without exactly one log-probability per sampled token."""
    rows: list[list[int]] = []  # indices of turns
    for index, turn in enumerate(turns):
        ids, logprobs = turn.completion.ids, turn.completion.logprobs
        if not turn.prompt:
            raise GymposiumError(
                f"Turn {index} has no prompt, but a row must begin with a prompt token. Give every turn its prompt."
            )
        if len(ids) != len(logprobs):
            raise GymposiumError(
                f"Turn {index} has {len(ids)} sampled {plural(len(ids), 'token')} but "
                f"{quantity(len(logprobs), 'log-probability', 'log-probabilities')}. Request a "
                f"log-probability for every token from the engine."
            )
        if rows and _continues(turn, turns[index - 1]):
            rows[-1].append(index)
        else:
            rows.append([index])
    return [_make_row(turns, indices) for indices in rows]


def _continues(turn: TurnTokens, before: TurnTokens) -> bool:
    """Return True if a turn's prompt begins with all tokens of the previous turn."""
    read = len(before.prompt)
    end = read + len(before.completion.ids)
    return turn.prompt[:read] == before.prompt and turn.prompt[read:end] == before.completion.ids


def _make_row(turns: Sequence[TurnTokens], indices: Sequence[int]) -> TokenRow:
    """Make the row of these turns. For each turn, append the part of its prompt that is not yet in the row, then its
    completion."""
    ids: list[int] = []
    mask: list[int] = []
    logprobs: list[float] = []
    owners: list[int] = []
    for index in indices:
        prompt, sampled = turns[index].prompt[len(ids) :], turns[index].completion
        ids += chain(prompt, sampled.ids)
        mask += chain([0] * len(prompt), [1] * len(sampled.ids))
        logprobs += chain([0.0] * len(prompt), sampled.logprobs)
        owners += chain([-1] * len(prompt), [index] * len(sampled.ids))
    return TokenRow(tuple(ids), tuple(mask), tuple(logprobs), tuple(owners))
