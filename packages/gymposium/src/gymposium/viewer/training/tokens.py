"""Streams of tokens as a page shows them: what was given as text, what was sampled token by token."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gymposium.runs.samples import KeptRow, KeptTrajectory, KeptTurn

_LIKELY = (0.99, 0.9, 0.7, 0.5, 0.3, 0.1)
"""A token less likely than the first of these stands out, and the more the less likely it is."""
_APART = (0.001, 0.01, 0.05, 0.2)
"""Nats between two log-probabilities of one token."""
_DESERVED = (0.05, 0.5, 1.0, 2.0)
"""Advantages, up or down."""


@dataclass(frozen=True, slots=True)
class Token:
    """One sampled token. The levels are for colours: 0 is none."""

    piece: str
    logprob: float
    surprise: int
    apart: int
    """How far engine and learner are from each other; 0 where the learner was not asked."""
    away: int
    """How far it is from the reference; 0 without one."""
    words: str
    """All that is known of it, in words."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a stream: text that was given, or a turn's tokens."""

    text: str
    """Of what was given."""
    given: int
    """Tokens that were given."""
    turn: int
    """Of what was sampled: which turn, counted from 0; -1 where it was given."""
    tokens: Sequence[Token]
    deserved: int
    """The level of the turn's advantage, with its sign."""
    learned: bool


def pieces(trajectory: KeptTrajectory) -> Iterator[list[Piece]]:
    """For each row of a trajectory its parts, in order; over all rows the turns are those of the trajectory."""
    turn = 0
    for row in trajectory.rows or ():
        found = []
        at = 0
        for span in row.turns:
            if span.start > at:
                found.append(_given(row, at, span.start))
            found.append(_sampled(row, span, turn, trajectory.advantages[turn]))
            at, turn = span.stop, turn + 1
        if at < len(row.ids):
            found.append(_given(row, at, len(row.ids)))
        yield found


def _given(row: KeptRow, start: int, stop: int) -> Piece:
    return Piece("".join(row.pieces[start:stop]), stop - start, -1, (), 0, learned=False)


def _sampled(row: KeptRow, span: KeptTurn, turn: int, advantage: float) -> Piece:
    tokens = [_token(row, span, n, advantage) for n in range(span.stop - span.start)]
    level = _level(abs(advantage), _DESERVED)
    return Piece("", 0, turn, tokens, level if advantage > 0 else -level, learned=span.weight > 0)


def _token(row: KeptRow, span: KeptTurn, n: int, advantage: float) -> Token:
    place, logprob = span.start + n, span.engine[n]
    likely = math.exp(min(0.0, logprob))
    words = [f"token {row.ids[place]}, probability {likely:.3g}, log-probability {logprob:.4g}"]
    apart = away = 0.0
    if span.old:
        apart = abs(logprob - span.old[n])
        words.append(f"the learner's {span.old[n]:.4g}")
    if span.reference:
        away = abs(logprob - span.reference[n])
        words.append(f"the reference's {span.reference[n]:.4g}")
    words.append(f"advantage {advantage:+.3g}" if span.weight else "not learned from")
    surprise = sum(likely < limit for limit in _LIKELY)
    return Token(row.pieces[place], logprob, surprise, _level(apart, _APART), _level(away, _APART), ", ".join(words))


def _level(value: float, limits: Sequence[float]) -> int:
    return sum(value >= limit for limit in limits)
