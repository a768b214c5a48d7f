"""Rows: prompts and replies as token streams, with the learning data of each turn.

Nothing is tokenized or cut here. Consecutive turns are in one row as long as each prompt extends the tokens before it.
A turn whose history was rewritten begins a new row (`gymposium_agents.chat.rows`). Each turn is one `Span` of its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from gymposium_agents.chat.rows import TokenRow, token_rows
from gymposium_agents.chat.tokens import TurnTokens

Tokens = tuple[int, ...]


@dataclass(slots=True)
class Span:
    """The sampled tokens of one turn, `ids[start:stop]` of its row, and their learning data."""

    start: int
    stop: int
    engine: tuple[float, ...]
    """Log-probabilities of the tokens at the sampling temperature, as reported by the engine that sampled them."""
    old: tuple[float, ...] = ()
    """Log-probabilities of the tokens by the learner before the update. Empty if the loss does not need them."""
    reference: tuple[float, ...] = ()
    """Log-probabilities of the tokens by the reference policy. Empty without a reference."""
    legal: tuple[Tokens, ...] = ()
    """The ids that would have continued a legal reply at each token (`TurnTokens.legal`). Empty if the player did not
    note them."""
    value: float = 0.0
    """The critic's value of this turn before the update."""
    advantage: float = 0.0
    target: float = 0.0
    """The critic's target value."""
    weight: float = 0.0
    """Weight of each token in the loss. 0 excludes the turn from learning."""

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(slots=True)
class Row:
    """A token stream with the turns sampled in it, in order. All other tokens are prompts."""

    ids: Tokens
    spans: list[Span] = field(default_factory=list)

    @property
    def sampled(self) -> int:
        """Number of sampled tokens."""
        return sum(map(len, self.spans))

    @property
    def prompt(self) -> Tokens:
        """The tokens before the first turn."""
        return self.ids[: self.spans[0].start] if self.spans else self.ids


def make_rows(turns: Sequence[TurnTokens]) -> list[Row]:
    """Convert the turns of one trajectory, in order, to rows. The spans of all rows are the turns, in order.

    Raises `GymposiumError` for a turn without a prompt, or without exactly one log-probability per token."""
    return [Row(row.ids, [*_spans(row, turns)]) for row in token_rows(turns)]


def _spans(row: TokenRow, turns: Sequence[TurnTokens]) -> Iterator[Span]:
    stop = 0
    for turn, tokens in groupby(row.turns):
        start, stop = stop, stop + len([*tokens])
        if turn >= 0:
            yield Span(start, stop, row.logprobs[start:stop], legal=turns[turn].legal)


def described(rows: Sequence[Row]) -> dict[str, Any]:
    """Convert rows to plain data, for the dump of a step."""
    return {
        "rows": [
            {"ids": row.ids, "turns": [{slot: getattr(span, slot) for slot in Span.__slots__} for span in row.spans]}
            for row in rows
        ]
    }
