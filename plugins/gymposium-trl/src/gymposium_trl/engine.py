"""The engine that samples from the model that TRL trains.

It is gymposium's engine on the trainer's model object. TRL's `generate` path is not used, because it returns no
log-probabilities, uses the global generator, and processes the whole prompt at each turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import Completion, Sampling, TokenRequest
from gymposium_agents.engines.transformers import TransformersEngine


class TrainerEngine(TransformersEngine):
    """A `TransformersEngine` on a trainer's model, in its training precision. Create a new engine for each rollout,
    because the weights change."""

    def __init__(self, trainer: Any, chat: Chat) -> None:
        """`trainer` is a `GRPOTrainer`, and `chat` the format of its tokenizer."""
        self._accelerator = trainer.accelerator
        model = self._accelerator.unwrap_model(trainer.model)
        super().__init__(model, stops=chat.stops, pad=chat.tokenizer.pad_token_id)

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion for each request, in order."""
        with self._accelerator.autocast():
            return super().generate(requests, sampling)
