"""Checking, creating, guarding and closing the loggers named in a config."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.errors import GymposiumError, LoggerError, MissingExtra, describe_error
from gymposium.plugins.first_party import make_unknown_name
from gymposium.plugins.host import host
from gymposium.runs.loggers.protocol import Logger, LoggerStart, Metrics
from gymposium.util.settings import read_settings


@dataclass(frozen=True, slots=True)
class NamedLogger:
    """A logger with its name in the config.

    Its exceptions become a `LoggerError` with that name and a fix. A `GymposiumError` is raised unchanged."""

    name: str
    logger: Logger

    def log(self, step: int, metrics: Metrics) -> None:
        """Log the metrics of a step.

        Raises `LoggerError` if the logger fails, if a metric is neither a number nor text, or if a name is `step`."""
        for name, value in metrics.items():
            if name in ("", "step") or not isinstance(value, int | float | str):
                raise LoggerError(
                    f"Metric {name!r} of step {step} is {value!r}. Use a number or a string as the value, and a name "
                    f"that is not empty and not 'step'."
                )
        with _wrap_errors(self.name, f"failed at step {step}", "resume the run"):
            self.logger.log(step, metrics)

    def artifact(self, name: str, path: Path) -> None:
        """Store a file. Raises `LoggerError` if the logger fails."""
        with _wrap_errors(self.name, f"could not keep {path}", "resume the run"):
            self.logger.artifact(name, path)

    def close(self, error: BaseException | None = None) -> None:
        """Close the logger. Raises `LoggerError` if it fails."""
        with _wrap_errors(self.name, "could not be closed", "resume the run"):
            self.logger.close(error)


@contextmanager
def _wrap_errors(name: str, what: str, then: str) -> Iterator[None]:
    """Turn an exception in the block into a `LoggerError`. `what` says what went wrong and `then` what to do."""
    try:
        yield
    except GymposiumError:
        raise
    except Exception as error:  # a service's library may raise anything
        raise LoggerError(
            f"Logger {name} {what}: {describe_error(error).rstrip('.')}. Fix it, or remove [loggers.{name}] from the "
            f"config, and {then}."
        ) from error


def check_loggers(options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return each logger's settings by name, as an object of its settings class.

    Nothing is started, and no service library is imported. Raises `UnknownName` with the nearest loggers or options,
    `BadOption`, and `PluginError`. Raises `MissingExtra` for a logger in gymposium-loggers if that distribution is not
    installed."""
    return {name: _read_options(name, given) for name, given in options.items()}


def _read_options(name: str, given: Mapping[str, Any]) -> Any:
    known = host().loggers
    if name not in known:
        raise make_unknown_name("logger", name, known, host().plugins)
    return read_settings(f"[loggers.{name}]", host().settings(known[name]), given)


def check_installed(options: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `MissingExtra` if one of these loggers needs a missing library. Nothing is imported."""
    for name in options:
        spec = host().loggers[name]
        if spec.needs and importlib.util.find_spec(spec.needs) is None:
            raise MissingExtra(f"{spec.needs}, which the logger {name!r} needs,", spec.install or spec.needs)


def make_loggers(options: Mapping[str, Mapping[str, Any]], start: LoggerStart) -> list[Logger]:
    """Create a run's loggers from `options`, which maps each name to its table `[loggers.NAME]`, in order.

    All options are checked before the first logger starts. If a logger cannot start, those before it are closed. Raises
    `LoggerError`, and the errors of `check_loggers` and `check_installed`."""
    made: list[Logger] = []
    checked = check_loggers(options)
    check_installed(options)
    for name, settings in checked.items():
        try:
            with _wrap_errors(name, "could not start", "start the run again"):
                made.append(NamedLogger(name, host().implementation(host().loggers[name])(start, settings)))
        except BaseException as error:
            close_loggers(made, error)
            raise
    return made


def close_loggers(loggers: Iterable[Logger], error: BaseException | None = None) -> None:
    """Close every logger, even if another one fails to close.

    `error` is the error that ended the run, if any. Failures to close are added to it as notes. If there is no such
    error, the first failure is raised, with the others as notes."""
    ended = error
    for logger in loggers:
        try:
            logger.close(ended)
        except GymposiumError as failure:
            if error is None:
                error = failure
            else:
                error.add_note(str(failure))
    if error is not None and error is not ended:
        raise error
