"""Who a player is: what tells it from another that is written the same.

`lm:runs/tuned` is a name. What plays under it are the files that lie there today, read by code of some version. An
entry on a board names both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

from gymposium.plugins.host import host
from gymposium.plugins.specs import OpponentSpec

Fact = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Identity:
    """What a player is made of besides its code (`gymposium.players.protocol.Identified`)."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Digests (`file_digest`) of the files that decide its moves: weights, an adapter, a tokenizer. By path, as far as
    the player's own text leads there, so that whoever has them can look."""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """What else it is: the model that a service is asked for, and where."""
    decoding: Mapping[str, Fact] = field(default_factory=dict)
    """How its replies are made: temperature, length, what it reads of the match so far."""


def file_digest(path: str | Path) -> str:
    """`sha256:` and the digest of a file."""
    with open(path, "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def code_of(spec: OpponentSpec) -> dict[str, str]:
    """Where the code of a kind of player comes from: a distribution and its version, or the digest of a one-file
    plugin."""
    plugin = host().owner(spec)
    if plugin.distribution:
        return {"distribution": plugin.distribution, "version": plugin.version or _version(plugin.distribution)}
    return {"file": Path(plugin.source).name, "digest": file_digest(plugin.source)}


@cache
def _version(distribution: str) -> str:
    return version(distribution)
