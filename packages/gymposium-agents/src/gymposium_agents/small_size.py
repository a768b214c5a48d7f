"""The size of a small model, in a module that does not import torch, so that configs can hold it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields

from gymposium.errors import BadOption

UNUSED_POSITIONS = 2
"""Number of rows of OPT's table of positions that stand for no position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallModel:
    """Size of a small model. Raises `BadOption` for a size that is not possible."""

    hidden: int = 64
    """Width of the residual stream."""
    layers: int = 2
    """Number of layers, each of attention and feed-forward."""
    heads: int = 4
    """Number of attention heads in each layer."""
    feed_forward: int = 128
    """Width of the feed-forward part of each layer."""
    vocabulary: int = 512
    """Largest number of tokens in the vocabulary."""
    context: int = 1024
    """Largest number of tokens of prompt and reply together."""
    initializer_range: float = 0.08
    """Standard deviation of the initial weights. Wider than the 0.02 of large models: a narrow model starts to learn
    much sooner with it."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise BadOption(f"A small model's {field.name} is {getattr(self, field.name)}; it must be above 0.")
        if self.hidden % self.heads:
            raise BadOption(
                f"A small model's hidden is {self.hidden}, which its {self.heads} heads cannot share: take a multiple "
                f"of {self.heads}."
            )

    def linear_layers(self) -> dict[str, tuple[int, int]]:
        """Inputs and outputs of each linear map in one layer, by the last part of its name."""
        attention = dict.fromkeys(("q_proj", "k_proj", "v_proj", "out_proj"), (self.hidden, self.hidden))
        return {**attention, "fc1": (self.hidden, self.feed_forward), "fc2": (self.feed_forward, self.hidden)}

    def parameters(self, vocabulary: int) -> int:
        """The number of parameters with a vocabulary of this many tokens: embeddings of tokens, which the output
        shares, and of positions, linear maps with biases, and norms."""
        norm = 2 * self.hidden
        linear = sum((inputs + 1) * outputs for inputs, outputs in self.linear_layers().values())
        embeddings = vocabulary + self.context + UNUSED_POSITIONS
        return embeddings * self.hidden + self.layers * (linear + 2 * norm) + norm

    def lora_parameters(self, rank: int, targets: Collection[str] | None) -> int:
        """The number of parameters of a LoRA on the linear maps named in `targets`, or on all of them if it is None."""
        sizes = (size for name, size in self.linear_layers().items() if targets is None or name in targets)
        return self.layers * sum(rank * (inputs + outputs) for inputs, outputs in sizes)
