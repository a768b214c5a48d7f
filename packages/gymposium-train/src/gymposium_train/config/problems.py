"""What is wrong with a config, all of it at once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from gymposium.errors import BadOption
from gymposium_train.config.schema import Path, at, dotted, nearest, wanted


class BadConfig(BadOption):
    """Settings that cannot be. `problems` are sentences, each of which begins with the path of its setting."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        first, *more = self.problems
        text = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"{len(self.problems)} settings cannot be as they are:\n{text}" if more else first)


def explained(error: ValidationError) -> BadConfig:
    """Pydantic's findings as sentences: the path, what was given, and what may be."""
    errors = error.errors(include_url=False)
    # a list with a wrong entry is said to be too short as well
    outer = {found["loc"][:depth] for found in errors for depth in range(len(found["loc"]))}
    return BadConfig(_sentence(found) for found in errors if found["loc"] not in outer)


def _sentence(found: Any) -> str:
    path: Path = found["loc"]
    node = at(path)
    if found["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{dotted(path)}: there is no such setting. {nearest(path)}"
    if found["type"] == "missing" and node is not None:
        return f"{dotted(path)} is missing. It must be {wanted(node)}."
    given = f"{dotted(path)} = {shown(found['input'])}" if path else "The config"
    if found["type"] == "value_error" or node is None:  # a sentence of ours, from the settings' own class
        return f"{given}: {found['msg'].removeprefix('Value error, ')}"
    return f"{given}: it must be {wanted(node)}."


def shown(value: Any) -> str:
    """A value as it was given, on one line, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
