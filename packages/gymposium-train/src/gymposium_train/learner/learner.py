"""The learner: rows in, optimizer steps out. It knows nothing of games or episodes.

for each pass over the rows:
    for each minibatch:                      an optimizer step
        for each micro-batch:                what fits into memory
            hidden states -> log-probabilities, entropies, values
            loss = sum of weight x loss of each token
            backward
        clip, step
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gymposium.errors import GymposiumError
from gymposium.streams import stream
from gymposium_agents.engines.transformers import base_of
from gymposium_train.config import Optimizer
from gymposium_train.learner.critic import ValueHead
from gymposium_train.learner.loss import Loss
from gymposium_train.learner.metrics import Metrics
from gymposium_train.learner.minibatches import minibatches
from gymposium_train.learner.passes import Pair, Pass, Passes
from gymposium_train.learner.precision import Masters, learn_in_float32
from gymposium_train.learner.reference import Reference
from gymposium_train.learner.scoring import Entropy
from gymposium_train.learner.stepping import Stepper
from gymposium_train.learner.tensors import gather, put_back
from gymposium_train.objective.mismatch import mismatch_kl
from gymposium_train.parallel.world import ALONE, World
from gymposium_train.rows import Row, Tokens, described

Beside = Iterator[tuple[float, Sequence[Pair]]]
"""For each optimizer step a weight, and what is imitated in it beside what is reinforced."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the terms beside the policy's loss, which change over the steps."""

    entropy: float
    kl: float


