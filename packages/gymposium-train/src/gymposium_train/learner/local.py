"""The learner of one process: the methods of `Learner` for a model in memory. An update:

for each pass over the rows:
    for each minibatch:                      an optimizer step
        for each micro-batch:                a forward pass of at most `token_budget` tokens
            hidden states -> log-probabilities, entropies, values
            loss = sum of weight x loss over tokens
            backward
        clip, step
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gymposium.errors import BadOption, GymposiumError
from gymposium.util.streams import stream
from gymposium_agents.engines.transformers import unwrap_peft
from gymposium_agents.lora.saving import save_lora
from gymposium_train.config import Optimizer
from gymposium_train.config.model import Attention
from gymposium_train.learner.checkpointing import use_checkpointing
from gymposium_train.learner.critic import ValueHead
from gymposium_train.learner.forward import ForwardPasses, ForwardResult
from gymposium_train.learner.loss import Loss
from gymposium_train.learner.metrics import Metrics
from gymposium_train.learner.minibatches import make_minibatches
from gymposium_train.learner.parallel.world import ALONE, Processes
from gymposium_train.learner.precision import MasterWeights, choose_compute_type, compute_tolerance, convert_to_float32
from gymposium_train.learner.protocol import AuxiliarySft, Demonstration, ImitationScore, Pair
from gymposium_train.learner.reference import Reference
from gymposium_train.learner.rows import Row, Tokens, describe_rows, fill_spans, split_tokens
from gymposium_train.learner.stepping import Stepper
from gymposium_train.learner.tensor_files import read_tensors, write_tensors
from gymposium_train.learner.tensors import gather_state, restore_state


def _find_trained(model: Any) -> dict[str, torch.nn.Parameter]:
    """Return a model's trained parameters by name. Raises `GymposiumError` if it has none."""
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not trained:
        raise GymposiumError(
            f"{type(model).__name__} has no trainable parameters. Set requires_grad on those to train."
        )
    return trained


