"""Forward passes of rows through the model, in micro-batches, with or without gradients.

Rows with the same tokens run once, even if their advantages differ. In small games, most rows are equal. With an
entropy bonus, the legal replies must also be equal, and nearly always are. With several processes, each runs its share
of the rows, and all run the same number of micro-batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from math import fsum
from typing import Any, TypeVar

import torch
from torch import Tensor

from gymposium_train.config import Optimizer
from gymposium_train.config.model import Attention
from gymposium_train.learner.critic import ValueHead
from gymposium_train.learner.devices import find_learning_device
from gymposium_train.learner.parallel.world import Processes
from gymposium_train.learner.protocol import Demonstration, ImitationScore, Pair, group_conversations
from gymposium_train.learner.rows import Row, Span, Tokens, strip_row
from gymposium_train.learner.scorer import PlaceScores, Scorer
from gymposium_train.learner.shares import Share, iterate_shares
from gymposium_train.learner.token_batch import TokenBatch, make_token_batch
from gymposium_train.objective.terms import compute_nll

T = TypeVar("T")


@dataclass(slots=True)
class ForwardResult:
    """The result of the forward pass of one micro-batch, with gradients."""

    batch: TokenBatch
    scored: PlaceScores
    """The model's outputs at the N scored places."""

    @property
    def logprobs(self) -> Tensor:
        """[M]: the log-probability of each sampled token."""
        assert self.scored.logprobs is not None
        return self.scored.logprobs[self.batch.place]

    @property
    def reads(self) -> Tensor:
        """[T, H]: each turn's hidden state, the critic's input."""
        return self.scored.states[self.batch.first]


