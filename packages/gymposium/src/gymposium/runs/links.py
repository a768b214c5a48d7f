"""Symbolic links in a directory that is looked at."""

from __future__ import annotations

from pathlib import Path


def leads_out(path: Path, directory: Path) -> bool:
    """Whether a path below the directory is, by a symbolic link in it, a place outside. Nothing there is read: whoever
    put the link there may not be who shows the directory."""
    return not path.resolve().is_relative_to(directory.resolve())