class LocalLearner:
    """A `Learner` that holds a model, its critic and their optimizer (AdamW)."""

    def __init__(
        self,
        model: Any,
        pad: int,
        settings: Optimizer,
        *,
        attention: Attention = "auto",
        loss: Loss | None = None,
        dumps: Path | None = None,
        world: Processes = ALONE,
        weights: Any | None = None,
    ) -> None:
        """A learner that only imitates needs no `loss`. Steps with a non-finite gradient are described in files in
        `dumps`.

        In a `world` of several processes, each process makes a learner of the same model. All processes call the same
        methods in the same order (`gymposium_train.learner.distributed`). With `settings.parallel=replicate`, each
        holds the whole model. Otherwise, each keeps a part of it. The model may then be on torch's `meta` device,
        without weights. Each process gets its part of `weights`, the complete model of the first process, so no other
        process ever holds the whole model.

        Raises `GymposiumError` if no parameter is trainable, or if the model cannot be split into trunk and head.
        Raises `BadOption` for a layout that several processes cannot use, and for an attention that the device does not
        support."""
        if world.size > 1 and settings.rows_layout == "shared":
            raise BadOption(
                "optimizer.layout = shared: several processes must run the model equally often, but with this "
                "layout, that depends on the common prefixes in a process's rows. Set layout=packed."
            )
        self.model, self.settings, self.loss, self.world = model, settings, loss or Loss(), world
        convert_to_float32(model)
        self.dtype: torch.dtype = (
            model.dtype if hasattr(model, "peft_config") else choose_compute_type(settings.precision)
        )
        """The model's number type for computation. With a LoRA, the type it was loaded in."""
        self.tolerance = compute_tolerance(model, self.dtype)
        masters = MasterWeights(_find_trained(model))
        self.is_sharded = world.size > 1 and settings.parallel != "replicate"
        """Whether this process holds a part of the model."""
        if not self.is_sharded:  # before the passes, which choose the attention for this type
            masters.compute_in(self.dtype, model)
        temperature, shards = self.loss.temperature, self.is_sharded
        self._passes = ForwardPasses(
            model, pad, settings, self.dtype, attention, temperature, world, weights, shards=shards
        )
        self.named = _find_trained(model)
        """The trained parameters, by name. In a sharded model, this process's shards."""
        self._masters = MasterWeights(self.named) if self.is_sharded else masters
        self.critic = ValueHead(model, self.loss.critic.unit) if self.loss.critic is not None else None
        averaged = self.loss.kl is not None and self.loss.kl.averages_weights
        copied = self._masters.named if averaged else self.named
        self.reference = Reference(self.named, copied) if self.loss.needs_reference else None
        self.policy_version = 0
        self._stepper = Stepper(
            self._masters.named,
            {f"critic.{name}": p for name, p in self.critic.named_parameters()} if self.critic else {},
            settings,
            dumps if world.leads else None,
        )

    @torch.no_grad()
    def annotate(self, rows: Sequence[Row]) -> list[Row]:
        annotated = [*rows]
        mine: set[int] = set()  # the rows that this process annotates

        def fill_columns(numbers: list[int], **columns: Sequence[Any]) -> None:
            mine.update(numbers)
            filled = fill_spans([annotated[n] for n in numbers], **columns)
            for n, row in zip(numbers, filled, strict=True):
                annotated[n] = row

        tokens = self.loss.needs_old
        if tokens or self.critic is not None:
            for numbers, result in self._passes.rows(rows, tokens=tokens):
                if self.critic is not None:
                    fill_columns(numbers, value=self.critic(result.reads).tolist())
                if tokens:
                    fill_columns(numbers, old=split_tokens([rows[n] for n in numbers], result.logprobs.tolist()))
        if self.reference is not None:
            with self.reference.answering():
                for numbers, result in self._passes.rows(rows):
                    fill_columns(numbers, reference=split_tokens([rows[n] for n in numbers], result.logprobs.tolist()))
        for of_process in self.world.all_gather({n: annotated[n] for n in mine}):
            for n, row in of_process.items():
                annotated[n] = row
        return annotated

    def refresh_reference(self, share: float = 1.0) -> None:
        if self.reference is not None:
            self.reference.refresh(share)

    def values_after(self, prompts: Sequence[Tokens]) -> list[float]:
        assert self.critic is not None
        return self._passes.values_after(self.critic, prompts)

    def score(self, pairs: Sequence[Pair], temperature: float = 1.0) -> list[tuple[float, ...]]:
        return self._passes.score(pairs, temperature)

    def update(
        self,
        rows: Sequence[Row],
        *,
        learning_rate: float,
        entropy_weight: float = 0.0,
        kl_weight: float | None = None,
        distillation_weight: float = 0.0,
        seed: int = 0,
        policy_learns: bool = True,
        auxiliary_sft: AuxiliarySft | None = None,
    ) -> dict[str, float]:
        metrics, steps, settings = Metrics(), Metrics(), self.settings
        if kl_weight is None:
            kl_weight = self.loss.kl.weight if self.loss.kl is not None else 0.0
        turns = sum(len(row.spans) for row in rows)
        if entropy_weight > 0.0 and not all(span.legal for row in rows for span in row.spans):
            raise BadOption(
                "The entropy bonus covers each turn's legal replies, but some turns do not name them. Use players "
                "with note_legal=True, set TurnTokens.legal in your own turns, or set entropy_weight=0."
            )
        for first, batches, batch in self._iterate_batches(rows, seed):
            mine = Metrics()
            with self._accumulate_gradients():
                imitates = auxiliary_sft is not None and policy_learns
                passes = self._passes.rows(batch, entropy=True, frozen=not policy_learns, before_step=not imitates)
                for _, result in passes:
                    if first:
                        self.loss.note_start(result.batch, result.logprobs, mine)
                    loss = self._compute_loss(
                        result, turns, entropy_weight, kl_weight, distillation_weight, policy_learns, mine
                    )
                    (batches * loss).backward()  # type: ignore[no-untyped-call]
                if imitates:
                    assert auxiliary_sft is not None
                    weight, demonstrations = next(auxiliary_sft)
                    self._add_imitation_gradient(demonstrations, weight, mine)
            of_batch = self._merge_metrics(mine)
            metrics.take(of_batch)
            moved = of_batch.means().get("train/approx_kl", 0.0)
            if not first and 0.0 < settings.target_kl < moved:
                break
            self._take_step(learning_rate, steps, partial(describe_rows, batch))
        metrics.take(self._merge_metrics(steps))
        return metrics.means()

    def _iterate_batches(self, rows: Sequence[Row], seed: int) -> Iterator[tuple[bool, int, list[Row]]]:
        """Yield the minibatches of all passes over the rows. Each comes with the number of minibatches in its pass, and
        with whether it is the very first."""
        for epoch in range(self.settings.epochs):
            batches = make_minibatches(rows, self.settings.minibatches, stream(seed, "epoch", epoch))
            for number, batch in enumerate(batches):
                yield epoch == number == 0, len(batches), batch

    def imitate(self, demonstrations: Sequence[Demonstration | Pair], learning_rate: float) -> dict[str, float]:
        metrics = Metrics()
        with self._accumulate_gradients():
            self._add_imitation_gradient(demonstrations, 1.0, metrics)
        self._take_step(learning_rate, metrics, lambda: {"pairs": [[*map(list, one[:2])] for one in demonstrations]})
        return self._merge_metrics(metrics).means()

    def validate(self, demonstrations: Sequence[Demonstration]) -> ImitationScore:
        return self._passes.validate(demonstrations)

    def in_float32(self) -> AbstractContextManager[None]:
        """Let the model that plays and is saved hold the learned float32 weights inside the block. Outside the block,
        they may be rounded to the model's number type for computation."""
        return self._masters.in_model()

    def save_state(self, directory: Path, *, weights_only: bool = False) -> None:
        """Write the tensors. If a LoRA is trained, also write it in the format that PEFT and vLLM load."""
        if hasattr(self.model, "peft_config"):
            with self.in_float32():
                save_lora(self.model, directory)
        write_tensors(self.tensors(weights_only=weights_only), directory)

    def load_state(self, directory: Path, *, weights_only: bool = False) -> None:
        with read_tensors(directory) as tensors:
            self.load(tensors, weights_only=weights_only)

    def tensors(self, *, weights_only: bool = False) -> Iterator[tuple[str, Tensor]]:
        """Yield the learner's state for a checkpoint, as (name, tensor) pairs."""
        counts = {"policy_version": self.policy_version, "bad_in_a_row": self._stepper.bad_in_a_row}
        return gather_state(self._stepper, self.reference, counts, self.world, weights_only=weights_only)

    def load(self, tensors: Mapping[str, Tensor] | None, *, weights_only: bool = False) -> None:
        """Restore the state from `tensors`. With several processes, only the first one gets the tensors, and the others
        get None. Raises `GymposiumError` if the learner's settings differ."""
        counts = restore_state(tensors, self._stepper, self.reference, self.world, weights_only=weights_only)
        self._masters.copy_to_model()
        self.policy_version, self._stepper.bad_in_a_row = counts["policy_version"], counts["bad_in_a_row"]

    def _compute_loss(
        self,
        result: ForwardResult,
        turns: int,
        entropy_weight: float,
        kl_weight: float,
        distillation_weight: float,
        policy_learns: bool,
        metrics: Metrics,
    ) -> Tensor:
        """Return a micro-batch's part of the loss. `turns` is the number of turns of all rows."""
        terms, batch = [], result.batch
        if policy_learns:
            terms.append(self.loss.policy(batch, result.logprobs, kl_weight, metrics))
        # means over the tokens' distributions, weighted like the tokens in the policy's loss
        entropy, move_entropy = result.scored.entropy, result.scored.move_entropy
        assert entropy is not None
        weights, share = torch.zeros_like(entropy).index_add(0, batch.place, batch.weights), float(batch.weights.sum())
        metrics.add("train/entropy", (entropy * weights).sum().item(), share)
        if move_entropy is not None:
            bonus = (move_entropy * weights).sum()
            metrics.add("train/move_entropy", bonus.item(), share)
            if policy_learns:
                terms.append(-entropy_weight * bonus)
        if (illegality := result.scored.illegality) is not None and self.loss.legality > 0.0:
            off = (illegality * weights).sum()
            metrics.add("train/illegality", off.item(), share)
            if policy_learns:
                terms.append(self.loss.legality * off)
        if (distillation := result.scored.distillation) is not None:
            taught = (distillation * weights).sum()
            metrics.add("train/distillation", taught.item(), share)
            if policy_learns:
                terms.append(distillation_weight * taught)
        if self.critic is not None and self.loss.critic is not None:
            alone = self.loss.critic.detached or not policy_learns
            values = self.critic(result.reads.detach() if alone else result.reads)
            terms.append(self.loss.value(batch, values, turns, metrics))
        return torch.stack(terms).sum()

    def _add_imitation_gradient(
        self, demonstrations: Sequence[Demonstration | Pair], weight: float, metrics: Metrics
    ) -> None:
        """Add the gradient of `weight` times the imitation loss, and record the mean negative log-probability."""
        total = 0.0
        for mean, loss in self._passes.imitated(demonstrations, self.loss.legality):
            (weight * loss).backward()  # type: ignore[no-untyped-call]
            total += mean.item()
        metrics.add("train/sft_loss", total, 1.0 / self.world.size)

    @contextmanager
    def _accumulate_gradients(self) -> Iterator[None]:
        """Clear the gradients, and enable gradient checkpointing inside the block if the settings say so."""
        self._stepper.optimizer.zero_grad(set_to_none=True)
        with use_checkpointing(unwrap_peft(self.model), enabled=bool(self.settings.checkpointing)):
            yield

    def _take_step(self, learning_rate: float, metrics: Metrics, what: Callable[[], dict[str, Any]]) -> None:
        rates = [learning_rate]
        if self.loss.critic is not None:  # the same schedule with another peak
            rates.append(self.loss.critic.learning_rate * learning_rate / self.settings.learning_rate)
        if not self.is_sharded:
            self.world.sum_gradients(self._stepper.named.values())
        elif self.critic is not None:  # every process has the whole critic, and FSDP2 sums the model's gradients
            self.world.sum_gradients(self.critic.parameters())
        norm, stepped = self._stepper.step(rates, what)
        if math.isfinite(norm):
            metrics.add("train/grad_norm", norm)
        metrics.add("train/skipped", float(not stepped))
        if stepped:
            self._masters.copy_to_model()
        self.policy_version += stepped

    def _merge_metrics(self, mine: Metrics) -> Metrics:
        """Combine the metrics of all processes."""
        total = Metrics()
        for metrics in self.world.all_gather(mine):
            total.take(metrics)
        return total
