"""Rows: token streams ready for the learner, and what it knows about each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Row:
    """One turn as the learner sees it: with a state-only context each turn is a row of its own."""

    prompt: tuple[int, ...]
    completion: tuple[int, ...]
    """What was sampled, end of turn included: the ids that are trained on."""
    logprobs: tuple[float, ...]
    """Of the policy that sampled it, one a completion token."""
    advantage: float = 0.0
