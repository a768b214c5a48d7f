"""The identity of a player: what tells it from other players with the same name.

`lm:runs/tuned` is a name. The player behind it is made of the files that are in this folder now, and of the code that
reads them. An entry on a board names both.
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
from gymposium.util.plain_file import open_plain

Fact = str | int | float | bool | None
FITTED_TO = "fitted_to"
"""The fact that names the one player that an adversary was fitted to. On a board it meets that player alone, and it
stands outside ratings and ranks."""
FITTED_FILES = "fitted_to_files"
"""The fact that holds the digest (`digest_of_files`) of the files of that player when the adversary was fitted."""

_version = cache(version)


@dataclass(frozen=True, slots=True)
class Identity:
    """What decides a player's replies besides its code (`gymposium.players.protocol.Identified`)."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Digests (`file_digest`) of the files that decide its moves, such as weights, an adapter and a tokenizer. The keys
    are paths as the player's name gives them, so that anybody with the files can compare them."""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """Other facts, such as the address of a service and the model that it serves."""
    decoding: Mapping[str, Fact] = field(default_factory=dict)
    """Settings of decoding: temperature, length, how much of the match so far the player reads."""


def file_digest(path: str | Path) -> str:
    """Return `sha256:` with the digest of a file."""
    with open_plain(path) as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def digest_of_files(files: Mapping[str, str]) -> str:
    """Return `sha256:` with the digest of an identity's files, wherever they are."""
    return f"sha256:{hashlib.sha256(' '.join(sorted(files.values())).encode()).hexdigest()}"


def code_of(spec: OpponentSpec) -> dict[str, str]:
    """Return where the code of a kind of player comes from: a distribution and its version, or a one-file plugin and
    its digest."""
    plugin = host().owner(spec)
    if plugin.distribution:
        return {"distribution": plugin.distribution, "version": plugin.version or _version(plugin.distribution)}
    return {"file": Path(plugin.source).name, "digest": file_digest(plugin.source)}
