"""Logger for Weights & Biases."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymposium.runs.loggers.protocol import LoggerStart, Metrics
from gymposium_loggers.run_ids import load_run_id, save_run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class WandbSettings:
    """Settings of `[loggers.wandb]`.

    The key is read from the environment (`WANDB_API_KEY`), as is the address of a self-hosted server
    (`WANDB_BASE_URL`). An earlier `wandb login` also works."""

    project: str = "gymposium"
    entity: str | None = None
    """User or team; by default the key's owner."""
    group: str | None = None
    tags: tuple[str, ...] = ()
    mode: Literal["online", "offline"] | None = None
    """`offline` writes files that `wandb sync` sends later. The default is `WANDB_MODE`, or else `online`."""


class WandbLogger:
    """A logger that plots metrics over `step`, which is also logged as a metric.

    W&B's own step count cannot go back, so it would drop steps that a resumed run repeats. A resumed run keeps its W&B
    id. W&B stores data that it cannot send, and sends it later."""

    def __init__(self, start: LoggerStart, settings: WandbSettings) -> None:
        """Raise W&B's errors if it refuses the key or the project."""
        import wandb

        self._artifact: Any = wandb.Artifact
        known = load_run_id(start, "wandb")
        self._id = known or secrets.token_hex(8)
        self._run: Any = wandb.init(
            project=settings.project,
            entity=settings.entity,
            group=settings.group,
            tags=list(settings.tags) or None,
            mode=settings.mode,
            name=start.run,
            dir=str(start.directory),
            config=dict(start.config),
            id=self._id,
            resume="allow" if known else "never",
            reinit="create_new",  # leaves an existing run of the same process alone
        )
        save_run_id(start, "wandb", self._id)
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")

    def log(self, step: int, metrics: Metrics) -> None:
        self._run.log({**metrics, "step": step})

    def artifact(self, name: str, path: Path) -> None:
        artifact = self._artifact(f"{name}-{self._id}", type="file")
        artifact.add_file(str(path))
        self._run.log_artifact(artifact)

    def close(self, error: BaseException | None = None) -> None:
        self._run.finish(exit_code=0 if error is None else 1)
