"""Rows: what the model read and said as streams of tokens, and what is known of each turn in them.

Nothing is tokenized or cut here. Turns whose history only grew stand in one row, those whose history was rewritten in
rows of their own (`gymposium_agents.rows`); a turn is one `Span` of its row, wherever that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from gymposium_agents.rows import TokenRow, token_rows
from gymposium_agents.tokens import TurnTokens

Tokens = tuple[int, ...]


@dataclass(slots=True)
class Span:
    """One turn's sampled tokens in a row, `ids[start:stop]`, and what comes to be known of them."""

    start: int
    stop: int
    engine: tuple[float, ...]
    """Log-probabilities of the tokens at the sampling temperature, as the engine that sampled them reported them."""
    old: tuple[float, ...] = ()
    """The same of the policy before the update, as the learner computes them; empty where the loss does not need
    them."""
    reference: tuple[float, ...] = ()
    """The same of the reference policy; empty without one."""
    value: float = 0.0
    """What the critic expected at this turn when the update began."""
    advantage: float = 0.0
    target: float = 0.0
    """What the critic is fitted to."""
    weight: float = 0.0
    """Of each of its tokens in the loss; 0 where it is not learned from."""

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(slots=True)
class Row:
    """A stream of tokens with the turns that were sampled in it, in order. Everything outside them was given."""

    ids: Tokens
    spans: list[Span] = field(default_factory=list)

    @property
    def sampled(self) -> int:
        """Tokens that were sampled."""
        return sum(map(len, self.spans))

    @property
    def prompt(self) -> Tokens:
        """What was given before the first turn."""
        return self.ids[: self.spans[0].start] if self.spans else self.ids


def rows_of(turns: Sequence[TurnTokens]) -> list[Row]:
    """The turns of one trajectory, in order, as rows; over all rows there is one span a turn, in the turns' order.

    Raises `GymposiumError` for a turn without a prompt, or whose log-probabilities are not one for each token."""
    return [_row(row) for row in token_rows(turns)]


def _row(row: TokenRow) -> Row:
    spans = []
    for turn, group in groupby(range(len(row.ids)), key=row.turns.__getitem__):
        if turn >= 0:
            places = [*group]
            start, stop = places[0], places[-1] + 1
            spans.append(Span(start, stop, row.logprobs[start:stop]))
    return Row(row.ids, spans)


def described(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows as plain data, for whoever looks into what was learned from them."""
    return {
        "rows": [
            {"ids": row.ids, "turns": [{slot: getattr(span, slot) for slot in Span.__slots__} for span in row.spans]}
            for row in rows
        ]
    }
