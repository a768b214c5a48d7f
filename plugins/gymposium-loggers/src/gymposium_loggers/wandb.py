"""Weights & Biases."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymposium.errors import MissingExtra
from gymposium.loggers.protocol import LoggerStart, Metrics
from gymposium_loggers.kept import keep, recall


@dataclass(frozen=True, slots=True, kw_only=True)
class WandbSettings:
    """`[loggers.wandb]`. The key is `WANDB_API_KEY`, and a server of your own is `WANDB_BASE_URL`, both of the
    environment; an earlier `wandb login` will do as well."""

    project: str = "gymposium"
    entity: str | None = None
    """The user or team; by default the key's own."""
    group: str | None = None
    tags: tuple[str, ...] = ()
    mode: Literal["online", "offline"] | None = None
    """`offline` writes files that `wandb sync` sends later. By default what `WANDB_MODE` says, or online."""


class WandbLogger:
    """Metrics over `step`, which is a metric itself: W&B's own step count may not go back, and drops whatever does, as
    a resumed run must.

    A run that resumes goes on under the id of the first process. W&B keeps what it cannot send and sends it later."""

    def __init__(self, start: LoggerStart, settings: WandbSettings) -> None:
        """Raises `MissingExtra`, and whatever W&B raises where the key or the project is refused."""
        try:
            import wandb
        except ModuleNotFoundError as error:
            raise MissingExtra("wandb, the library of Weights & Biases,", '"gymposium-loggers[wandb]"') from error
        self._artifact: Any = wandb.Artifact
        known = recall(start, "wandb")
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
            reinit="create_new",  # a run that the same process has already is somebody else's
        )
        keep(start, "wandb", self._id)
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
