"""The backend `tinker`. The SDK and torch are imported when a run starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from gymposium.errors import GymposiumError
from gymposium_agents.chat.settings import TOOLS
from gymposium_tinker.refusals import refusals
from gymposium_tinker.settings import TinkerSettings
from gymposium_train.config import TrainConfig

if TYPE_CHECKING:
    from gymposium_agents.players.player import LanguageModelPlayer
    from gymposium_tinker.model import TinkerModel
    from gymposium_train.backends.protocol import BackendStart, Learned


class TinkerBackend:
    """A backend that trains on the Tinker service."""

    def __init__(self, settings: TinkerSettings) -> None:
        self._settings = settings

    def refusals(self, config: TrainConfig) -> Iterator[str]:
        return refusals(config, self._settings)

    def missing(self, config: TrainConfig) -> Iterator[str]:
        from gymposium_agents.models.loading import load_chat
        from gymposium_agents.players.player import choose_reader
        from gymposium_tinker.service import check_tokenizers, find_base_model, find_context

        if config.model.name is None:
            return  # that is refused
        try:
            model = find_base_model(config, self._settings)
            find_context(self._settings, model)
            prompting, trust = config.prompting, config.model.trust
            chat = load_chat(config.model.name, thinking=prompting.thinking, history=prompting.history, trust=trust)
            check_tokenizers(self._settings, model, chat)
            if config.prompting.reply == TOOLS:
                choose_reader(TOOLS, chat)
        except GymposiumError as error:
            yield f"backend.kind = tinker: {error}"

    def outline(self, config: TrainConfig) -> dict[str, str]:
        where = self._settings.base_url or "the Tinker service"
        lines = {
            "model": f"{self._settings.model or config.model.name}, on {where}",
            "trained": f"a LoRA of rank {config.model.lora.rank}, there",
        }
        return lines | ({"price": price} if (price := describe_costs(config)) else {})

    def imitation_model(self, start: BackendStart) -> AbstractContextManager[TinkerModel]:
        from gymposium_tinker.model import open_imitation

        return open_imitation(start, self._settings)

    def reinforcement_model(self, start: BackendStart) -> AbstractContextManager[TinkerModel]:
        from gymposium_tinker.model import open_reinforcement

        return open_reinforcement(start, self._settings)

    def player(self, start: BackendStart, learned: Learned) -> AbstractContextManager[LanguageModelPlayer]:
        from gymposium_tinker.model import open_player

        return open_player(start, self._settings, learned)

    def export(self, start: BackendStart, checkpoint: Path, target: Path) -> None:
        from gymposium_tinker.model import export_checkpoint

        export_checkpoint(start, self._settings, checkpoint, target)


def describe_costs(config: TrainConfig) -> str:
    """Describe the passes that a run's settings require beyond one forward and backward pass per update; empty if
    none."""
    from gymposium_tinker.losses import choose_service_loss

    passes = []
    if config.kl.weight > 0:
        passes.append(f"the reference of kl.estimator={config.kl.estimator} reads every row")
    if config.mismatch.kind == "decoupled" or (config.kl.weight > 0 and config.kl.estimator == "k1"):
        passes.append("the policy before the update reads every row")
    if choose_service_loss(config) is None:
        passes.append("the loss is computed here, so that each optimizer step reads its rows twice")
    return "; ".join(passes)
