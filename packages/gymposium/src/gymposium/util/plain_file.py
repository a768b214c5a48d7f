"""Bounded reading of untrusted files: only regular files, up to a maximum size.

Line-based files may be compressed with gzip. Their names then end in `.gz`.
"""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import BadGzipFile, GzipFile
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO

from gymposium.errors import BadOption

MOST_BYTES = 64 * 2**20
"""Maximum size in bytes of a file that is read as a whole, or of a line in a file that is read by lines."""
MOST_UNPACKED = 2**30
"""Maximum uncompressed size of a file, in bytes."""
_ENDING = ".gz"
_MAGIC = b"\x1f\x8b"


def open_plain(path: str | Path, *, follow: bool = True) -> BufferedReader:
    """Open a regular file for reading. `follow=False` also rejects symbolic links.

    Raises `OSError`. This includes pipes, devices and folders, which are never waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_plain(path: str | Path) -> None:
    """Check a file that a library opens by its path. Raises the errors of `open_plain`."""
    open_plain(path).close()


def read_plain(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Read a regular file. Raises `OSError` if this fails or the file has more than `most` bytes."""
    with open_plain(path) as file:
        if os.fstat(file.fileno()).st_size <= most and len(content := file.read(most + 1)) <= most:
            return content
    raise _make_too_large_error("it", path, most)


def read_plain_text(path: str | Path, most: int = MOST_BYTES) -> str:
    """Read a regular file as UTF-8 text, without a byte order mark.

    Raises the errors of `read_plain`, and `UnicodeDecodeError`."""
    return read_plain(path, most).decode("utf-8-sig")


def is_compressed(path: str | Path) -> bool:
    """Return whether a file's name says that it is compressed."""
    return str(path).endswith(_ENDING)


def plain_path(path: Path) -> Path:
    """Return the path without the suffix of compressed files."""
    return path.with_name(path.name.removesuffix(_ENDING))


def compressed_path(path: Path) -> Path:
    """Return the path of a file's compressed form."""
    return path.with_name(path.name + _ENDING)


def find_form(path: Path) -> Path:
    """Return `path`, or the path of its compressed form if only that exists. Raises `BadOption` if both exist."""
    packed = compressed_path(path)
    if not packed.exists():
        return path
    if path.exists():
        raise BadOption(f"{path} and {packed.name} both exist. Remove one of them.")
    return packed


def find_forms(folder: Path, pattern: str) -> list[Path]:
    """Return the files in a folder that match a pattern, compressed or not, sorted by plain name.

    Raises `BadOption` for a file that exists in both forms."""
    found = (*folder.glob(pattern), *folder.glob(pattern + _ENDING))
    return [find_form(path) for path in sorted({plain_path(path) for path in found if path.is_file()})]


def open_content(path: str | Path, *, follow: bool = True, most: int = MOST_UNPACKED) -> BufferedReader:
    """Open a regular file for reading, and decompress it if compressed. `follow` is as in `open_plain`.

    Reading raises `OSError` for a compressed file that is damaged or exceeds `most` bytes. Seeking backwards in a
    compressed file decompresses it again from the start."""
    file = open_plain(path, follow=follow)
    if not is_compressed(path):
        return file
    if file.peek(len(_MAGIC))[: len(_MAGIC)] != _MAGIC:
        file.close()
        raise OSError(errno.EINVAL, f"it is not a gzip file, but its name ends in {_ENDING}", str(path))
    return BufferedReader(_Unpacked(file, path, most), 1 << 16)


class _Unpacked(RawIOBase):
    """The decompressed content of an open gzip file."""

    def __init__(self, file: BinaryIO, path: str | Path, most: int) -> None:
        self._file, self._path, self._most = file, path, most
        self._content = GzipFile(fileobj=file, mode="rb")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        with self._check_reading():
            return self._content.readinto(buffer)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with self._check_reading():
            return self._content.seek(offset, whence)

    def tell(self) -> int:
        return self._content.tell()

    def close(self) -> None:
        self._content.close()
        self._file.close()
        super().close()

    @contextmanager
    def _check_reading(self) -> Iterator[None]:
        try:
            yield
        except EOFError:
            why = "the compressed file is cut off: copy or write it again"
            raise OSError(errno.EINVAL, why, str(self._path)) from None
        except (BadGzipFile, zlib.error) as error:
            raise OSError(errno.EINVAL, f"the compressed file is damaged: {error}", str(self._path)) from error
        if self._content.tell() > self._most:
            raise _make_too_large_error("its content", self._path, self._most)


def read_content(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Read a regular file like `read_plain`, and decompress it if compressed."""
    if not is_compressed(path):
        return read_plain(path, most)
    with open_content(path, most=most) as file:
        return file.read()


def read_lines(path: str | Path, most: int = MOST_BYTES, *, follow: bool = True) -> Iterator[bytes]:
    """Yield a regular file's lines with their line breaks, decompressed if compressed. `follow` is as in `open_plain`.

    Raises the errors of `open_content`, and `OSError` for a line over `most` bytes."""
    with open_content(path, follow=follow) as file:
        number = 0
        while line := file.readline(most + 1):
            number += 1
            if len(line) > most:
                raise _make_too_large_error(f"line {number}", path, most)
            yield line


def _make_too_large_error(what: str, path: str | Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"{what} is larger than {most:,} bytes", str(path))