class Learner:
    """Holds a model's trainable parameters, the critic's, and their optimizer (AdamW)."""

    def __init__(
        self,
        model: Any,
        pad: int,
        settings: Optimizer,
        *,
        loss: Loss | None = None,
        dumps: Path | None = None,
        world: World = ALONE,
    ) -> None:
        """`loss` says what rows are learned by; a learner that only imitates needs none. Steps whose gradient is not
        finite are described in files under `dumps`. In a `world` of several processes each has a learner of the same
        model, of which it keeps a part, and each is asked the same, in the same order.

        Raises `GymposiumError` where nothing is trainable, or the model cannot be taken apart."""
        self.model, self.settings, self.loss, self.world = model, settings, loss or Loss(), world
        learn_in_float32(model)
        self._passes = Passes(model, pad, settings, self.loss.temperature, world)
        self.named = {name: p for name, p in model.named_parameters() if p.requires_grad}
        """What is trained of the model, by name."""
        self.dtype = self._passes.dtype
        """What the model computes in."""
        self.whole = model
        """The model to be played and saved, with all of its weights."""
        if not self.named:
            raise GymposiumError("The model has no trainable parameters.")
        self._masters = Masters(self.named)
        if world.size == 1 and not hasattr(model, "peft_config"):
            self._masters.compute_in(self.dtype, model)
        self.critic = ValueHead(model, self.loss.critic.scale) if self.loss.critic is not None else None
        self.reference = Reference(self.named) if self.loss.needs_reference else None
        self.policy_version = 0
        """Optimizer steps so far."""
        self._stepper = Stepper(
            self._masters.named,
            {f"critic.{name}": p for name, p in self.critic.named_parameters()} if self.critic else {},
            max_grad_norm=settings.max_grad_norm,
            max_bad_steps=settings.max_bad_steps,
            dumps=dumps if world.leads else None,
        )

    # -- looking

    @torch.no_grad()
    def annotate(self, rows: Sequence[Row]) -> None:
        """Fill in what must be known of each turn before an update, as far as the loss asks for it: the critic's value,
        and the log-probabilities of the policy as it is now and of the reference."""
        known: list[Row] = []
        tokens = self.loss.needs_old
        if tokens or self.critic is not None:
            for some, found in self._passes.rows(rows, tokens=tokens):
                known += some
                spans = [span for row in some for span in row.spans]
                if self.critic is not None:
                    for span, value in zip(spans, self.critic(found.reads).tolist(), strict=True):
                        span.value = value
                if tokens:
                    logprobs = iter(found.logprobs.tolist())
                    for span in spans:
                        span.old = tuple(next(logprobs) for _ in range(len(span)))
        if self.reference is not None:
            with self.reference.answering():
                for some, found in self._passes.rows(rows):
                    known += some
                    logprobs = iter(found.logprobs.tolist())
                    for span in (span for row in some for span in row.spans):
                        span.reference = tuple(next(logprobs) for _ in range(len(span)))
        self._tell_each_other(rows, known)

    def refresh_reference(self) -> None:
        """Let the reference, where there is one, be the policy as it is now."""
        if self.reference is not None:
            self.reference.refresh()

    def values_after(self, prompts: Sequence[Tokens]) -> list[float]:
        """What the critic expects at prompts that were never answered. Only of a learner that has a critic."""
        assert self.critic is not None
        return self._passes.values_after(self.critic, prompts)

    def score(self, pairs: Sequence[Pair]) -> list[tuple[float, ...]]:
        """Log-probabilities at temperature 1 of each pair's completion tokens, in order, computed as an update
        computes them."""
        return self._passes.score(pairs)

    # -- learning

    def update(
        self,
        rows: Sequence[Row],
        *,
        learning_rate: float,
        entropy_weight: float = 0.0,
        kl_weight: float | None = None,
        seed: int = 0,
        policy_learns: bool = True,
        beside: Beside | None = None,
    ) -> dict[str, float]:
        """One step of reinforcement learning: passes over the rows, each in some optimizer steps. Rows carry their
        advantages, and weights that make the loss over all of them a mean. An optimizer step's loss is its minibatch's
        part of that mean times the number of minibatches, so the mean gradient over a pass is that of all rows. Where
        the policy does not learn, the critic alone does. `kl_weight` is that of the loss where it is left out. Returns
        metrics by name."""
        metrics, settings = Metrics(), self.settings
        if kl_weight is None:
            kl_weight = self.loss.kl.weight if self.loss.kl is not None else 0.0
        weights = Weights(entropy_weight, kl_weight)
        turns = sum(len(row.spans) for row in rows)
        entropy: Entropy = "gradient" if policy_learns and entropy_weight > 0.0 else "value"
        for epoch in range(settings.epochs):
            mine = Metrics()
            parts = minibatches(rows, settings.minibatches, stream(seed, "epoch", epoch))
            for number, part in enumerate(parts):
                with self._training():
                    for _, found in self._passes.rows(part, entropy=entropy, frozen=not policy_learns):
                        if epoch == number == 0:
                            _note_start(mine, found, self.loss.proximal(found.flat))
                        loss = self._loss(found, turns, weights, policy_learns, mine)
                        (len(parts) * loss).backward()  # type: ignore[no-untyped-call]
                    if beside is not None:
                        weight, pairs = next(beside)
                        self._imitate(pairs, weight, mine)
                self._step(learning_rate, mine, partial(described, part))
            seen = self._everybodys(mine)
            metrics.take(seen)
            if settings.target_kl is not None and seen.means().get("train/approx_kl", 0.0) > settings.target_kl:
                break
        return metrics.means()

    def imitate(self, pairs: Sequence[Pair], learning_rate: float) -> dict[str, float]:
        """One SFT step: maximise the mean log-probability of the completions' tokens."""
        metrics = Metrics()
        with self._training():
            self._imitate(pairs, 1.0, metrics)
        self._step(learning_rate, metrics, lambda: {"pairs": [[*map(list, pair)] for pair in pairs]})
        return self._everybodys(metrics).means()

    # -- what is kept

    @contextmanager
    def in_float32(self) -> Iterator[None]:
        """Inside the block `whole` holds the weights as they are learned, to be saved; it may else hold them as it
        computes with them, rounded."""
        with self._masters.in_model():
            yield

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Everything of the learner that a checkpoint must hold, tensor by tensor, with names. What several processes
        have in parts is whole, in the first of them."""
        counts = {"policy_version": self.policy_version, "bad_in_a_row": self._stepper.bad_in_a_row}
        return gather(self._stepper, self.reference, counts, self.world)

    def load(self, tensors: Mapping[str, Tensor] | None) -> None:
        """Take up what `tensors` gave, one by one; None in all processes but the first.

        Raises `GymposiumError` where it is another learner's."""
        counts = put_back(tensors, self._stepper, self.reference, self.world)
        self._masters.copy_to_model()
        self.policy_version, self._stepper.bad_in_a_row = counts["policy_version"], counts["bad_in_a_row"]

    # -- inside

    def _loss(self, found: Pass, turns: int, weights: Weights, policy_learns: bool, metrics: Metrics) -> Tensor:
        """A micro-batch's part of the loss; `turns` are those of all rows."""
        terms = []
        if policy_learns:
            terms.append(self.loss.policy(found.flat, found.logprobs, weights.kl, metrics))
        assert found.entropy is not None
        entropy = _entropy(found, found.entropy, metrics)
        if entropy.requires_grad:
            terms.append(-weights.entropy * entropy)
        if self.critic is not None and self.loss.critic is not None:
            alone = self.loss.critic.detached or not policy_learns
            values = self.critic(found.reads.detach() if alone else found.reads)
            terms.append(self.loss.value(found.flat, values, turns, metrics))
        return torch.stack(terms).sum()

    def _imitate(self, pairs: Sequence[Pair], weight: float, metrics: Metrics) -> None:
        """Add the gradient of `weight` times the mean negative log-probability of the pairs' tokens, and note
        the mean."""
        total = 0.0
        for loss in self._passes.imitated(pairs):
            (weight * loss).backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        metrics.add("train/sft_loss", total, 1.0 / self.world.size)

    @contextmanager
    def _training(self) -> Iterator[None]:
        """Gradients begin at nothing, and are computed as the settings say. An engine may share the model: outside of
        this it stands as it was."""
        self._stepper.zero()
        if not self.settings.checkpointing:
            yield
            return
        base = base_of(self.model)
        base.activation_checkpointing_enable({"use_reentrant": False})
        # transformers looks at each layer's own mode; what is inside of it stays as it is, so that nothing is dropped
        layers = [module for module in base.modules() if getattr(module, "gradient_checkpointing", False)]
        modes = [layer.training for layer in layers]
        for layer in layers:
            layer.training = True
        try:
            yield
        finally:
            base.activation_checkpointing_disable()
            for layer, mode in zip(layers, modes, strict=True):
                layer.training = mode

    def _step(self, learning_rate: float, metrics: Metrics, what: Callable[[], dict[str, Any]]) -> None:
        rates = [learning_rate]
        if self.loss.critic is not None:  # the same schedule from another height
            rates.append(self.loss.critic.learning_rate * learning_rate / self.settings.learning_rate)
        if self.critic is not None:  # it is whole everywhere; the model's gradients are summed where they are made
            self.world.add_up(p.grad for p in self.critic.parameters() if p.grad is not None)
        norm, stepped = self._stepper.step(rates, what)
        if math.isfinite(norm):
            metrics.add("train/grad_norm", norm)
        metrics.add("train/skipped", float(not stepped))
        if stepped:
            self._masters.copy_to_model()
        self.policy_version += stepped

    def _everybodys(self, mine: Metrics) -> Metrics:
        """What all processes have seen."""
        seen = Metrics()
        for metrics in self.world.gathered(mine):
            seen.take(metrics)
        return seen

    def _tell_each_other(self, rows: Sequence[Row], known: Sequence[Row]) -> None:
        """Each process has looked at the rows in `known`, and all are to know of all."""
        if self.world.size == 1:
            return
        places = {id(row): n for n, row in enumerate(rows)}
        mine = {places[id(row)]: row.spans for row in known}
        for theirs in self.world.gathered(mine):
            for n, spans in theirs.items():
                rows[n].spans = spans


def _entropy(found: Pass, entropy: Tensor, metrics: Metrics) -> Tensor:
    """The mean entropy of the distributions that tokens were drawn from, each token as heavy as in the loss."""
    flat = found.flat
    weights = torch.zeros_like(entropy).index_add(0, flat.place, flat.weights)
    total = (entropy * weights).sum()
    metrics.add("train/entropy", total.item(), float(flat.weights.sum()))
    return total


@torch.no_grad()
def _note_start(metrics: Metrics, found: Pass, old: Tensor) -> None:
    """Note how far the learner's log-probabilities are from the engine's, and from those that ratios are taken against,
    before the first optimizer step."""
    logprobs, flat = found.logprobs, found.flat
    metrics.add("train/mismatch_kl", float(mismatch_kl(logprobs, flat.engine).sum()), len(logprobs))
    if len(logprobs):
        metrics.peak("train/first_log_ratio", float((logprobs - old).abs().max()))
