"""Symbolic links that lead out of a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gymposium.errors import BadOption


def leads_out(path: Path, directory: Path) -> bool:
    """True if a symbolic link takes a path below the directory to a place outside of it. Such files are not read: the
    person who made the link may not be the person who shows the directory."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(directory))


def check_contained(directory: Path, *names: str) -> None:
    """Check that a directory of others can be worked in: no link in it leads out of it, so that whatever is written
    stays inside, and nothing in it is a pipe or a device. `names` limit the check to these files and folders in it. The
    directory itself may be a link.

    Raises `BadOption` with the first such path."""
    for path in _walk(directory, names):
        if path.is_symlink() and leads_out(path, directory):
            raise BadOption(
                f"{path} is a symbolic link that leads out of {directory}. Nothing is written there: replace the link "
                f"by what it leads to."
            )
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise BadOption(f"{path} is not a regular file or a folder. Remove it.")


def _walk(directory: Path, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files and folders below these names, or of the whole directory. Links are not followed."""
    yield from (directory / name for name in names)
    for top in [directory / name for name in names] or [directory]:
        if top == directory or not top.is_symlink():
            for folder, folders, files in os.walk(top):
                yield from (Path(folder, name) for name in sorted((*folders, *files)))
