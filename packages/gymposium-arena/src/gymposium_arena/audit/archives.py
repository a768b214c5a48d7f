"""Samples in inspect_ai archives (`.eval`), zip files compressed with zstandard."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from gymposium.util.extras import needs_extra
from gymposium_arena.audit.budget import Budget
from gymposium_arena.audit.episode import BadLog, fail

_ZSTANDARD = 93
_LOCAL = struct.Struct("<4s22xHH")
"""The header of a part: signature, and the lengths of its name and extra field."""
_END = struct.Struct("<4s8xI6x")
"""The end of an archive: signature, and the size of its central directory."""
_TAIL = 22 + 65_535
"""Maximum size in bytes of the end of an archive, comment included."""
MOST_LISTED = 8 * 2**20
"""Maximum size in bytes of the central directory, about 100,000 entries."""


def members(path: Path, limit: int, budget: Budget) -> Iterator[tuple[str, bytes | BadLog]]:
    """Yield the name and content of each sample in an archive, or of its header if it has no samples. If the content
    is damaged or larger than `limit` bytes, yield the reason instead. Stop when the budget is spent.

    Raises `BadLog` if the file is not a zip archive or has no such part, and `MissingExtra` if zstandard is not
    installed."""
    budget.take(_list_size(path))
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        raise BadLog(f"not a zip archive, or truncated ({error})") from error
    with archive, open(path, "rb") as file:
        parts = [info for info in archive.infolist() if info.filename.endswith(".json")]
        if not parts:
            fail("the archive has no samples")
        samples = [info for info in parts if info.filename.startswith("samples/")]
        for info in samples or [info for info in parts if info.filename in ("header.json", "_journal/start.json")]:
            try:
                yield info.filename, _content(file, info, limit, budget)
            except (OSError, ValueError, zlib.error, struct.error) as error:
                yield info.filename, BadLog(str(error))
                if budget.is_spent:
                    return


def _list_size(path: Path) -> int:
    """Return the size in bytes of an archive's central directory, which `zipfile` reads whole. Raises `BadLog` if it is
    too large."""
    with open(path, "rb") as file:
        file.seek(-min(file.seek(0, 2), _TAIL), 2)
        tail = file.read()
    at = len(tail) - _END.size
    if at < 0 or tail[at : at + 4] != b"PK\x05\x06":
        at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + _END.size:
        fail("not a zip archive, or truncated (it has no central directory)")
    if tail[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        fail("ZIP64 archives (more than 65,535 parts) are not supported")
    _, size = _END.unpack_from(tail, at)
    if size > MOST_LISTED:
        fail(f"its central directory has {size} bytes; the limit is {MOST_LISTED}")
    return int(size)


def _content(file: IO[bytes], info: zipfile.ZipInfo, limit: int, budget: Budget) -> bytes:
    if max(info.file_size, info.compress_size) > limit:
        fail(f"it has {max(info.file_size, info.compress_size)} bytes; the limit is {limit}")
    file.seek(info.header_offset)
    signature, name, extra = _LOCAL.unpack(file.read(_LOCAL.size))
    if signature != b"PK\x03\x04":
        fail("the archive is damaged: a part does not begin where the central directory says")
    file.seek(name + extra, 1)
    packed = file.read(info.compress_size)
    data = _unpacked(packed, info, limit)
    budget.take(max(len(packed), len(data)))
    if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        fail("the archive is damaged: a part does not match its checksum")
    return data


def _unpacked(packed: bytes, info: zipfile.ZipInfo, limit: int) -> bytes:
    if info.compress_type == zipfile.ZIP_STORED:
        return packed
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-15).decompress(packed, limit + 1)
    if info.compress_type != _ZSTANDARD:
        fail(f"unsupported compression (zip method {info.compress_type})")
    return _unpacked_zstandard(packed, limit)


def _unpacked_zstandard(packed: bytes, limit: int) -> bytes:
    with needs_extra("Reading .eval files", "gymposium-arena[audit]", "zstandard"):
        import zstandard
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            return bytes(reader.read(limit + 1))
    except zstandard.ZstdError as error:
        raise BadLog(f"the archive is damaged ({error})") from error
