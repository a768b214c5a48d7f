"""Trainers of TRL on small models, and the filters of the warnings that its libraries give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trl import GRPOConfig, GRPOTrainer

from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_trl import Rollout

QUIET = [
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning"),
    pytest.mark.filterwarnings("ignore:You are using 'rollout_func'"),
    pytest.mark.filterwarnings("ignore:You are using 'environment_factory'"),
]
COPIES = 4


class RecordingRollout(Rollout):
    """A rollout that keeps what it gave to the trainer."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.given: list[tuple[list[str], dict[str, list[Any]]]] = []

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        fields = super().__call__(prompts, trainer)
        self.given.append((prompts, {name: [*values] for name, values in fields.items()}))
        return fields


def trainer_for(
    rollout: Rollout,
    model: Path | LoadedModel,
    scratch: Path,
    *,
    rows: int = 2,
    size: int = 6,
    seats: Any = None,
    **settings: Any,
) -> Any:
    """A trainer of three steps, each with `rows` rows of `COPIES` copies from a dataset of `size` rows, in float32
    on the CPU. Some settings are the trainer's, the others those of its config."""
    loaded = load_model(model) if isinstance(model, Path) else model
    own = {name: settings.pop(name) for name in ("peft_config", "eval_dataset", "reward_funcs") if name in settings}
    defaults = {
        "num_generations": COPIES,
        "per_device_train_batch_size": rows * COPIES,
        "per_device_eval_batch_size": rows * COPIES,
        "max_steps": 3,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
        "bf16": False,
    }
    loaded.model.requires_grad_(True)
    return GRPOTrainer(
        model=loaded.model,
        processing_class=loaded.chat.tokenizer,
        train_dataset=rollout.dataset(size, seed=1, seats=seats),
        rollout_func=rollout,
        args=GRPOConfig(output_dir=str(scratch), **{**defaults, **settings}),
        **{"reward_funcs": rollout.reward, **own},
    )
