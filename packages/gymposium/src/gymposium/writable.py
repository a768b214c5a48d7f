"""Whether something can be written where it is to go: asked before the work, not behind it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from gymposium.errors import BadOption

_PROBE = b"\n" * 4096


def check_writable(option: str, path: Path) -> Path:
    """`path`, where a file or a folder can be made or written there. Nothing is left of the attempt. `option` is how
    the command line calls it, for the error.

    Raises `BadOption` with the reason where nothing can be written."""
    try:
        there = path
        while not there.exists():
            there = there.parent
        if there.is_dir():
            with tempfile.TemporaryFile(dir=there) as probe:
                probe.write(_PROBE)
        elif there == path:
            with open(path, "ab"):
                pass
        else:
            raise NotADirectoryError(0, f"{there} is no folder")
    except OSError as error:
        raise BadOption(f"{option} {path}: cannot be written ({error.strerror}).") from error
    return path
