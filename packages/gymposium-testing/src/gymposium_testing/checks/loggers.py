"""Check loggers: settings fit in a config, and runs can start, log, resume and close."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from gymposium.errors import BadOption, PluginError
from gymposium.plugins.specs import LoggerSpec, resolve_entry_point
from gymposium.runs.loggers.protocol import Logger, LoggerStart, Metrics
from gymposium.util.settings import read_settings
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, require
from gymposium_testing.parts import PluginPart

_METRICS: Metrics = {
    "rollout/reward": 0.5,
    "steps": 3,
    "loss/not_a_number": math.nan,
    "loss/infinite": math.inf,
    "sample": "two lines\nof text: é ∑",
}


def logger_settings_are_valid(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """The settings are a frozen dataclass whose defaults and examples are valid in a config file."""
    spec = cast(LoggerSpec, part.spec)
    kind: Any = resolve_entry_point(spec.settings)
    frozen = hasattr(kind, "__dataclass_params__") and kind.__dataclass_params__.frozen
    require(frozen, f"the settings are {kind!r}", "write them as a @dataclass(frozen=True).")
    defaults = {field.name: field.default for field in fields(kind) if field.init and field.default is not MISSING}
    for options in (defaults, part.example):
        try:
            if isinstance(options, Mapping):
                read_settings(f"[loggers.{spec.name}]", kind, {k: v for k, v in options.items() if v is not None})
        except BadOption as error:
            if options is defaults and "is missing" in str(error):
                continue  # an option without a default is required
            raise CheckFailed(str(error), fix="make types, defaults and examples agree.") from error
        except PluginError as error:
            raise CheckFailed(str(error), fix="use types that read_settings supports.") from error


def loggers_accept_numbers_and_text(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A logger accepts numbers (NaN and infinity included), text and files, and closes."""
    with TemporaryDirectory(prefix="gymposium-logger-") as directory:
        logger = _start_logger(part, directory)
        logger.log(0, _METRICS)
        logger.log(0, {"more": 1.0})  # a step may be logged in several calls
        logger.log(5, _METRICS)
        report = Path(directory) / "report.txt"
        report.write_text("done\n", encoding="utf-8")
        logger.artifact("report", report)
        logger.close()


def loggers_close_after_an_error(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A logger closes after an error, even before anything was logged."""
    for error, steps in ((RuntimeError("the run failed"), 0), (KeyboardInterrupt(), 1)):
        with TemporaryDirectory(prefix="gymposium-logger-") as directory:
            logger = _start_logger(part, directory)
            for step in range(steps):
                logger.log(step, _METRICS)
            logger.close(error)


def loggers_continue_after_a_resume(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A resumed run continues in the same directory, from a step that was already logged."""
    with TemporaryDirectory(prefix="gymposium-logger-") as directory:
        for first_step in (0, 1):
            logger = _start_logger(part, directory, resumed=first_step > 0, step=first_step)
            for step in range(first_step, 3):
                logger.log(step, _METRICS)
            logger.close()


def _start_logger(part: PluginPart, directory: str, *, resumed: bool = False, step: int = 0) -> Logger:
    """Start the logger with the settings from its example. Raises `NotApplicable` if its library is not installed."""
    spec = cast(LoggerSpec, part.spec)
    if spec.needs and importlib.util.find_spec(spec.needs) is None:
        raise NotApplicable(f"it needs {spec.needs}, which is not installed")
    settings = read_settings(
        f"[loggers.{spec.name}]", resolve_entry_point(spec.settings), cast("Mapping[str, Any]", part.get_example())
    )
    start = LoggerStart(run="check", directory=Path(directory), config={"steps": 3}, resumed=resumed, step=step)
    logger: Logger = resolve_entry_point(spec.entry_point)(start, settings)
    return logger
