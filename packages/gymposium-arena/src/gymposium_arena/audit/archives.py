"""Read samples from inspect_ai archives (`.eval`), which are zip files compressed with zstandard."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from gymposium.util.extras import require_extra
from gymposium_arena.audit.budget import Budget
from gymposium_arena.audit.episode import BadLog, fail

_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""The header of a zip entry: signature, name length and extra-field length."""
_END_RECORD = struct.Struct("<4s8xI6x")
"""The end-of-archive record: signature and central-directory size."""
_MAX_END_BYTES = 22 + 65_535
"""Maximum size of the end-of-archive record with its comment, in bytes."""
MAX_DIRECTORY_BYTES = 8 * 2**20
"""Maximum size of the central directory in bytes, enough for about 100,000 entries."""


def read_members(path: Path, limit: int, budget: Budget) -> Iterator[tuple[str, bytes | BadLog]]:
    """Yield the name and content of each sample in an archive. For an archive without samples, yield those of its
    header.

    Yield a `BadLog` in place of content that is damaged or larger than `limit` bytes. Stop when the budget is spent.

    Raises `BadLog` if the file is not a zip archive with samples or a header, and `MissingExtra` without zstandard."""
    budget.spend_bytes(_read_directory_size(path))
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        raise BadLog(f"not a zip archive, or truncated ({error})") from error
    with archive, open(path, "rb") as file:
        parts = [info for info in archive.infolist() if info.filename.endswith(".json")]
        if not parts:
            fail("the archive has no samples (files samples/*.json)")
        samples = [info for info in parts if info.filename.startswith("samples/")]
        for info in samples or [info for info in parts if info.filename in ("header.json", "_journal/start.json")]:
            try:
                yield info.filename, _read_content(file, info, limit, budget)
            except (OSError, ValueError, zlib.error, struct.error) as error:
                yield info.filename, BadLog(str(error))
                if budget.is_spent:
                    return


def _read_directory_size(path: Path) -> int:
    """Return the size of an archive's central directory in bytes. Raises `BadLog` if it exceeds the limit, since
    `zipfile` would read all of it."""
    with open(path, "rb") as file:
        file.seek(-min(file.seek(0, 2), _MAX_END_BYTES), 2)
        tail = file.read()
    at = len(tail) - _END_RECORD.size
    if at < 0 or tail[at : at + 4] != b"PK\x05\x06":
        at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + _END_RECORD.size:
        fail("not a zip archive, or truncated (it has no central directory)")
    if tail[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        fail("ZIP64 archives (more than 65,535 entries) are not supported")
    _, size = _END_RECORD.unpack_from(tail, at)
    if size > MAX_DIRECTORY_BYTES:
        fail(f"its central directory has {size:,} bytes; the limit is {MAX_DIRECTORY_BYTES:,}")
    return int(size)


def _read_content(file: IO[bytes], info: zipfile.ZipInfo, limit: int, budget: Budget) -> bytes:
    if max(info.file_size, info.compress_size) > limit:
        fail(f"it has {max(info.file_size, info.compress_size):,} bytes; the limit is {limit:,}")
    file.seek(info.header_offset)
    signature, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if signature != b"PK\x03\x04":
        fail("the archive is damaged: an entry has no header at its listed offset")
    file.seek(name + extra, 1)
    packed = file.read(info.compress_size)
    data = _decompress(packed, info, limit)
    budget.spend_bytes(max(len(packed), len(data)))
    if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        fail(f"the archive is damaged: checksum mismatch in {info.filename[:80]!r}")
    return data


def _decompress(packed: bytes, info: zipfile.ZipInfo, limit: int) -> bytes:
    if info.compress_type == zipfile.ZIP_STORED:
        return packed
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-15).decompress(packed, limit + 1)
    if info.compress_type != _ZSTANDARD:
        fail(f"unsupported compression (zip method {info.compress_type}); use deflate or zstandard")
    return _decompress_zstandard(packed, limit)


def _decompress_zstandard(packed: bytes, limit: int) -> bytes:
    with require_extra("Reading .eval files", "gymposium-arena[audit]", "zstandard"):
        import zstandard
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            return bytes(reader.read(limit + 1))
    except zstandard.ZstdError as error:
        raise BadLog(f"the archive is damaged ({error})") from error
