"""Forward passes of rows through the model, in micro-batches, with or without gradients.

Rows with the same tokens are scored once, whatever numbers they carry; in small games most rows are equal. With several
processes, each runs its share of the rows, in as many micro-batches as the others.
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
from gymposium_train.learner.layouts import TokenSequence
from gymposium_train.learner.precision import compute_type
from gymposium_train.learner.protocol import Pair
from gymposium_train.learner.scorer import Scorer
from gymposium_train.learner.scoring import Entropy
from gymposium_train.learner.shares import Share, shares
from gymposium_train.learner.token_batch import TokenBatch, sequence_of, token_batch
from gymposium_train.objective.terms import nll
from gymposium_train.parallel.world import Processes
from gymposium_train.rows import Row, Tokens

T = TypeVar("T")


@dataclass(slots=True)
class ForwardResult:
    """The result of the forward pass of one micro-batch, with gradients."""

    batch: TokenBatch
    states: Tensor
    """[N, H]: the hidden states that predict the N scored places."""
    scores: Tensor | None
    """[N]: log-probabilities of the tokens at those places; None if they were not computed."""
    entropy: Tensor | None
    """[N]: entropies in nats of the distributions of those tokens; None if they were not computed."""

    @property
    def logprobs(self) -> Tensor:
        """[M]: the log-probability of each sampled token."""
        assert self.scores is not None
        return self.scores[self.batch.place]

    @property
    def reads(self) -> Tensor:
        """[T, H]: the hidden states from which the critic computes the turns' values."""
        return self.states[self.batch.first]


class ForwardPasses:
    """Runs rows and pairs through a model, in micro-batches of a given size."""

    def __init__(self, model: Any, pad: int, settings: Optimizer, temperature: float, world: Processes) -> None:
        """In a world of several processes, the model's parameters are sharded.

        Raises `GymposiumError` for an architecture that cannot be split into trunk and head."""
        self._scorer = Scorer(model, pad, settings.layout)
        self.dtype: torch.dtype = model.dtype if hasattr(model, "peft_config") else compute_type(settings.precision)
        """The number type in which the model computes; with a LoRA, the type in which it was loaded."""
        self._layout, self._budget, self._temperature = settings.layout, settings.token_budget, temperature
        self._world = world
        if world.size > 1:
            from gymposium_train.parallel.sharding import shard  # seconds to import, for several processes alone

            shard(self._scorer, model, world, self.dtype)

    def rows(
        self, rows: Sequence[Row], *, entropy: Entropy | None = None, tokens: bool = True, frozen: bool = False
    ) -> Iterator[tuple[list[Row], ForwardResult]]:
        """Each micro-batch of this process's share of the rows, at the sampling temperature. `tokens=False` computes
        only hidden states; `frozen=True` computes no gradients."""
        members: dict[TokenSequence, list[Row]] = {}
        for row in rows:
            members.setdefault(sequence_of(row), []).append(row)
        for sequences, real in self._batches([*members]):
            mine = [(row, n) for n, sequence in enumerate(sequences) for row in members[sequence] if real]
            with torch.set_grad_enabled(torch.is_grad_enabled() and not frozen):
                states, scores, entropies = self._scorer(sequences, self._temperature, tokens=tokens, entropy=entropy)
            starts = [0, *accumulate(len(sequence.places) for sequence in sequences)]
            batch = token_batch([row for row, _ in mine], [n for _, n in mine], starts, states.device)
            yield [row for row, _ in mine], ForwardResult(batch, states, scores, entropies)

    def imitated(self, pairs: Sequence[Pair]) -> Iterator[Tensor]:
        """For each micro-batch, its part of the mean negative log-probability of the completions' tokens at temperature
        1. The parts of all micro-batches and processes add up to the mean."""
        counts: dict[TokenSequence, int] = {}
        for pair in pairs:
            sequence = _completion(pair)
            counts[sequence] = counts.get(sequence, 0) + 1
        total = sum(len(sequence.places) * count for sequence, count in counts.items())
        for sequences, real in self._batches([*counts]):
            _, scores, _ = self._scorer(sequences, 1.0)
            often = [counts[sequence] * real for sequence in sequences for _ in sequence.places]
            yield (nll(scores) * torch.tensor(often, device=scores.device)).sum() / total

    @torch.no_grad()
    def score(self, pairs: Sequence[Pair]) -> list[tuple[float, ...]]:
        """Log-probabilities at temperature 1 of each pair's completion tokens, in order."""
        wanted = [_completion(pair) for pair in pairs]
        found: dict[TokenSequence, tuple[float, ...]] = {}
        for sequences, _ in self._batches([*dict.fromkeys(wanted)]):
            logprobs = self._scorer(sequences, 1.0)[1].tolist()
            edges = [0, *accumulate(len(sequence.places) for sequence in sequences)]
            found |= {one: tuple(logprobs[edges[n] : edges[n + 1]]) for n, one in enumerate(sequences)}
        gathered = self._of_all_processes(found)
        return [gathered[sequence] for sequence in wanted]

    @torch.no_grad()
    def values_after(self, critic: ValueHead, prompts: Sequence[Tokens]) -> list[float]:
        """The critic's values of prompts that were never answered."""
        wanted = [TokenSequence(prompt, (len(prompt),)) for prompt in prompts]
        found: dict[TokenSequence, float] = {}
        for sequences, _ in self._batches([*dict.fromkeys(wanted)]):
            states = self._scorer(sequences, 1.0, tokens=False)[0]
            found |= zip(sequences, critic(states).tolist(), strict=True)
        gathered = self._of_all_processes(found)
        return [gathered[sequence] for sequence in wanted]

    def _batches(self, sequences: Sequence[TokenSequence]) -> Iterator[Share]:
        yield from shares(sequences, self._budget, self._layout, self._world)

    def _of_all_processes(self, mine: Mapping[TokenSequence, T]) -> dict[TokenSequence, T]:
        return {sequence: value for part in self._world.all_gather(mine) for sequence, value in part.items()}


def _completion(pair: Pair) -> TokenSequence:
    prompt, said = pair
    return TokenSequence(prompt + said, tuple(range(len(prompt), len(prompt) + len(said))))
