"""The problems of a config, all reported at once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import reduce
from typing import Any

from pydantic import ValidationError

from gymposium.errors import BadOption
from gymposium_train.config.schema import (
    Path,
    describe_values,
    find_child_value,
    find_node,
    format_path,
    suggest_paths,
)


class BadConfig(BadOption):
    """Error for an invalid config. `problems` are sentences that begin with the path of a setting."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        text = "\n  ".join([f"{len(self.problems)} settings are invalid:", *self.problems])
        super().__init__(text if len(self.problems) > 1 else self.problems[0])


def explain_errors(error: ValidationError, data: Any) -> BadConfig:
    """Make a config error from pydantic's errors for these data. Each sentence has the path, the value, and the allowed
    values."""
    errors = error.errors(include_url=False)
    # pydantic also reports a list with an invalid entry as too short
    outer = {details["loc"][:depth] for details in errors for depth in range(len(details["loc"]))}
    # pydantic reports a setting with several types once per type
    return BadConfig(dict.fromkeys(_explain_error(details, data) for details in errors if details["loc"] not in outer))


def _explain_error(details: Any, data: Any) -> str:
    path: Path = details["loc"]
    value, node = details["input"], find_node(path, data)
    if details["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{format_path(path)}: unknown setting. {suggest_paths(path, data)}"
    for depth in range(len(path)):
        if (table := find_node(path[:depth], data)) is not None and "anyOf" in table:
            path, node = path[:depth], table  # pydantic appends the type it tried
            value = reduce(find_child_value, path, data)
            break
    if details["type"] == "missing" and node is not None:
        return f"{format_path(path)} is missing. It must be {describe_values(node)}."
    setting = f"{format_path(path)} = {format_value(value)}" if path else "The config"
    if details["type"] == "value_error" or node is None:  # our own text, from a settings class
        return f"{setting}: {details['msg'].removeprefix('Value error, ')}"
    return f"{setting}: it must be {describe_values(node)}."


def format_value(value: Any) -> str:
    """Format a value as one line of JSON, at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
