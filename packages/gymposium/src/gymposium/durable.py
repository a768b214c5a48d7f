"""Writing files and directories so that they appear completely or not at all, even if the process is killed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gymposium.errors import GymposiumError

MARK = "COMPLETE"
"""Name of an empty file in every finished directory. An incomplete copy of the directory lacks it."""


@contextmanager
def whole_directory(target: Path) -> Iterator[Path]:
    """Yields a staging directory beside `target`, to be filled in the block. After the block its files are synced to
    the disk and it is renamed to `target`; if the block raises, it is removed. A process that is killed leaves the
    staging directory, which is hidden, for `sweep`.

    Raises `FileExistsError` or `OSError` if `target` is a directory that is not empty."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = _hidden(target)
    staging.mkdir()
    try:
        yield staging
        (staging / MARK).touch()
        for path in (*sorted(staging.rglob("*")), staging):
            sync(path)
        staging.rename(target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    sync(target.parent)


def replace_text(file: Path, text: str) -> None:
    """Replaces the text of a small file. A reader sees the old or the new text, never a part of it."""
    with replaced(file) as staging:
        staging.write_text(text, encoding="utf-8")


@contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """Yields a staging file beside `file`, to be written in the block. After the block it is synced to the disk and
    renamed to `file`; if the block raises, `file` is unchanged.

    Raises `GymposiumError` if the disk is full or fails."""
    staging = file.with_name(f".{file.name}.partial")
    try:
        yield staging
        sync(staging)
        staging.replace(file)
    except BaseException as error:
        staging.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise GymposiumError(f"{file} cannot be written ({error.strerror or error}).") from error
        raise
    sync(file.parent)


def remove_directory(directory: Path) -> None:
    """Removes a directory. Its name is free at once, even if deleting the files takes long."""
    hidden = _hidden(directory)
    directory.rename(hidden)
    shutil.rmtree(hidden)


def sweep(parent: Path, prefix: str) -> None:
    """Removes what killed processes left in `parent` while they wrote or removed directories with this prefix. Call it
    only if no other process writes them."""
    for leftover in parent.glob(f".{prefix}*.partial"):
        shutil.rmtree(leftover)


def sync(path: Path) -> None:
    """Writes a file, or the entries of a directory, through to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _hidden(path: Path) -> Path:
    """A new hidden name beside `path`, which `sweep` finds."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
