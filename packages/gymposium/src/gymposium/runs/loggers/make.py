"""The loggers that a config names: their settings checked, made, guarded, and closed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.errors import GymposiumError, LoggerError, MissingExtra, describe
from gymposium.plugins.first_party import unknown_name
from gymposium.plugins.host import host
from gymposium.runs.loggers.protocol import Logger, LoggerStart, Metrics
from gymposium.util.settings import read_settings


@dataclass(frozen=True, slots=True)
class NamedLogger:
    """A logger with its name in the config. Its exceptions become a `LoggerError`, which has that name and says what to
    do; a `GymposiumError` is raised unchanged."""

    name: str
    logger: Logger

    def log(self, step: int, metrics: Metrics) -> None:
        """Log the metrics of a step.

        Raises `LoggerError` if the logger fails, a metric is neither a number nor text, or a name is `step`."""
        for name, value in metrics.items():
            if name in ("", "step") or not isinstance(value, int | float | str):
                raise LoggerError(
                    f"Metric {name!r} of step {step} is {value!r}; give a number or text, under a name that is not "
                    f"empty and not 'step'."
                )
        with _named(self.name, f"failed at step {step}", "resume the run"):
            self.logger.log(step, metrics)

    def artifact(self, name: str, path: Path) -> None:
        """Store a file. Raises `LoggerError` if the logger fails."""
        with _named(self.name, f"could not keep {path}", "resume the run"):
            self.logger.artifact(name, path)

    def close(self, error: BaseException | None = None) -> None:
        """Close the logger. Raises `LoggerError` if it fails."""
        with _named(self.name, "could not be closed", "resume the run"):
            self.logger.close(error)


@contextmanager
def _named(name: str, what: str, then: str) -> Iterator[None]:
    """Turns an exception in the block into a `LoggerError` that says `what` went wrong and what to do `then`."""
    try:
        yield
    except GymposiumError:
        raise
    except Exception as error:  # the library of a service may raise anything
        raise LoggerError(
            f"Logger {name} {what}: {describe(error).rstrip('.')}. Fix that, or remove [loggers.{name}] from the "
            f"config, and {then}."
        ) from error


def check_loggers(options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The settings of each logger by name, as objects of its settings class. Nothing is started, and no library of a
    service is imported.

    Raises `UnknownName` with the nearest loggers or options, `BadOption`, `PluginError`, and `MissingExtra` for a
    logger of gymposium-loggers if that is not installed."""
    return {name: _check(name, given) for name, given in options.items()}


def _check(name: str, given: Mapping[str, Any]) -> Any:
    known = host().loggers
    if name not in known:
        raise unknown_name("logger", name, known, host().plugins)
    return read_settings(f"[loggers.{name}]", host().settings(known[name]), given)


def check_installed(options: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `MissingExtra` if a library that one of these loggers needs is not installed. None is imported."""
    for name in options:
        spec = host().loggers[name]
        if spec.needs and importlib.util.find_spec(spec.needs) is None:
            raise MissingExtra(f"{spec.needs}, which the logger {name!r} needs,", spec.install or spec.needs)


def make_loggers(options: Mapping[str, Mapping[str, Any]], start: LoggerStart) -> list[Logger]:
    """Make the loggers of a run. `options` holds the table `[loggers.NAME]` of each, by name, and gives the order.

    All options are checked before the first logger starts. If one cannot start, those before it are closed. Raises
    `LoggerError`, and as `check_loggers` does."""
    made: list[Logger] = []
    for name, settings in check_loggers(options).items():
        try:
            with _named(name, "could not start", "start the run again"):
                made.append(NamedLogger(name, host().implementation(host().loggers[name])(start, settings)))
        except BaseException as error:
            close_loggers(made, error)
            raise
    return made


def close_loggers(loggers: Iterable[Logger], error: BaseException | None = None) -> None:
    """Close every logger, also if another one fails to close. `error` is what ended the run, if anything did: failures
    to close become notes of it. Otherwise the first failure is raised, with the others as notes."""
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
