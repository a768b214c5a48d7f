"""Rows of tokens for a learner: the turns of a trajectory, merged where one continues the other.

Nothing is tokenized here. Every id is one that the engine was given or sampled, so what is trained on is
what was sampled. The rows fit any trainer that takes token ids with a mask:

    for row in token_rows([turn.trace for turn in turns]):
        ids, mask, old_logprobs = row.ids, row.mask, row.logprobs
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from gymposium.errors import GymposiumError
from gymposium_agents.tokens import TurnTokens


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A stream of tokens with four values each; all four tuples are of the same length."""

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    """1 exactly where the model sampled the token (its end of turn too), 0 where it was given."""
    logprobs: tuple[float, ...]
    """Of the sampled tokens, as the engine reported them; 0.0 where the mask is 0."""
    turns: tuple[int, ...]
    """Which of the turns sampled the token, counted from 0 over all rows; -1 where the mask is 0."""


def token_rows(turns: Sequence[TurnTokens]) -> list[TokenRow]:
    """The turns of one seat in one match, in order, as rows. A turn whose prompt begins with all tokens of the turn
    before continues its row; any other begins a row of its own (the history was rewritten, or there is none).

    Raises `GymposiumError` for a turn without a prompt, or whose log-probabilities are not one for each token."""
    rows: list[list[int]] = []  # indices of turns
    for index, turn in enumerate(turns):
        _check(index, turn)
        if rows and _continues(turn, turns[index - 1]):
            rows[-1].append(index)
        else:
            rows.append([index])
    return [_row(turns, indices) for indices in rows]


def _check(index: int, turn: TurnTokens) -> None:
    ids, logprobs = turn.completion.ids, turn.completion.logprobs
    if not turn.prompt:
        raise GymposiumError(
            f"Turn {index} has no prompt: the first token of a row must be one that the model was given."
        )
    if len(ids) != len(logprobs):
        raise GymposiumError(
            f"Turn {index} has {len(ids)} sampled tokens and {len(logprobs)} log-probabilities. Ask the engine for the "
            "log-probability of every token that it samples."
        )


def _continues(turn: TurnTokens, before: TurnTokens) -> bool:
    read = len(before.prompt)
    end = read + len(before.completion.ids)
    return turn.prompt[:read] == before.prompt and turn.prompt[read:end] == before.completion.ids


def _row(turns: Sequence[TurnTokens], indices: Sequence[int]) -> TokenRow:
    # Each turn's prompt without what is in the row already, then what was sampled.
    ids: list[int] = []
    mask: list[int] = []
    logprobs: list[float] = []
    owner: list[int] = []
    for index in indices:
        given, sampled = turns[index].prompt[len(ids) :], turns[index].completion
        ids += chain(given, sampled.ids)
        mask += chain([0] * len(given), [1] * len(sampled.ids))
        logprobs += chain([0.0] * len(given), sampled.logprobs)
        owner += chain([-1] * len(given), [index] * len(sampled.ids))
    return TokenRow(tuple(ids), tuple(mask), tuple(logprobs), tuple(owner))
