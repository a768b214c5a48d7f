"""Models of the stand-in: a LoRA of PEFT on a model of transformers, with AdamW.

They train in float64, so that a test can tell a wrong gradient from rounding, which AdamW magnifies where gradients are
close to 0."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tinker.types import AdamParams, LoraConfig
from torch import Tensor

from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import LoadedModel, load_model

from .losses import compute_loss

ALPHA = 32
"""The service does not let its users choose alpha."""
BATCH = 32
"""Rows in one forward pass."""


class Datum(NamedTuple):
    ids: list[int]
    inputs: dict[str, Tensor]
    """With `target_tokens`."""


class TrainedModel:
    """A LoRA that is trained."""

    def __init__(self, base: str, lora: LoraConfig) -> None:
        self.base, self.lora = base, lora
        model = load_model(Path(base), dtype=torch.float64).model
        self.model: Any = attach_lora(model, rank=lora.rank, alpha=ALPHA, seed=lora.seed or 0).double()
        self.named = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.AdamW([*self.named.values()], lr=0.0, weight_decay=0.0)

    def forward_backward(
        self, data: Sequence[Datum], loss: str, settings: Mapping[str, float], *, backward: bool
    ) -> tuple[list[Tensor], float]:
        """The log-probabilities of the targets of each datum, and the loss. Gradients are added up."""
        found: list[Tensor] = []
        total = 0.0
        for begin in range(0, len(data), BATCH):
            some = data[begin : begin + BATCH]
            with torch.set_grad_enabled(backward):
                scores = target_logprobs(self.model, some)
                losses = torch.stack(
                    [compute_loss(loss, row, one.inputs, settings) for row, one in zip(scores, some, strict=True)]
                )
                if backward:
                    losses.sum().backward()
            found += [row.detach() for row in scores]
            total += float(losses.detach().sum())
        return found, total

    def step(self, params: AdamParams) -> None:
        if params.grad_clip_norm > 0:
            torch.nn.utils.clip_grad_norm_([*self.named.values()], params.grad_clip_norm)
        [group] = self.optimizer.param_groups
        group |= {
            "lr": params.learning_rate,
            "betas": (params.beta1, params.beta2),
            "eps": params.eps,
            "weight_decay": params.weight_decay,
        }
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def weights(self) -> dict[str, Tensor]:
        return {name: p.detach().clone() for name, p in self.named.items()}

    @torch.no_grad()
    def put(self, weights: Mapping[str, Tensor]) -> None:
        for name, p in self.named.items():
            p.copy_(weights[name])

    def state(self) -> bytes:
        """Weights and optimizer, so that later steps do not change them."""
        file = io.BytesIO()
        torch.save({"weights": self.weights(), "optimizer": self.optimizer.state_dict()}, file)
        return file.getvalue()

    def load(self, state: bytes, *, optimizer: bool) -> None:
        saved = torch.load(io.BytesIO(state), weights_only=True)
        self.put(saved["weights"])
        if optimizer:
            self.optimizer.load_state_dict(saved["optimizer"])


class Snapshot(NamedTuple):
    """Weights that are sampled from."""

    base: str
    lora: LoraConfig | None
    weights: dict[str, Tensor]


@cache
def _player(base: str, rank: int | None) -> Any:
    """A model that holds the weights of one snapshot after the other."""
    loaded = load_model(Path(base)).model
    return loaded if rank is None else attach_lora(loaded, rank=rank, alpha=ALPHA, seed=0)


@cache
def loaded(base: str) -> LoadedModel:
    return load_model(Path(base))


@torch.no_grad()
def sample(
    snapshot: Snapshot, prompt: list[int], *, most: int, temperature: float, seed: int, stops: Sequence[int]
) -> tuple[list[int], list[float], str]:
    """The sampled tokens, their log-probabilities, and why it stopped."""
    model = _holding(snapshot)
    rng = torch.Generator().manual_seed(seed)
    ids, logprobs = [*prompt], []
    while len(logprobs) < most:
        scores = torch.log_softmax(model(torch.tensor([ids])).logits[0, -1].float() / (temperature or 1.0), dim=-1)
        token = int(torch.multinomial(scores.exp(), 1, generator=rng) if temperature else scores.argmax())
        ids.append(token)
        logprobs.append(float(scores[token]))
        if token in stops:
            return ids[len(prompt) :], logprobs, "stop"
    return ids[len(prompt) :], logprobs, "length"


@torch.no_grad()
def prompt_logprobs(snapshot: Snapshot, prompt: list[int]) -> list[float]:
    """The log-probability of each token but the first."""
    [scores] = target_logprobs(_holding(snapshot), [Datum(prompt[:-1], {"target_tokens": torch.tensor(prompt[1:])})])
    return scores.tolist()


def target_logprobs(model: Any, data: Sequence[Datum]) -> list[Tensor]:
    """Rows are padded on the right, where a causal model does not look."""
    longest = max(len(one.ids) for one in data)
    ids = torch.tensor([one.ids + [0] * (longest - len(one.ids)) for one in data])
    scores = torch.log_softmax(model(ids).logits.float(), dim=-1)
    return [
        row[: len(one.ids)].gather(-1, one.inputs["target_tokens"][:, None])[:, 0]
        for row, one in zip(scores, data, strict=True)
    ]


def _holding(snapshot: Snapshot) -> Any:
    model = _player(snapshot.base, None if snapshot.lora is None else snapshot.lora.rank)
    if snapshot.lora is not None and getattr(model, "held", None) is not snapshot.weights:
        for name, p in model.named_parameters():
            if name in snapshot.weights:
                p.copy_(snapshot.weights[name])
        model.held = snapshot.weights
    return model
