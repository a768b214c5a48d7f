"""A config as one level of dotted names, for services that compare runs by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def flat(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """`{"grpo": {"epochs": 2}}` as `("grpo.epochs", 2)`. Lists stay whole."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
