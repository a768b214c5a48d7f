"""Symbolic links that lead out of a directory."""

from __future__ import annotations

from pathlib import Path


def leads_out(path: Path, directory: Path) -> bool:
    """True if a symbolic link takes a path below the directory to a place outside of it. Such files are not read: the
    person who made the link may not be the person who shows the directory."""
    return not path.resolve().is_relative_to(directory.resolve())
