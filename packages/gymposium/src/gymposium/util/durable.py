"""Atomic writing of files and directories. They appear completely or not at all."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from gzip import GzipFile
from pathlib import Path
from typing import BinaryIO

from gymposium.errors import GymposiumError
from gymposium.util.plain_file import is_compressed, open_plain

if sys.platform != "win32":
    import fcntl

MARK = "COMPLETE"
"""Name of the empty file that marks a finished directory. An incomplete copy of the directory lacks it."""

_NEW = os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Flags that only create new files and do not follow links."""


@contextmanager
def write_directory(target: Path) -> Iterator[Path]:
    """Yield a staging directory beside `target`, to be filled in the block.

    After the block, its files are synced and it is renamed to `target`. If the block raises, the staging directory is
    removed. A killed process leaves it behind, hidden, for `sweep`.

    Raises `FileExistsError` or `OSError` if `target` is a nonempty directory."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = make_staging_path(target)
    staging.mkdir()
    try:
        yield staging
        (staging / MARK).touch()
        for path in (*sorted(staging.rglob("*")), staging):
            sync_path(path)
        staging.rename(target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    sync_path(target.parent)


def replace_text(file: Path, text: str) -> None:
    """Replace the text of a small file atomically."""
    with replace_file(file) as staging:
        staging.write(text.encode())


@contextmanager
def replace_file(file: Path) -> Iterator[BinaryIO]:
    """Yield a staging file beside `file`, to be written in the block.

    After the block, it is synced and renamed to `file`. If the block raises, `file` is unchanged. Staging files of
    killed processes are removed first. A link at `file` is replaced, not followed.

    Raises `GymposiumError` if writing fails, for example on a full disk."""
    try:
        _sweep_files(file)
        staging = make_staging_path(file)
        with open(os.open(staging, os.O_RDWR | _NEW, 0o666), "wb") as opened:
            try:
                if sys.platform != "win32":
                    fcntl.flock(opened, fcntl.LOCK_EX)  # until it is renamed, so that no other process sweeps it
                yield opened
                opened.flush()
                os.fsync(opened.fileno())
                if sys.platform == "win32":
                    opened.close()  # Windows renames no open file
                staging.replace(file)
            except BaseException:
                staging.unlink(missing_ok=True)
                raise
        sync_path(file.parent)
    except OSError as error:
        raise GymposiumError(
            f"{file} cannot be written ({error.strerror or error}). Check its folder's permissions and free space."
        ) from error


@contextmanager
def replace_content(file: Path) -> Iterator[BinaryIO | GzipFile]:
    """Like `replace_file`, but compress the content if the name of `file` says so.

    Equal content gives equal bytes, because the header holds neither name nor time."""
    with replace_file(file) as staging:
        if not is_compressed(file):
            yield staging
            return
        with GzipFile(filename="", mode="wb", compresslevel=9, fileobj=staging, mtime=0) as packed:
            yield packed


def remove_directory(directory: Path) -> None:
    """Remove a directory, or a file in its place. The name is free immediately, even if deleting takes long."""
    hidden = make_staging_path(directory)
    directory.rename(hidden)
    _delete(hidden)


def make_empty_directory(directory: Path) -> None:
    """Make an empty directory in place of anything with its name, including a link, which is not followed. Only this
    user can write to it.

    Raises `OSError` if that is not permitted, such as for another user's file in `/tmp`."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(directory):
        remove_directory(directory)
    directory.mkdir(mode=0o755)


def remove_staging(parent: Path, prefix: str) -> None:
    """Remove staging directories with this prefix that killed processes left in `parent`.

    Call it only if no other process writes such directories."""
    for leftover in parent.glob(f".{glob.escape(prefix)}*.partial"):
        _delete(leftover)


def _delete(path: Path) -> None:
    """Delete a directory, or a file or link in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _sweep_files(file: Path) -> None:
    """Remove the staging files of `file` that no process is writing."""
    for leftover in file.parent.glob(f".{glob.escape(file.name)}.{'[0-9a-f]' * 8}.partial"):
        with suppress(OSError):  # a link, a folder, or a file that another process writes or has just renamed
            with open_plain(leftover, follow=False) as opened:
                if sys.platform != "win32":
                    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink()


def sync_path(path: Path) -> None:
    """Flush a file, or a directory's entries, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_staging_path(path: Path) -> Path:
    """Return a new hidden, unguessable path beside `path` that `sweep` can find."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
