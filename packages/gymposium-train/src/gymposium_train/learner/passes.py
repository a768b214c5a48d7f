"""Passes of rows through the model, micro-batch by micro-batch: with gradients to learn from, without to look.

Rows that are token for token alike are scored once, whatever numbers they carry; in small games most are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from gymposium_agents.engines.transformers import base_of
from gymposium_train.config import Optimizer
from gymposium_train.learner.critic import ValueHead
from gymposium_train.learner.flat import Flat, flatten, strand_of
from gymposium_train.learner.layouts import LAYOUTS, Strand, microbatches
from gymposium_train.learner.scoring import Scored, score_tokens
from gymposium_train.learner.trunk import Head, Trunk, check_split
from gymposium_train.rows import Row, Tokens

Pair = tuple[Tokens, Tokens]


@dataclass(slots=True)
class Pass:
    """A micro-batch behind its pass, open to gradients."""

    flat: Flat
    scored: Scored
    """At N places."""
    states: Tensor
    """[N, H]: the hidden states that predict them."""

    @property
    def logprobs(self) -> Tensor:
        """[M]: of each sampled token."""
        return self.scored.logprobs[self.flat.place]

    @property
    def reads(self) -> Tensor:
        """[T, H]: the hidden states at which the turns' values are read."""
        return self.states[self.flat.first]


class Passes:
    """A model, how tokens go through it, and how many at once."""

    def __init__(self, model: Any, pad: int, settings: Optimizer, temperature: float) -> None:
        """Raises `GymposiumError` for an architecture that cannot be taken apart."""
        base = base_of(model)
        self.trunk, self.head, self.pad = Trunk(base), Head(base), pad
        check_split(base, self.trunk, self.head)
        self._layout, self._budget, self._temperature = settings.layout, settings.token_budget, temperature

    def rows(
        self, rows: Sequence[Row], *, entropy: bool = False, tokens: bool = True
    ) -> Iterator[tuple[list[Row], Pass]]:
        """Each micro-batch of the rows, at the sampling temperature; without `tokens`, hidden states alone."""
        members: dict[Strand, list[Row]] = {}
        for row in rows:
            members.setdefault(strand_of(row), []).append(row)
        for strands in self._batches([*members]):
            mine = [(row, n) for n, strand in enumerate(strands) for row in members[strand]]
            states = self._states(strands)
            starts = [0, *accumulate(len(strand.places) for strand in strands)]
            flat = flatten([row for row, _ in mine], [n for _, n in mine], starts, states.device)
            scored = self._score(strands, states, self._temperature, entropy=entropy) if tokens else _nothing(states)
            yield [row for row, _ in mine], Pass(flat, scored, states)

    def imitated(self, pairs: Sequence[Pair]) -> Iterator[Tensor]:
        """For each micro-batch, its part of the mean negative log-probability of the pairs' completions, at temperature
        1; the parts add up to it."""
        counts: dict[Strand, int] = {}
        for pair in pairs:
            strand = _completion(pair)
            counts[strand] = counts.get(strand, 0) + 1
        total = sum(len(strand.places) * count for strand, count in counts.items())
        for strands in self._batches([*counts]):
            logprobs = self._score(strands, self._states(strands), 1.0, entropy=False).logprobs
            often = torch.tensor([counts[strand] for strand in strands for _ in strand.places], device=logprobs.device)
            yield -(logprobs * often).sum() / total

    @torch.no_grad()
    def score(self, pairs: Sequence[Pair]) -> list[tuple[float, ...]]:
        """Log-probabilities at temperature 1 of each pair's completion tokens, in order."""
        wanted = [_completion(pair) for pair in pairs]
        found: dict[Strand, tuple[float, ...]] = {}
        for strands in self._batches([*dict.fromkeys(wanted)]):
            logprobs = self._score(strands, self._states(strands), 1.0, entropy=False).logprobs.tolist()
            edges = [0, *accumulate(len(strand.places) for strand in strands)]
            found |= {one: tuple(logprobs[edges[n] : edges[n + 1]]) for n, one in enumerate(strands)}
        return [found[strand] for strand in wanted]

    @torch.no_grad()
    def values_after(self, critic: ValueHead, prompts: Sequence[Tokens]) -> list[float]:
        """What the critic expects at prompts that were never answered."""
        wanted = [Strand(prompt, (len(prompt),)) for prompt in prompts]
        found: dict[Strand, float] = {}
        for strands in self._batches([*dict.fromkeys(wanted)]):
            found |= zip(strands, critic(self._states(strands)).tolist(), strict=True)
        return [found[strand] for strand in wanted]

    def _batches(self, strands: Sequence[Strand]) -> Iterator[list[Strand]]:
        for batch in microbatches(strands, self._budget, self._layout):
            yield [strands[i] for i in batch]

    def _states(self, strands: Sequence[Strand]) -> Tensor:
        return LAYOUTS[self._layout](self.trunk, strands, self.pad)

    def _score(self, strands: Sequence[Strand], states: Tensor, temperature: float, *, entropy: bool) -> Scored:
        tokens = torch.tensor([one.ids[place] for one in strands for place in one.places], device=states.device)
        return score_tokens(self.head, states, tokens, temperature, entropy=entropy)


def _completion(pair: Pair) -> Strand:
    prompt, said = pair
    return Strand(prompt + said, tuple(range(len(prompt), len(prompt) + len(said))))


def _nothing(states: Tensor) -> Scored:
    return Scored(states.new_zeros(len(states)), None)
