"""Checks for links and SQLite journals that lead out of a directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from gymposium.errors import BadOption
from gymposium.util.plain_file import open_plain

_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""Last bytes of an SQLite rollback journal that names another journal."""


def escapes_directory(path: Path, directory: Path) -> bool:
    """Return whether a symbolic link makes a path below the directory point outside it.

    Such files are not read, because the link's author may not be the person who shows the directory."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(directory))


def is_shared(path: Path) -> bool:
    """Return whether a file has several hard links, so another path shares its content."""
    found = path.stat(follow_symlinks=False)
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def check_contained(directory: Path, *names: str) -> None:
    """Check that writes in an untrusted directory stay inside it.

    Raises `BadOption` with the first link that leads outside, hard link, pipe, device, or SQLite journal that names
    another file. With `names`, only these files and folders are checked. The directory itself may be a link."""
    for path in _list_paths(directory, names):
        if path.is_symlink() and escapes_directory(path, directory):
            raise BadOption(
                f"{path} is a symbolic link that leads out of {directory}. Replace the link with its target, because "
                f"nothing is written through it."
            )
        if not path.exists():
            continue
        if not (path.is_file() or path.is_dir()):
            raise BadOption(f"{path} is not a regular file or a folder. Remove it.")
        if is_shared(path):
            raise BadOption(f"{path} is a hard link to another file. Replace it with a copy.")
        if path.name.endswith("-journal") and path.is_file() and _names_other_journal(path):
            raise BadOption(f"{path} is an SQLite journal that would delete another file. Remove it.")


def _names_other_journal(journal: Path) -> bool:
    """Return whether a rollback journal names another journal, which SQLite deletes after a rollback."""
    with open_plain(journal) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - len(_JOURNAL)))
        return file.read() == _JOURNAL


def _list_paths(directory: Path, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files and folders below these names, or those in the whole directory. Links are not followed."""
    yield from (directory / name for name in names)
    for top in [directory / name for name in names] or [directory]:
        if top == directory or not top.is_symlink():
            for folder, folders, files in os.walk(top):
                yield from (Path(folder, name) for name in sorted((*folders, *files)))
