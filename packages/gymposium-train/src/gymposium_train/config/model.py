"""The model that learns, and which of its weights are trained."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymposium_agents.lora.files import MAX_RANK
from gymposium_agents.small_size import SmallModel
from gymposium_agents.sources import Trust
from gymposium_train.settings import Settings


class Lora(Settings):
    """LoRA on linear layers (Hu et al., 2021), no dropout."""

    rank: int = Field(default=32, ge=1, le=MAX_RANK)
    """How many numbers stand between a layer's inputs and its outputs."""
    alpha: int = Field(default=64, ge=1)
    """What the LoRA adds is multiplied by this over its rank; usually twice the rank."""
    targets: tuple[str, ...] | None = None
    """The layers' last names (`q_proj`, `v_proj` …); all linear layers but the output where it is left out."""


class Model(Settings):
    """The model that learns."""

    name: str | None = None
    """A directory or hub name; left out, a small model is made on the spot."""
    small: SmallModel = Field(default_factory=SmallModel)
    """Size of the model that is made on the spot."""
    tune: Literal["lora", "full"] = "lora"
    """What reinforcement learning trains: a LoRA on the frozen model, or all of its weights."""
    load: Literal["4bit"] | None = None
    """`4bit`: the frozen weights are quantized as they are read (QLoRA); a LoRA is trained on them."""
    lora: Lora = Field(default_factory=Lora)
    """The LoRA, with `tune = "lora"`."""
    trust_remote_code: bool = False
    """Run Python code that the model's directory brings. It has all rights of whoever trains."""
    allow_pickle: bool = False
    """Read weights from pickles (`pytorch_model.bin`) where there are no safetensors."""

    @property
    def trust(self) -> Trust:
        """What the model's files may do."""
        return Trust(self.trust_remote_code, self.allow_pickle)
