"""Logger for MLflow tracking."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gymposium.errors import BadOption, LoggerError
from gymposium.runs.loggers.protocol import LoggerStart, Metrics
from gymposium_loggers.run_ids import load_run_id, save_run_id

_BATCH = 100
"""Maximum number of parameters or tags per request to MLflow. The limit for metrics is higher."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MlflowSettings:
    """Settings of `[loggers.mlflow]`.

    The credentials for a server are read from MLflow's environment variables: `MLFLOW_TRACKING_TOKEN`, or
    `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`."""

    experiment: str = "gymposium"
    tracking_uri: str | None = None
    """Server or database; by default `MLFLOW_TRACKING_URI`, or `mlflow.db` in the run's folder."""

    def __post_init__(self) -> None:
        """Raise `BadOption` if the address contains a password, because settings are stored and shown."""
        if self.tracking_uri is not None and urlsplit(self.tracking_uri).password is not None:
            raise BadOption(
                "[loggers.mlflow]: tracking_uri contains a password. Remove it from the config, "
                "and set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_URI, in the "
                "environment."
            )


class MlflowLogger:
    """A logger that writes numbers as metrics, text as tags, and the config as parameters and as a file. A tag contains
    the last logged text. Each call stores its data before it returns. Characters in names that MLflow refuses are
    replaced by `_`. A resumed run continues the same MLflow run; a step logged again appears twice."""

    def __init__(self, start: LoggerStart, settings: MlflowSettings) -> None:
        """Raise MLflow's errors if the server cannot be reached or refuses the run."""
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param, RunTag

        self._metric, self._tag = Metric, RunTag
        uri = settings.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
        here = Path(realpath(start.directory))
        self._client: Any = MlflowClient(tracking_uri=uri or f"sqlite:///{here / 'mlflow.db'}")
        known = load_run_id(start, "mlflow")
        if known is not None:
            self._run = known
            self._client.update_run(known, status="RUNNING")
            return
        experiment = self._client.get_experiment_by_name(settings.experiment)
        if experiment is None:
            place = None if uri else (here / "mlflow").as_uri()  # a server chooses its own place for files
            experiment_id = self._client.create_experiment(settings.experiment, artifact_location=place)
        else:
            experiment_id = experiment.experiment_id
        self._run = self._client.create_run(experiment_id, run_name=start.run).info.run_id
        save_run_id(start, "mlflow", self._run)
        for batch in _split_batches(
            [Param(_clean_name(name), str(value)) for name, value in flatten_config(start.config)]
        ):
            self._client.log_batch(self._run, params=batch)
        self._client.log_dict(self._run, dict(start.config), "config.json")

    def log(self, step: int, metrics: Metrics) -> None:
        """Log the metrics of a step. Raises `LoggerError` if two metrics get the same name in MLflow."""
        names = {name: _clean_name(name) for name in metrics}
        if len(set(names.values())) < len(names):
            raise LoggerError(f"Logger mlflow: two of {', '.join(names)} have the same name in MLflow. Rename one.")
        now = int(time.time() * 1000)
        for batch in _split_batches(list(metrics.items())):
            numbers = [self._metric(names[n], float(v), now, step) for n, v in batch if not isinstance(v, str)]
            texts = [self._tag(names[n], v) for n, v in batch if isinstance(v, str)]
            self._client.log_batch(self._run, metrics=numbers, tags=texts)

    def artifact(self, name: str, path: Path) -> None:
        self._client.log_artifact(self._run, str(path), artifact_path=name)

    def close(self, error: BaseException | None = None) -> None:
        status = "FINISHED" if error is None else "KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED"
        self._client.set_terminated(self._run, status)


def _split_batches(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[at : at + _BATCH] for at in range(0, len(items), _BATCH)]


def _clean_name(name: str) -> str:
    return re.sub(r"[^/\w.\- :]", "_", name)


def flatten_config(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings of a nested config under dotted names: `{"grpo": {"epochs": 2}}` yields `("grpo.epochs", 2)`.

    Lists are not flattened."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from flatten_config(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
