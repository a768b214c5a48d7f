"""Rows: prompts and replies as token streams, with the learning data of each turn. No row changes after it is built.

Nothing is tokenized or cut here. Consecutive turns are in one row as long as each prompt extends the tokens before it.
A turn whose history was rewritten begins a new row (`gymposium_agents.chat.rows`). Each turn is one `Span` of its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from typing import Any

from gymposium_agents.chat.rows import TokenRow, make_token_rows
from gymposium_agents.chat.tokens import TurnTokens

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """The sampled tokens of one turn, `ids[start:stop]` of its row, and their learning data."""

    start: int
    stop: int
    engine: tuple[float, ...] = ()
    """Log-probabilities of the tokens at the sampling temperature, as reported by the engine that sampled them. Empty
    if no engine sampled them."""
    old: tuple[float, ...] = ()
    """Log-probabilities of the tokens under the learner's policy before the update. Empty if the loss does not need
    them."""
    reference: tuple[float, ...] = ()
    """Log-probabilities of the tokens under the reference policy. Empty without a reference."""
    legal: tuple[Tokens, ...] = ()
    """The ids that would have continued a legal reply at each token (`TurnTokens.legal`). Empty if the player did not
    note them."""
    taught: tuple[tuple[float, ...], ...] = ()
    """A teacher's probabilities of the ids in `legal`. Empty without a teacher."""
    value: float = 0.0
    """The critic's value of this turn before the update."""
    advantage: float = 0.0
    token_advantages: tuple[float, ...] = ()
    """Added to the advantage at each token. Empty if all are 0."""
    target: float = 0.0
    """The critic's target value."""
    weight: float = 0.0
    """Weight of each token in the loss. 0 excludes the turn from learning."""

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Row:
    """A token stream with the turns sampled in it, in order. All other tokens are prompts. A single span may also begin
    after the last token, to predict what comes next."""

    ids: Tokens
    spans: tuple[Span, ...] = ()

    @property
    def sampled(self) -> int:
        """Number of sampled tokens."""
        return sum(map(len, self.spans))

    @property
    def places(self) -> list[int]:
        """The indices of the sampled tokens."""
        return [*chain.from_iterable(range(span.start, span.stop) for span in self.spans)]

    @property
    def legal(self) -> list[Tokens]:
        """The ids that would have continued a legal reply at each place. Empty if no turn names them."""
        return [*chain.from_iterable(span.legal for span in self.spans)]

    @property
    def taught(self) -> list[tuple[float, ...]]:
        """A teacher's probabilities of the ids in `legal` at each place, or () in turns without them. Empty if no turn
        has them."""
        if not any(span.taught for span in self.spans):
            return []
        return [*chain.from_iterable(span.taught or ((),) * len(span) for span in self.spans)]

    @property
    def prompt(self) -> Tokens:
        """The tokens before the first turn."""
        return self.ids[: self.spans[0].start] if self.spans else self.ids


def make_rows(turns: Sequence[TurnTokens]) -> list[Row]:
    """Convert the turns of one trajectory, in order, to rows. The spans of all rows are the turns, in order.

    Raises `GymposiumError` for a turn without a prompt, or without exactly one log-probability per token."""
    return [Row(row.ids, tuple(_make_spans(row, turns))) for row in make_token_rows(turns)]


def _make_spans(row: TokenRow, turns: Sequence[TurnTokens]) -> Iterator[Span]:
    stop = 0
    for turn, tokens in groupby(row.turns):
        start, stop = stop, stop + len([*tokens])
        if turn >= 0:
            noted = turns[turn]
            yield Span(start, stop, row.logprobs[start:stop], legal=noted.legal, taught=noted.taught)


def strip_row(row: Row, *, legal: bool = False) -> Row:
    """Return the tokens and the places of a row without its learning data. With `legal`, keep the ids that continue a
    legal reply if every turn has them, and a teacher's probabilities of these ids."""
    if not (legal and all(span.legal for span in row.spans)):
        return Row(row.ids, tuple(Span(span.start, span.stop) for span in row.spans))
    return Row(row.ids, tuple(Span(span.start, span.stop, legal=span.legal, taught=span.taught) for span in row.spans))


def fill_spans(rows: Sequence[Row], **columns: Iterable[Any]) -> list[Row]:
    """Return the rows with new values for some fields of their spans. Each column has one value per span, in order over
    all rows."""
    spans = (span for row in rows for span in row.spans)
    turns = zip(spans, *columns.values(), strict=True)
    filled = iter([replace(span, **dict(zip(columns, values))) for span, *values in turns])
    return [Row(row.ids, tuple(islice(filled, len(row.spans)))) for row in rows]


def split_tokens(rows: Iterable[Row], values: Iterable[float]) -> list[tuple[float, ...]]:
    """Split values for all sampled tokens into one part per span, in order."""
    each = iter(values)
    return [tuple(islice(each, len(span))) for row in rows for span in row.spans]


def describe_rows(rows: Sequence[Row]) -> dict[str, Any]:
    """Convert rows to plain data, for the dump of a step."""
    return {
        "rows": [
            {"ids": row.ids, "turns": [{slot: getattr(span, slot) for slot in Span.__slots__} for span in row.spans]}
            for row in rows
        ]
    }
