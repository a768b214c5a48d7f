"""The learner for a LoRA on the Tinker service. An update:

for each pass over the rows:
    for each minibatch:                      an optimizer step
        send the rows, then the lessons to imitate beside them, then the step
        wait for all of them
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from tinker import APIFuture, ServiceClient, TrainingClient
from tinker.types import AdamParams, Datum, ForwardBackwardOutput, OptimStepResponse
from torch import Tensor

from gymposium.errors import GymposiumError
from gymposium.util.durable import replace_text
from gymposium.util.streams import stream
from gymposium_agents.engines.canary import choose_tolerance
from gymposium_tinker.data import flatten_rows, gather_sampled, make_imitation_data, make_scoring_datum, read_logprobs
from gymposium_tinker.losses import ServiceLoss, make_weighted_data
from gymposium_tinker.publisher import DAY
from gymposium_tinker.service import resolve_result, translate_errors
from gymposium_train.config import Optimizer
from gymposium_train.config.directory import read_state
from gymposium_train.learner import Loss
from gymposium_train.learner.metrics import Metrics
from gymposium_train.learner.minibatches import make_minibatches
from gymposium_train.learner.protocol import AuxiliarySft, Demonstration, ImitationScore, Pair
from gymposium_train.learner.rows import Row, Tokens, fill_spans, split_tokens
from gymposium_train.learner.token_batch import TokenBatch

STATE = "tinker.json"
"""Name of the file with the path of a saved state on the service."""


class TinkerLearner:
    """A `Learner` that keeps its model, optimizer (AdamW) and reference on the service."""

    critic = None
    tolerance = choose_tolerance("bfloat16")
    """The tolerance for bfloat16, because the service does not report its number type."""

    def __init__(
        self,
        service: ServiceClient,
        client: TrainingClient,
        settings: Optimizer,
        *,
        loss: Loss,
        on_service: ServiceLoss | None,
        days: int,
    ) -> None:
        """`client` trains the model. `on_service` is the service's loss that equals the policy term of `loss`; None to
        compute it here. Checkpoints are deleted after `days` days."""
        self.client = client
        """The client of the model being trained, which `load_state` replaces."""
        self.policy_version = 0
        self._service, self._settings, self._loss, self._on_service = service, settings, loss, on_service
        self._seconds = days * DAY
        self._reference: TrainingClient | None = None
        """The client of the reference model, once it has been used."""
        self._reference_path: str | None = None
        self._paths: dict[str, str] = {}
        """Paths of saved states, by name. Some servers refuse to save a name twice."""
        self.refresh_reference()

    def annotate(self, rows: Sequence[Row]) -> list[Row]:
        annotated = [*rows]
        if rows and self._loss.needs_old:
            annotated = fill_spans(annotated, old=self._score_spans(self.client, rows))
        if rows and self._reference_path is not None:
            if self._reference is None:
                with translate_errors():
                    self._reference = resolve_result(
                        self._service.create_training_client_from_state(self._reference_path)
                    )
            annotated = fill_spans(annotated, reference=self._score_spans(self._reference, rows))
        return annotated

    def values_after(self, prompts: Sequence[Tokens]) -> list[float]:
        raise AssertionError("a credit with a critic is refused")

    def score(self, pairs: Sequence[Pair], temperature: float = 1.0) -> list[tuple[float, ...]]:
        assert temperature == 1.0, "another temperature is refused"
        found = self._run_forward(
            self.client, [make_scoring_datum(prompt + completion) for prompt, completion in pairs]
        )
        return [tuple(row[len(prompt) - 1 :].tolist()) for row, (prompt, _) in zip(found, pairs, strict=True)]

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
        assert policy_learns, "only a critic learns alone, and a credit with one is refused"
        assert entropy_weight == 0.0, "a weight of the entropy is refused"
        if kl_weight is None:
            kl_weight = self._loss.kl.weight if self._loss.kl is not None else 0.0
        metrics, first = Metrics(), True
        for epoch in range(self._settings.epochs):
            batches = make_minibatches(rows, self._settings.minibatches, stream(seed, "epoch", epoch))
            for some in batches:
                self._step(some, len(batches), learning_rate, kl_weight, auxiliary_sft, metrics, first)
                first = False
        return metrics.means()

    def imitate(self, demonstrations: Sequence[Demonstration | Pair], learning_rate: float) -> dict[str, float]:
        metrics = Metrics()
        with translate_errors():
            lessons = self._send_imitation_loss(demonstrations, 1.0)
            step = self._send_optimizer_step(learning_rate)
            _note_imitation(lessons.result(), demonstrations, metrics)
            step.result()
        self.policy_version += 1
        return metrics.means()

    def validate(self, demonstrations: Sequence[Demonstration]) -> ImitationScore:
        scores = [
            score for row in self.score([(one.prompt, one.completion) for one in demonstrations]) for score in row
        ]
        return ImitationScore(-math.fsum(scores) / len(scores), None)

    def refresh_reference(self, share: float = 1.0) -> None:
        assert share == 1.0, "an average of weights is refused"
        if self._loss.needs_reference:
            self._reference_path = self._save("reference")
            self._reference = None

    def save_state(self, directory: Path, *, weights_only: bool = False) -> None:
        state = {
            "path": self._save("state"),
            "reference": self._reference_path,
            "policy_version": self.policy_version,
        }
        replace_text(directory / STATE, json.dumps(state, indent=2) + "\n")

    def load_state(self, directory: Path, *, weights_only: bool = False) -> None:
        state = read_state(directory / STATE)
        if (state["reference"] is None) != (self._reference_path is None):
            raise GymposiumError(
                "The checkpoint does not match this learner: only one of them has a reference policy. Resume with the "
                "settings that the run began with."
            )
        with translate_errors():
            self.client = resolve_result(self._service.create_training_client_from_state_with_optimizer(state["path"]))
        self._reference_path, self._reference = state["reference"], None
        self._paths.clear()
        self.policy_version = state["policy_version"]

    def _step(
        self,
        rows: list[Row],
        batches: int,
        learning_rate: float,
        kl_weight: float,
        auxiliary_sft: AuxiliarySft | None,
        metrics: Metrics,
        first: bool,
    ) -> None:
        """Do one optimizer step on a minibatch, one of `batches` in its epoch. Sends all requests before it waits for
        the first answer."""
        batch, lessons, demonstrations = flatten_rows(rows), None, []
        with translate_errors():
            data = [make_scoring_datum(row.ids) for row in rows]
            policy = self._send_policy_loss(rows, data, batch, batches, kl_weight, metrics)
            if auxiliary_sft is not None:
                weight, found_lessons = next(auxiliary_sft)
                demonstrations = [*found_lessons]
                lessons = self._send_imitation_loss(demonstrations, weight)
            step = self._send_optimizer_step(learning_rate)
            found = gather_sampled(rows, read_logprobs(policy.result(), data))
            if lessons is not None:
                _note_imitation(lessons.result(), demonstrations, metrics)
            step.result()
        self.policy_version += 1
        if not found.isfinite().all():
            raise GymposiumError(
                "The service returned non-finite log-probabilities. Start a new run with a lower "
                "optimizer.learning_rate."
            )
        if first:
            self._loss.note_start(batch, found, metrics)
        if self._on_service is not None:
            with torch.no_grad():
                self._loss.policy(batch, found, kl_weight, metrics)

    def _send_policy_loss(
        self, rows: list[Row], data: list[Datum], batch: TokenBatch, batches: int, kl_weight: float, metrics: Metrics
    ) -> APIFuture[ForwardBackwardOutput]:
        """Send a minibatch's policy loss, times the number of minibatches. `data` are the rows to score."""
        if self._on_service is not None:
            wanted = make_weighted_data(rows, batch, self._loss, float(batches))
            return self.client.forward_backward(wanted, self._on_service.name, self._on_service.settings)

        def compute_loss(data: list[Datum], scores: list[Tensor]) -> tuple[Tensor, dict[str, float]]:
            return batches * self._loss.policy(batch, gather_sampled(rows, scores), kl_weight, metrics), {}

        return self.client.forward_backward_custom(data, compute_loss)

    def _send_imitation_loss(
        self, demonstrations: Sequence[Demonstration | Pair], weight: float
    ) -> APIFuture[ForwardBackwardOutput]:
        """Send the imitation loss, times `weight`."""
        return self.client.forward_backward(make_imitation_data(demonstrations, weight), "cross_entropy")

    def _send_optimizer_step(self, learning_rate: float) -> APIFuture[OptimStepResponse]:
        """Send an optimizer step with the run's settings and AdamW's default epsilon."""
        return self.client.optim_step(
            AdamParams(
                learning_rate=learning_rate,
                beta1=self._settings.beta1,
                beta2=self._settings.beta2,
                eps=1e-8,
                weight_decay=self._settings.weight_decay,
                grad_clip_norm=self._settings.max_grad_norm,
            )
        )

    def _save(self, what: str) -> str:
        """Save weights and optimizer on the service, once per version. Returns their path on the service."""
        name = f"{what}-{self.policy_version}"
        if name not in self._paths:
            with translate_errors():
                saved = self.client.save_state(name, ttl_seconds=self._seconds, overwrite=True).result()
            self._paths[name] = saved.path
        return self._paths[name]

    def _score_spans(self, client: TrainingClient, rows: Sequence[Row]) -> list[tuple[float, ...]]:
        """Return the log-probabilities of each span's tokens."""
        return split_tokens(
            rows,
            gather_sampled(rows, self._run_forward(client, [make_scoring_datum(row.ids) for row in rows])).tolist(),
        )

    def _run_forward(self, client: TrainingClient, data: list[Datum]) -> list[Tensor]:
        with translate_errors():
            return read_logprobs(client.forward(data, "cross_entropy").result(), data)


def _note_imitation(
    output: ForwardBackwardOutput, demonstrations: Sequence[Demonstration | Pair], metrics: Metrics
) -> None:
    """Record the mean negative log-probability of the completions' tokens."""
    data = make_imitation_data(demonstrations, 1.0)
    masks = [torch.tensor(one.loss_fn_inputs["weights"].data) for one in data]
    total = sum(float((mask * row).sum()) for mask, row in zip(masks, read_logprobs(output, data), strict=True))
    metrics.add("train/sft_loss", -total)
