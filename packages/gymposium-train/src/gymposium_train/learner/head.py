"""The output layer of a causal language model: log-probabilities of some tokens from hidden states, in pieces.

The head is wide, because a vocabulary has up to 150,000 tokens. It therefore runs only at the places to predict, and
only one piece of the logits is in memory at a time. The backward pass recomputes each piece from its hidden states, and
accumulates a single gradient of the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

LOGIT_BYTES = 2**28
"""Memory of one piece of logits in float32, including a temporary tensor of the same size."""


@dataclass(frozen=True, slots=True)
class Head:
    """A model's output layer, with its architecture's scale and softcap of the logits."""

    layer: Any
    """A linear layer from H to V."""
    vocabulary: int
    """V, the number of tokens."""
    scale: float = 1.0
    """Factor applied to the layer's outputs."""
    softcap: float | None = None
    """Bound on the logits: `softcap` · tanh(logits / `softcap`)."""

    @classmethod
    def from_model(cls, model: Any) -> Head:
        """Make the head of a transformers model."""
        config = model.config.get_text_config(decoder=True)
        scale = float(getattr(config, "logit_scale", None) or 1.0)  # Cohere
        scale /= float(getattr(config, "logits_scaling", None) or 1.0)  # Granite
        softcap = getattr(config, "final_logit_softcapping", None)  # Gemma 2
        return cls(model.get_output_embeddings(), int(config.vocab_size), scale, softcap)

    def logits(self, states: Tensor) -> Tensor:
        """Convert hidden states [N, H] to logits [N, V] in float32, as the model computes them."""
        return self.from_weights(states, self.layer.weight, getattr(self.layer, "bias", None))

    def from_weights(self, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Compute logits like `logits`, from given weights of the layer."""
        logits = linear(states.to(weight.dtype), weight, bias).float()
        if self.scale != 1.0:
            logits *= self.scale
        if self.softcap is not None:
            logits = logits.div_(self.softcap).tanh_().mul_(self.softcap)
        return logits

    @torch.no_grad()
    def likeliest(self, states: Tensor) -> Tensor:
        """Return the ids [N] of the most likely tokens at places with hidden states [N, H]."""
        return torch.cat(
            [self.logits(states[piece]).argmax(-1) for piece in _split_places(len(states), self.vocabulary)]
        )

    def logprobs(
        self, states: Tensor, ids: Tensor, *, temperature: float = 1.0, entropy: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Return log-probabilities [N, K] in float32 of the tokens `ids` [N, K] at places with hidden states [N, H]. An
        id of -1 gives 0. With `entropy`, also return the entropies [N] in nats of the whole distributions, without
        gradients."""
        bias = getattr(self.layer, "bias", None)
        logprobs, entropies = _LogProbs.apply(  # type: ignore[no-untyped-call]
            states, self.layer.weight, bias, ids, self, temperature, entropy
        )
        return logprobs, entropies if entropy else None


class _LogProbs(torch.autograd.Function):
    """The autograd function of `Head.logprobs`."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        ids: Tensor,
        head: Head,
        temperature: float,
        entropy: bool,
    ) -> tuple[Tensor, Tensor]:
        logprobs = states.new_empty(ids.shape, dtype=torch.float32)
        entropies = states.new_empty(len(ids) if entropy else 0, dtype=torch.float32)
        for piece in _split_places(len(ids), head.vocabulary):
            logits, named = head.from_weights(states[piece], weight, bias), ids[piece]
            scores = (logits if temperature == 1.0 else logits.div_(temperature)).log_softmax(dim=-1)
            del logits
            logprobs[piece] = scores.gather(-1, named.clamp(min=0)).masked_fill_(named < 0, 0.0)
            if entropy:
                entropies[piece] = -scores.exp().mul_(scores).sum(dim=-1)
        ctx.save_for_backward(states, weight, bias, ids)
        ctx.head, ctx.temperature = head, temperature
        ctx.mark_non_differentiable(entropies)
        return logprobs, entropies

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        states, weight, bias, ids = ctx.saved_tensors
        head: Head = ctx.head
        # sums over pieces are in float32: in bfloat16, 75 pieces would lose 1% of the gradient
        of_states, of_weight, of_bias = (
            torch.zeros_like(tensor, dtype=dtype) if wanted else None
            for tensor, dtype, wanted in zip(
                (states, weight, bias), (None, torch.float32, torch.float32), ctx.needs_input_grad, strict=False
            )
        )
        for piece in _split_places(len(ids), head.vocabulary):
            some = states[piece].to(weight.dtype)
            logits = head.from_weights(some, weight, bias)
            slope = None if head.softcap is None else 1.0 - (logits / head.softcap).square_()
            named = ids[piece]
            gradient = gradients[0][piece].masked_fill(named < 0, 0.0)
            # the derivative of a log-probability by the logits: 1 at its token, minus the probabilities of all tokens
            of_logits = (logits if ctx.temperature == 1.0 else logits.div_(ctx.temperature)).softmax(dim=-1)
            del logits
            of_logits *= -gradient.sum(dim=-1, keepdim=True)
            of_logits.scatter_add_(-1, named.clamp(min=0), gradient)
            if slope is not None:
                of_logits *= slope
            if (factor := head.scale / ctx.temperature) != 1.0:
                of_logits *= factor
            of_outputs = of_logits.to(weight.dtype)
            if of_states is not None:
                of_states[piece] = of_outputs @ weight
            if of_weight is not None:
                of_weight += of_outputs.T @ some
            if of_bias is not None:
                of_bias += of_outputs.sum(dim=0, dtype=torch.float32)
        of_weight = None if of_weight is None else of_weight.to(weight.dtype)
        of_bias = None if of_bias is None else of_bias.to(bias.dtype)
        return of_states, of_weight, of_bias, None, None, None, None


def _split_places(places: int, vocabulary: int) -> Iterator[slice]:
    """Yield slices of the places whose logits, with a temporary tensor of the same size, fit into `LOGIT_BYTES`."""
    size = max(1, LOGIT_BYTES // (2 * 4 * vocabulary))
    return (slice(first, min(first + size, places)) for first in range(0, places, size))
