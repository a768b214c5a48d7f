"""The plugin gymposium-loggers: five loggers, each configured by a table in a training config."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import LoggerSpec, hookimpl

_LOGGERS = (
    ("tensorboard", "Tensorboard", "Event files for TensorBoard, in the run's directory."),
    ("wandb", "Wandb", "Weights & Biases: its service, a server of your own, or files to send later."),
    ("trackio", "Trackio", "trackio: a local dashboard, or one on a Hugging Face Space."),
    ("mlflow", "Mlflow", "MLflow: a tracking server, or a database in the run's directory."),
    ("langfuse", "Langfuse", "Langfuse: a trace for each step, with its metrics as scores."),
)

_SERVICE = "a service of the network"
_OPENS = {
    "tensorboard": {"folder": "a folder"},
    "wandb": {"": _SERVICE, "entity": "another account"},
    "trackio": {"space": "a Space of the hub", "server": "an address"},
    "mlflow": {"tracking_uri": "an address"},
    "langfuse": {"": _SERVICE, "host": "an address"},
}


@hookimpl
def gymposium_loggers() -> Iterable[LoggerSpec]:
    for name, stem, summary in _LOGGERS:
        yield LoggerSpec(
            name=name,
            summary=summary,
            entry_point=f"gymposium_loggers.{name}:{stem}Logger",
            settings=f"gymposium_loggers.{name}:{stem}Settings",
            needs=name,
            install=f'"gymposium-loggers[{name}]"',
            opens=_OPENS[name],
            examples=({},) if name == "tensorboard" else (),  # the others need a service, or start slowly
        )
