"""Settings of the learner's model and its trained weights."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.lora.files import MAX_RANK
from gymposium_agents.modeling.sources import Trust
from gymposium_train.util.settings import Settings

Attention = Literal["auto", "blocks", "varlen", "dense"]
Tune = Literal["lora", "full"]


class Lora(Settings):
    """A LoRA on linear layers (Hu et al., 2021), without dropout."""

    rank: int = Field(default=32, ge=1, le=MAX_RANK)
    """Rank of the update of each layer."""
    alpha: int = Field(default=64, ge=1)
    """The update is scaled by `alpha` / `rank`. `alpha` is usually twice the rank."""
    targets: tuple[str, ...] | None = None
    """Last parts of the layers' names (`q_proj`, `v_proj` …). Default: all linear layers except the output. Experts and
    routers of a mixture of experts are not linear layers, and cannot be targets."""


class Model(Settings):
    """The learner's model."""

    name: str | None = None
    """A directory or hub name. By default, the run makes a small model."""
    small: SmallModel = Field(default_factory=SmallModel)
    """Size of the small model."""
    tune: Tune = "full"
    """The weights trained by reinforcement learning: a LoRA on the frozen model, or all weights. With `name`, the
    default is `lora`."""
    load: Literal["4bit"] | None = None
    """`4bit`: quantize the frozen weights while reading them (QLoRA), and train a LoRA on them."""
    lora: Lora = Field(default_factory=Lora)
    """The LoRA's settings, used with `tune = "lora"`."""
    attention: Attention = "auto"
    """Attention within the sequences of a packed row (`optimizer.layout`). `blocks`: PyTorch's, for each sequence.
    `varlen`: FlashAttention for all sequences at once, on NVIDIA GPUs with `bf16`. `dense`: transformers' own, with a
    mask for the whole row. `auto`: `varlen` where supported, else `blocks`. Architectures that support neither use
    `dense`."""
    trust_remote_code: bool = False
    """Whether to run Python code from the model's directory, with all of the user's rights."""
    allow_pickle: bool = False
    """Whether to read weights from pickles (`pytorch_model.bin`) if there are no safetensors."""

    @property
    def trust(self) -> Trust:
        """The permissions for the model's files."""
        return Trust(self.trust_remote_code, self.allow_pickle)


def find_architecture(model: Model) -> Any | None:
    """Return the architecture of the learner's model, as a transformers config, or None if the model is not on this
    machine."""
    from gymposium_agents.models.loading import load_local_architecture  # these import torch
    from gymposium_agents.models.small import make_small_config

    if model.name is None:
        return make_small_config(model.small, model.small.tokens)
    return load_local_architecture(model.name, model.trust)
