"""Token streams for display: prompts as text, sampled parts token by token."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gymposium.runs.samples import SampledRow, SampledTrajectory, SampledTurn

_LIKELY = (0.99, 0.9, 0.7, 0.5, 0.3, 0.1)
"""Thresholds on the probability of a sampled token. Below each one, its color is one level stronger."""
_APART = (0.001, 0.01, 0.05, 0.2)
"""Thresholds on the difference between two log-probabilities of a token, in nats. Each one adds a color level."""
_DESERVED = (0.05, 0.5, 1.0, 2.0)
"""Thresholds on the absolute advantage. Each one adds a color level."""


@dataclass(frozen=True, slots=True)
class Token:
    """One sampled token, with its color levels; level 0 is no color."""

    piece: str
    surprise: int
    """Color level for an improbable token."""
    apart: int
    """Color level for the difference between engine and learner; 0 without the learner's log-probability."""
    away: int
    """Color level for the difference from the reference policy; 0 without one."""
    words: str
    """Description of all figures for the token."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a stream: input text, or the sampled tokens of a turn."""

    text: str
    """The input text; empty if the part was sampled."""
    given: int
    """Number of input tokens."""
    turn: int
    """Number of the sampled turn, counted from 0; -1 for input text."""
    tokens: Sequence[Token]
    """The sampled tokens."""
    deserved: int
    """Color level of the turn's advantage, with its sign."""
    learned: bool
    """True if the turn has a weight in the loss."""


def make_pieces(trajectory: SampledTrajectory) -> Iterator[list[Piece]]:
    """Yield the pieces of each row of a trajectory, in order. Turns are counted over all rows."""
    turn = 0
    for row in trajectory.rows or ():
        parts, at = [], 0
        for span in row.turns:
            if span.start > at:
                parts.append(_make_given_piece(row, at, span.start))
            parts.append(_make_sampled_piece(row, span, turn, trajectory.advantages[turn]))
            at, turn = span.stop, turn + 1
        if at < len(row.ids):
            parts.append(_make_given_piece(row, at, len(row.ids)))
        yield parts


def make_tokens(pieces: Sequence[str], ids: Sequence[int], logprobs: Sequence[float]) -> list[Token]:
    """Return sampled tokens from their ids and log-probabilities alone. Raises `ValueError` if their lengths differ."""
    return [
        Token(piece, _find_surprise_level(logprob), 0, 0, _format_likelihood(token, logprob))
        for piece, token, logprob in zip(pieces, ids, logprobs, strict=True)
    ]


def _make_given_piece(row: SampledRow, start: int, stop: int) -> Piece:
    return Piece("".join(row.pieces[start:stop]), stop - start, -1, (), 0, learned=False)


def _make_sampled_piece(row: SampledRow, span: SampledTurn, turn: int, advantage: float) -> Piece:
    tokens = [_make_token(row, span, n, advantage) for n in range(span.stop - span.start)]
    level = _find_level(abs(advantage), _DESERVED)
    return Piece("", 0, turn, tokens, level if advantage > 0 else -level, learned=span.weight > 0)


def _make_token(row: SampledRow, span: SampledTurn, n: int, advantage: float) -> Token:
    place, logprob = span.start + n, span.engine[n]
    figures = [_format_likelihood(row.ids[place], logprob)]
    apart = away = 0.0
    if span.old:
        apart = abs(logprob - span.old[n])
        figures.append(f"the learner's {span.old[n]:.4g}")
    if span.reference:
        away = abs(logprob - span.reference[n])
        figures.append(f"the reference's {span.reference[n]:.4g}")
    figures.append(f"advantage {advantage:+.3g}" if span.weight else "not learned from")
    return Token(
        row.pieces[place],
        _find_surprise_level(logprob),
        _find_level(apart, _APART),
        _find_level(away, _APART),
        ", ".join(figures),
    )


def _format_likelihood(token: int, logprob: float) -> str:
    return f"token {token}, probability {_to_probability(logprob):.3g}, log-probability {logprob:.4g}"


def _find_surprise_level(logprob: float) -> int:
    return sum(_to_probability(logprob) < limit for limit in _LIKELY)


def _to_probability(logprob: float) -> float:
    return math.exp(min(0.0, logprob))


def _find_level(value: float, limits: Sequence[float]) -> int:
    return sum(value >= limit for limit in limits)
