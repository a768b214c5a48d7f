"""Settings of the backend `tinker`. The key is not a setting: it is read from the environment variable
`TINKER_API_KEY`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from pydantic import Field

from gymposium_train.config.backend import BackendSettings


class TinkerSettings(BackendSettings):
    """The model learns and samples on the Tinker service, as a LoRA of rank `model.lora.rank`. The tokenizer and the
    chat template come from `model.name`."""

    other_defaults: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"optimizer.target_kl": 0.0, "legality.weight": 0.0, "samples.prompts": 0}
    )

    kind: Literal["tinker"] = "tinker"
    """Where the model learns."""
    base_url: str | None = None
    """The address of the service. The default is the environment variable `TINKER_BASE_URL`, or else the production
    service."""
    model: str | None = None
    """The service's name of the base model; by default `model.name`."""
    train_attention: bool = True
    """Whether the LoRA applies to the attention layers."""
    train_mlp: bool = True
    """Whether the LoRA applies to the feed-forward layers."""
    train_output: bool = False
    """Whether the LoRA applies to the output layer."""
    checkpoint_days: int = Field(default=30, ge=1, le=3650)
    """Days before the service deletes checkpoints and versions. The run's final weights are never deleted."""
