"""How large a small model is. It stands apart from `small`, which makes one, so that a config needs no torch."""

from __future__ import annotations

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
