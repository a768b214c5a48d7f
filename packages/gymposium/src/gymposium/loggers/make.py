"""The loggers that a config names: checked, made, held to their promise, closed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, GymposiumError, LoggerError, MissingExtra, UnknownName, describe
from gymposium.loggers.protocol import Logger, LoggerStart, Metrics
from gymposium.plugins.first_party import FIRST_PARTY, check_first_party
from gymposium.plugins.host import host
from gymposium.settings import read_settings


@dataclass(frozen=True, slots=True)
class NamedLogger:
    """A logger under the name that a config has for it. What it raises becomes a `LoggerError` that says whose it is
    and what to do; our own errors say that themselves."""

    name: str
    logger: Logger

    def log(self, step: int, metrics: Metrics) -> None:
        """Raises `LoggerError` where the logger fails, a metric is neither a number nor text, or one is called `step`,
        which is the name of the step itself."""
        for name, value in metrics.items():
            if name in ("", "step") or not isinstance(value, int | float | str):
                raise LoggerError(
                    f"Metric {name!r} of step {step} is {value!r}; give a number or text, under a name that is not "
                    f"empty and not 'step'."
                )
        with self._named(f"failed at step {step}"):
            self.logger.log(step, metrics)

    def artifact(self, name: str, path: Path) -> None:
        """Raises `LoggerError` where the logger fails."""
        with self._named(f"could not keep {path}"):
            self.logger.artifact(name, path)

    def close(self, error: BaseException | None = None) -> None:
        """Raises `LoggerError` where the logger fails."""
        with self._named("could not be closed"):
            self.logger.close(error)

    @contextmanager
    def _named(self, what: str) -> Iterator[None]:
        try:
            yield
        except GymposiumError:
            raise
        except Exception as error:  # whatever a service's library may raise
            raise LoggerError(
                f"Logger {self.name} {what}: {describe(error).rstrip('.')}. Fix that, or remove "
                f"[loggers.{self.name}] from the config, and resume the run."
            ) from error


def check_loggers(options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The settings of each logger, by name, as its own class has them. Nothing is started, and no service's library is
    imported. Raises `UnknownName` with the nearest loggers or options, `BadOption`, `PluginError`, and `MissingExtra`
    for a logger of gymposium-loggers where that is not installed."""
    return {name: _check(name, given) for name, given in options.items()}


def _check(name: str, given: Mapping[str, Any]) -> Any:
    known = host().loggers
    if name not in known:
        check_first_party("logger", name)
        raise UnknownName("logger", name, {*known, *FIRST_PARTY["logger"]})
    if not isinstance(given, Mapping):
        raise BadOption(f"loggers.{name} is {given!r}; give a table of options, which may be empty: [loggers.{name}]")
    return read_settings(f"[loggers.{name}]", host().settings(known[name]), given)


def check_installed(options: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises `MissingExtra` where a library that one of these loggers needs is not installed; none is imported."""
    for name in options:
        spec = host().loggers[name]
        if spec.needs and importlib.util.find_spec(spec.needs) is None:
            raise MissingExtra(f"{spec.needs}, which the logger {name!r} needs,", spec.install or spec.needs)


def make_loggers(options: Mapping[str, Mapping[str, Any]], start: LoggerStart) -> list[Logger]:
    """The loggers of a run, in the order of `options`: the name of each with its options, as `[loggers.NAME]` tables
    of a config have them.

    All options are checked before the first logger starts. Where one cannot start, those before it are closed and the
    error says what to do: `LoggerError`, or whatever `check_loggers` raises."""
    made: list[Logger] = []
    for name, settings in check_loggers(options).items():
        try:
            made.append(NamedLogger(name, _make(name, settings, start)))
        except BaseException as error:
            close_loggers(made, error)
            raise
    return made


def _make(name: str, settings: Any, start: LoggerStart) -> Logger:
    factory = host().implementation(host().loggers[name])
    try:
        logger: Logger = factory(start, settings)
    except GymposiumError:
        raise
    except Exception as error:  # whatever a service's library may raise
        raise LoggerError(
            f"Logger {name} could not start: {describe(error).rstrip('.')}. Fix that, or remove [loggers.{name}] from "
            f"the config."
        ) from error
    return logger


def close_loggers(loggers: Iterable[Logger], error: BaseException | None = None) -> None:
    """Close every logger, whatever becomes of the others. With an `error`, which ended the run and goes on its way,
    what fails here becomes a note of it; without one the first `LoggerError` is raised, with notes of the others."""
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
