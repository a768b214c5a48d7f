"""How large a small model is. It stands apart from `small`, which makes one, so that a config needs no torch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields

from gymposium.errors import BadOption


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallModel:
    """Size of a small model. Raises `BadOption` for one that cannot be."""

    hidden: int = 96
    """Width of its residual stream."""
    layers: int = 3
    """One behind the other, each of attention and feed-forward."""
    heads: int = 6
    """Heads of attention, in each layer."""
    feed_forward: int = 192
    """Width of the layers between those of attention."""
    vocabulary: int = 384
    """Tokens at most."""
    context: int = 1024
    """Tokens of prompt and reply together."""
    initializer_range: float = 0.08
    """Wider than the 0.02 of large models: so narrow a model starts to learn much sooner with it."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise BadOption(f"A small model's {field.name} is {getattr(self, field.name)}; it must be above 0.")
        if self.hidden % (2 * self.heads):
            raise BadOption(
                f"A small model's hidden is {self.hidden}, which its {self.heads} heads cannot share in even parts: "
                f"take a multiple of {2 * self.heads}."
            )

    def linear_layers(self) -> dict[str, tuple[int, int]]:
        """Inputs and outputs of each linear layer of one of its layers, by the last part of its name. `small_config`
        has as many heads of keys and values as of queries."""
        attention = dict.fromkeys(("q_proj", "k_proj", "v_proj", "o_proj"), (self.hidden, self.hidden))
        up = dict.fromkeys(("gate_proj", "up_proj"), (self.hidden, self.feed_forward))
        return {**attention, **up, "down_proj": (self.feed_forward, self.hidden)}

    def parameters(self, vocabulary: int) -> int:
        """How many parameters it has with so many tokens: embeddings, which the output shares, linear layers without
        bias, and the weights of norms."""
        head = self.hidden // self.heads
        norms = 2 * self.hidden + 2 * head  # before attention and feed-forward; of queries and keys
        linear = sum(inputs * outputs for inputs, outputs in self.linear_layers().values())
        return vocabulary * self.hidden + self.layers * (linear + norms) + self.hidden

    def lora_parameters(self, rank: int, targets: Collection[str] | None) -> int:
        """How many parameters a LoRA on these linear layers has, or on all of them where `targets` is None."""
        chosen = (sizes for name, sizes in self.linear_layers().items() if targets is None or name in targets)
        return self.layers * sum(rank * (inputs + outputs) for inputs, outputs in chosen)
