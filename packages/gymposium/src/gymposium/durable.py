"""Files and directories that appear whole or not at all, however the process that writes them ends."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gymposium.errors import GymposiumError

MARK = "COMPLETE"
"""Stands in a directory that was written to its end, so that half a copy of one is not taken for it."""


@contextmanager
def whole_directory(target: Path) -> Iterator[Path]:
    """A staging directory beside `target`, to be filled. Behind the block its files are marked, synced to the disk
    and published under the name `target` by one rename; where the block raises, nothing is left. A process that is
    killed leaves the staging directory, hidden, for `sweep`.

    Raises `FileExistsError` or `OSError` where `target` is a directory that holds something."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    staging.mkdir()
    try:
        yield staging
        (staging / MARK).touch()
        for path in sorted(staging.rglob("*")):
            sync(path)
        sync(staging)
        staging.rename(target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    sync(target.parent)


def replace_text(file: Path, text: str) -> None:
    """Put `text` in place of what a small file says: whoever reads it sees the old or the new, never half."""
    with replaced(file) as staging:
        staging.write_text(text, encoding="utf-8")


@contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """A staging file beside `file`, to be written. Behind the block it is synced to the disk and takes the place of
    `file` by one rename; where the block raises, `file` is as it was.

    Raises `GymposiumError` where the disk is full or fails."""
    staging = file.with_name(f".{file.name}.partial")
    try:
        yield staging
        sync(staging)
        staging.replace(file)
    except OSError as error:
        staging.unlink(missing_ok=True)
        raise GymposiumError(f"{file} cannot be written ({error.strerror or error}).") from error
    except BaseException:
        staging.unlink(missing_ok=True)
        raise
    sync(file.parent)


def remove_directory(directory: Path) -> None:
    """Remove a directory: it is out of sight at once, however slowly its files go."""
    doomed = directory.with_name(f".{directory.name}.{secrets.token_hex(4)}.partial")
    directory.rename(doomed)
    shutil.rmtree(doomed)


def sweep(parent: Path, beginning: str) -> None:
    """Remove what killed writers and removers of directories whose names begin like this left in `parent`. Only for
    a process that alone writes them."""
    for leftover in parent.glob(f".{beginning}*.partial"):
        shutil.rmtree(leftover)


def sync(path: Path) -> None:
    """Bring a file or a directory's entries to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