class ForwardPasses:
    """Forward passes of rows and pairs through a model, in micro-batches of a given size."""

    def __init__(
        self,
        model: Any,
        pad: int,
        settings: Optimizer,
        dtype: torch.dtype,
        attention: Attention,
        temperature: float,
        world: Processes,
        weights: Any | None = None,
        *,
        shards: bool = False,
    ) -> None:
        """`dtype` is the model's number type for computation. With several processes in `world`, the model's parameters
        are sharded if `shards` is True. A model on the `meta` device gets its weights from `weights`, the complete
        model of the first process.

        Raises `GymposiumError` for an architecture that cannot be split into trunk and head, and `BadOption` for an
        attention that the device does not support."""
        layout, empty = settings.rows_layout, any(p.is_meta for p in model.parameters())
        device = find_learning_device() if shards else model.device
        if empty:  # the first process tests what the architecture supports
            if weights is not None:
                whole = Scorer(weights, pad, layout, attention, device=device, dtype=dtype)
                layout, attention = whole.layout, whole.attention
            layout, attention = world.broadcast((layout, attention))
        self._scorer = Scorer(model, pad, layout, attention, device=device, dtype=dtype, check=not empty)
        self._layout, self._budget, self._temperature = self._scorer.layout, settings.tokens_per_pass, temperature
        self._world = world
        self._summing: Any | None = None
        """The sharded model, if it sums its gradients over the processes once per optimizer step. Only a LoRA does: the
        gradients of all weights would need the memory of a whole model."""
        if shards:
            from gymposium_train.learner.parallel.sharding import fill_model, shard_model  # takes seconds to import

            shard_model(self._scorer, model, world, dtype)
            if hasattr(model, "peft_config"):
                self._summing = self._scorer
            if empty:
                fill_model(model, weights, world)

    def rows(
        self,
        rows: Sequence[Row],
        *,
        entropy: bool = False,
        tokens: bool = True,
        frozen: bool = False,
        before_step: bool = False,
    ) -> Iterator[tuple[list[int], ForwardResult]]:
        """Run this process's share of the rows at the sampling temperature. Yields the rows' numbers and the result of
        each micro-batch. `entropy=True` also computes entropies, including those among tokens of legal replies if rows
        name them. `tokens=False` computes only hidden states. `frozen=True` computes no gradients. `before_step=True`
        tells that an optimizer step follows these rows."""
        members: dict[Row, list[int]] = {}
        for number, row in enumerate(rows):
            members.setdefault(strip_row(row, legal=entropy), []).append(number)
        for sequences, real in self._make_batches([*members], before_step=before_step):
            owned = [(number, n) for n, sequence in enumerate(sequences) for number in members[sequence] if real]
            with torch.set_grad_enabled(torch.is_grad_enabled() and not frozen):
                scored = self._scorer(sequences, self._temperature, tokens=tokens, entropy=entropy)
            starts = [0, *accumulate(sequence.sampled for sequence in sequences)]
            numbers, where = [number for number, _ in owned], [n for _, n in owned]
            batch = make_token_batch([rows[number] for number in numbers], where, starts, scored.states.device)
            yield numbers, ForwardResult(batch, scored)

    def imitated(
        self, demonstrations: Sequence[Demonstration | Pair], legality: float
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield each micro-batch's parts of two means over the completions' tokens at temperature 1. The first is the
        negative log-probability, or the cross-entropy with a teacher's distribution. The second adds `legality` times
        the illegality. The parts of all micro-batches and processes add up to the means. An optimizer step follows."""
        counts = Counter(
            _make_demonstration_rows([Demonstration(*one) for one in demonstrations], legal=legality > 0.0)
        )
        total = sum(sequence.sampled * count for sequence, count in counts.items())
        for sequences, real in self._make_batches([*counts], before_step=True):
            scored = self._scorer(sequences, 1.0)
            assert scored.logprobs is not None
            often = [counts[sequence] * real for sequence in sequences for _ in range(sequence.sampled)]
            weights = torch.tensor(often, device=scored.logprobs.device) / total
            loss = compute_nll(scored.logprobs)
            if scored.distillation is not None and scored.is_taught is not None:
                loss = torch.where(scored.is_taught, scored.distillation, loss)
            mean = (loss * weights).sum()
            yield mean, mean if scored.illegality is None else mean + legality * (scored.illegality * weights).sum()

    @torch.no_grad()
    def score(self, pairs: Sequence[Pair], temperature: float = 1.0) -> list[tuple[float, ...]]:
        """Return the log-probabilities at this temperature of each pair's completion tokens, in order."""

        def compute_logprobs(sequences: list[Row]) -> list[tuple[float, ...]]:
            scores = iter(self._scorer(sequences, temperature).logprobs.tolist())
            return [tuple(islice(scores, sequence.sampled)) for sequence in sequences]

        return self._map_batches(map(_make_completion_row, pairs), compute_logprobs)

    @torch.no_grad()
    def validate(self, demonstrations: Sequence[Demonstration]) -> ImitationScore:
        """Return the mean loss over the completions' tokens, and the share of these tokens that are the most likely
        ones."""

        def judge_sequences(sequences: list[Row]) -> list[tuple[float, int]]:
            scored = self._scorer(sequences, 1.0, likeliest=True)
            tokens = zip(compute_nll(scored.logprobs).tolist(), scored.is_likeliest.tolist(), strict=True)
            each = [[*islice(tokens, sequence.sampled)] for sequence in sequences]
            return [(fsum(loss for loss, _ in some), sum(is_likeliest for _, is_likeliest in some)) for some in each]

        wanted = [*_make_demonstration_rows(demonstrations, legal=False)]
        judged, total = self._map_batches(wanted, judge_sequences), sum(sequence.sampled for sequence in wanted)
        return ImitationScore(fsum(loss for loss, _ in judged) / total, sum(count for _, count in judged) / total)

    @torch.no_grad()
    def values_after(self, critic: ValueHead, prompts: Sequence[Tokens]) -> list[float]:
        """Return the critic's values of unanswered prompts."""
        sequences = (Row(prompt, (Span(len(prompt), len(prompt) + 1),)) for prompt in prompts)
        return self._map_batches(
            sequences, lambda batch: critic(self._scorer(batch, 1.0, tokens=False).states).tolist()
        )

    def _map_batches(self, sequences: Iterable[Row], compute: Callable[[list[Row]], list[T]]) -> list[T]:
        """Return a value for each sequence, in order. `compute` gets micro-batches of distinct sequences."""
        wanted = [*sequences]
        mine: dict[Row, T] = {}
        for batch, _ in self._make_batches([*dict.fromkeys(wanted)]):
            mine |= zip(batch, compute(batch), strict=True)
        values = {sequence: value for part in self._world.all_gather(mine) for sequence, value in part.items()}
        return [values[sequence] for sequence in wanted]

    def _make_batches(self, sequences: Sequence[Row], *, before_step: bool = False) -> Iterator[Share]:
        """Yield this process's micro-batches. With `before_step`, the backward pass of the last one sums the gradients
        over the processes, if they are summed once per step."""
        batches = [*iterate_shares(sequences, self._budget, self._layout, self._world)]
        for number, batch in enumerate(batches, start=1):
            if self._summing is not None:
                self._summing.set_requires_gradient_sync(before_step and number == len(batches))
            yield batch


def _make_completion_row(pair: Pair) -> Row:
    [sequence] = _make_demonstration_rows([Demonstration(*pair)], legal=False)
    return sequence


def _make_demonstration_rows(demonstrations: Sequence[Demonstration], *, legal: bool) -> Iterator[Row]:
    """Yield each conversation as a sequence."""
    for conversation in group_conversations(demonstrations):
        last, taught = conversation[-1], any(one.taught for one in conversation)
        noted = taught or (legal and any(any(one.legal) for one in conversation))
        spans = [
            Span(
                len(one.prompt),
                len(one.prompt) + len(one.completion),
                legal=(one.legal or ((),) * len(one.completion)) if noted else (),
                taught=one.taught,
            )
            for one in conversation
        ]
        yield Row(last.prompt + last.completion, tuple(spans))
