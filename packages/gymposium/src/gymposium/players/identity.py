"""Player identities, which tell players with the same name apart.

`lm:runs/tuned` is only a name. The actual player depends on the current files in that folder and on the code that reads
them. A board entry stores both.
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
"""Key of the fact that names the player an adversary was fitted to.

On a board, the adversary plays only that player, and is excluded from ratings and ranks."""
FITTED_FILES = "fitted_to_files"
"""Key of the fact with the digest (`digest_files`) of that player's files at the time of fitting."""

_version = cache(version)


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything except code that determines a player's replies (`gymposium.players.protocol.IdentifiedPlayer`)."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Digests (`digest_file`) of the files that determine its moves, such as weights, an adapter and a tokenizer.

    Keys are paths as in the player's name, so anyone with the files can compare them."""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """Other facts, such as a service's address and the model that it serves."""
    decoding: Mapping[str, Fact] = field(default_factory=dict)
    """Decoding settings: temperature, length, and how much of the match the player reads."""


def digest_file(path: str | Path) -> str:
    """Return `sha256:` plus a file's digest."""
    with open_plain(path) as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def digest_files(files: Mapping[str, str]) -> str:
    """Return `sha256:` plus the digest of an identity's files. It does not depend on their location."""
    return f"sha256:{hashlib.sha256(' '.join(sorted(files.values())).encode()).hexdigest()}"


def locate_code(spec: OpponentSpec) -> dict[str, str]:
    """Return where a player's code comes from: a distribution and its version, or a one-file plugin and its digest."""
    plugin = host().owner(spec)
    if plugin.distribution:
        return {"distribution": plugin.distribution, "version": plugin.version or _version(plugin.distribution)}
    return {"file": Path(plugin.source).name, "digest": digest_file(plugin.source)}
