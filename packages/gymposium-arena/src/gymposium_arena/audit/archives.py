"""The parts of an archive of inspect_ai (`.eval`), which is a zip file compressed with zstandard."""

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
"""The header of a part: signature, lengths of its name and its extra field."""


def members(path: Path, limit: int, budget: Budget) -> Iterator[tuple[str, bytes | BadLog]]:
    """The name and content of each sample in an archive, and of its header if it has no samples. Content that is
    damaged, or larger than `limit` bytes, is the reason instead. It ends when the budget is spent.

    Raises `BadLog` if the file is no zip file, and `MissingExtra` if zstandard is not installed."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise BadLog(f"it is no archive, or breaks off ({error})") from error
    with archive, open(path, "rb") as file:
        parts = [info for info in archive.infolist() if info.filename.endswith(".json")]
        samples = [info for info in parts if info.filename.startswith("samples/")]
        for info in samples or [info for info in parts if info.filename in ("header.json", "_journal/start.json")]:
            try:
                yield info.filename, _content(file, info, limit, budget)
            except (OSError, ValueError, zlib.error, struct.error) as error:
                yield info.filename, BadLog(str(error))
                if budget.is_spent:
                    return


def _content(file: IO[bytes], info: zipfile.ZipInfo, limit: int, budget: Budget) -> bytes:
    if max(info.file_size, info.compress_size) > limit:
        fail(f"it has {max(info.file_size, info.compress_size)} bytes; at most {limit} are read")
    file.seek(info.header_offset)
    signature, name, extra = _LOCAL.unpack(file.read(_LOCAL.size))
    if signature != b"PK\x03\x04":
        fail("the archive is damaged: a part does not begin where its list says")
    file.seek(name + extra, 1)
    packed = file.read(info.compress_size)
    data = _unpacked(packed, info, limit)
    budget.take(max(len(packed), len(data)))
    if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        fail("the archive is damaged: a part is not what its checksum says")
    return data


def _unpacked(packed: bytes, info: zipfile.ZipInfo, limit: int) -> bytes:
    if info.compress_type == zipfile.ZIP_STORED:
        return packed
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-15).decompress(packed, limit + 1)
    if info.compress_type != _ZSTANDARD:
        fail(f"it is compressed in a way that is not read (zip method {info.compress_type})")
    return _unpacked_zstandard(packed, limit)


def _unpacked_zstandard(packed: bytes, limit: int) -> bytes:
    with needs_extra("Reading .eval files", "gymposium-arena[audit]", "zstandard"):
        import zstandard
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            return bytes(reader.read(limit + 1))
    except zstandard.ZstdError as error:
        raise BadLog(f"the archive is damaged ({error})") from error
