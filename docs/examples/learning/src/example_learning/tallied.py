"""An engine: a copy of the model in this process that logs how much it sampled."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gymposium_agents.chat.tokens import Completion, Sampling, TokenRequest
    from gymposium_agents.engines.protocol import EngineStart, HostingEngine


@dataclass(frozen=True)
class TalliedSettings:
    """Settings of the engine."""

    every: int = 1000
    """Number of replies between two log lines."""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every={self.every}: set 1 or more replies.")


def make_engine(start: EngineStart, settings: TalliedSettings) -> HostingEngine:
    """Return the engine of a model."""
    from gymposium_agents.engines.transformers import TransformersEngine  # brings torch
    from gymposium_agents.models.loading import load_model

    class TalliedEngine(TransformersEngine):
        replies = tokens = 0

        def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
            completions = super().generate(requests, sampling)
            before, self.replies = self.replies, self.replies + len(completions)
            self.tokens += sum(len(completion.ids) for completion in completions)
            if before // settings.every < self.replies // settings.every:
                logging.getLogger(__name__).info("%d replies, %d tokens", self.replies, self.tokens)
            return completions

    loaded = load_model(start.model, load=start.load, trust=start.trust)
    return TalliedEngine(loaded.model, stops=start.stops, pad=loaded.pad)
