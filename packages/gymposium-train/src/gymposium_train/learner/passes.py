"""Passes of rows through the model, micro-batch by micro-batch: with gradients to learn from, without to look.

Rows that are token for token alike are scored once, whatever numbers they carry; in small games most are. Where several
processes learn together, each runs its share, in as many micro-batches as the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

import torch
from torch import Tensor

from gymposium_train.config import Optimizer
from gymposium_train.learner.critic import ValueHead
from gymposium_train.learner.flat import Flat, flatten, strand_of
from gymposium_train.learner.layouts import Strand
from gymposium_train.learner.precision import compute_type
from gymposium_train.learner.scorer import Scorer
from gymposium_train.learner.scoring import Entropy
from gymposium_train.learner.shares import Share, shares
from gymposium_train.objective.terms import nll
from gymposium_train.parallel.world import World
from gymposium_train.rows import Row, Tokens

T = TypeVar("T")

Pair = tuple[Tokens, Tokens]


@dataclass(slots=True)
class Pass:
    """A micro-batch behind its pass, open to gradients."""

    flat: Flat
    states: Tensor
    """[N, H]: the hidden states that predict the N scored places."""
    scores: Tensor | None
    """[N]: log-probabilities of the tokens there; None where nobody asked."""
    entropy: Tensor | None
    """[N]: of the distributions that they were drawn from, in nats; None where nobody asked."""

    @property
    def logprobs(self) -> Tensor:
        """[M]: of each sampled token."""
        assert self.scores is not None
        return self.scores[self.flat.place]

    @property
    def reads(self) -> Tensor:
        """[T, H]: the hidden states at which the turns' values are read."""
        return self.states[self.flat.first]


class Passes:
    """A model, how tokens go through it, and how many at once."""

    def __init__(self, model: Any, pad: int, settings: Optimizer, temperature: float, world: World) -> None:
        """With a world of several processes, the model's parameters are sharded.

        Raises `GymposiumError` for an architecture that cannot be taken apart."""
        self._scorer = Scorer(model, pad, settings.layout)
        self.dtype: torch.dtype = model.dtype if hasattr(model, "peft_config") else compute_type(settings.precision)
        """What the model is to compute in; beneath a LoRA, the type that it was loaded in."""
        self._layout, self._budget, self._temperature = settings.layout, settings.token_budget, temperature
        self._world = world
        if world.size > 1:
            from gymposium_train.parallel.sharding import shard  # seconds to import, for several processes alone

            shard(self._scorer, model, world, self.dtype)

    def rows(
        self, rows: Sequence[Row], *, entropy: Entropy | None = None, tokens: bool = True, frozen: bool = False
    ) -> Iterator[tuple[list[Row], Pass]]:
        """Each micro-batch of this process's share of the rows, at the sampling temperature; without `tokens`, hidden
        states alone; `frozen`, without gradients."""
        members: dict[Strand, list[Row]] = {}
        for row in rows:
            members.setdefault(strand_of(row), []).append(row)
        for strands, real in self._batches([*members]):
            mine = [(row, n) for n, strand in enumerate(strands) for row in members[strand] if real]
            with torch.set_grad_enabled(torch.is_grad_enabled() and not frozen):
                states, scores, entropies = self._scorer(strands, self._temperature, tokens=tokens, entropy=entropy)
            starts = [0, *accumulate(len(strand.places) for strand in strands)]
            flat = flatten([row for row, _ in mine], [n for _, n in mine], starts, states.device)
            yield [row for row, _ in mine], Pass(flat, states, scores, entropies)

    def imitated(self, pairs: Sequence[Pair]) -> Iterator[Tensor]:
        """For each micro-batch, its part of the mean negative log-probability of the pairs' completions, at temperature
        1; the parts of all processes add up to it."""
        counts: dict[Strand, int] = {}
        for pair in pairs:
            strand = _completion(pair)
            counts[strand] = counts.get(strand, 0) + 1
        total = sum(len(strand.places) * count for strand, count in counts.items())
        for strands, real in self._batches([*counts]):
            _, scores, _ = self._scorer(strands, 1.0)
            often = [counts[strand] * real for strand in strands for _ in strand.places]
            yield (nll(scores) * torch.tensor(often, device=scores.device)).sum() / total

    @torch.no_grad()
    def score(self, pairs: Sequence[Pair]) -> list[tuple[float, ...]]:
        """Log-probabilities at temperature 1 of each pair's completion tokens, in order."""
        wanted = [_completion(pair) for pair in pairs]
        found: dict[Strand, tuple[float, ...]] = {}
        for strands, _ in self._batches([*dict.fromkeys(wanted)]):
            logprobs = self._scorer(strands, 1.0)[1].tolist()
            edges = [0, *accumulate(len(strand.places) for strand in strands)]
            found |= {one: tuple(logprobs[edges[n] : edges[n + 1]]) for n, one in enumerate(strands)}
        everybodys = self._everybodys(found)
        return [everybodys[strand] for strand in wanted]

    @torch.no_grad()
    def values_after(self, critic: ValueHead, prompts: Sequence[Tokens]) -> list[float]:
        """What the critic expects at prompts that were never answered."""
        wanted = [Strand(prompt, (len(prompt),)) for prompt in prompts]
        found: dict[Strand, float] = {}
        for strands, _ in self._batches([*dict.fromkeys(wanted)]):
            states = self._scorer(strands, 1.0, tokens=False)[0]
            found |= zip(strands, critic(states).tolist(), strict=True)
        everybodys = self._everybodys(found)
        return [everybodys[strand] for strand in wanted]

    def _batches(self, strands: Sequence[Strand]) -> Iterator[Share]:
        yield from shares(strands, self._budget, self._layout, self._world)

    def _everybodys(self, found: Mapping[Strand, T]) -> dict[Strand, T]:
        return {strand: value for one in self._world.gathered(found) for strand, value in one.items()}


def _completion(pair: Pair) -> Strand:
    prompt, said = pair
    return Strand(prompt + said, tuple(range(len(prompt), len(prompt) + len(said))))
