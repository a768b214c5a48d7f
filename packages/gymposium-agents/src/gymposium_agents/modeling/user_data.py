"""The user's data directory, where commands install what they fetch."""

from __future__ import annotations

import os
from pathlib import Path


def find_data_directory() -> Path:
    """Return the directory `gymposium` in $XDG_DATA_HOME, by default in ~/.local/share."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "gymposium"
