"""Make a site's downloads: unchanged board files, their archive, and their digests."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from gymposium.errors import BadRecord, describe_cause
from gymposium.util.plain_file import is_compressed, open_plain, read_lines
from gymposium_arena.board import Board

FOLDER = "board"
ARCHIVE = "board.zip"
INDEX = "index.json"
FORMAT = "gymposium-site-1"

_PATTERNS = (
    "suite.toml",
    "results.json",
    "entries/*/entry.json",
    "entries/*/exact.json",
    "entries/*/matches/*/*.jsonl",
    "entries/*/matches/*/*.jsonl.gz",
)
"""Patterns of published files."""

_DATE = (1980, 1, 1, 0, 0, 0)
"""Date of every file in the archive, fixed so that equal boards give equal bytes."""


@dataclass(frozen=True, slots=True)
class Download:
    """A copy of a board file on the site."""

    path: str
    """The path below the site's folder."""
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """The path below the board's folder."""
        return self.path.removeprefix(f"{FOLDER}/")


def copy_board(board: Board, out: Path) -> list[Download]:
    """Copy a board's files and their archive into a site.

    Raises `BadRecord` for a link, a special file or a huge line, so that a submitted entry cannot publish other files
    on this machine."""
    downloads = []
    with zipfile.ZipFile(out / ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted({file for kind in _PATTERNS for file in board.path.glob(kind)}):
            name = file.relative_to(board.path).as_posix()
            inside = [file, *file.parents]
            if any(part.is_symlink() for part in inside[: inside.index(board.path)]):
                raise BadRecord(f"{file} is a link. Replace it with the file itself.")
            copy = out / FOLDER / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            entry = zipfile.ZipInfo(f"{board.suite.name}/{name}", _DATE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            entry.file_size = file.stat().st_size
            digest, size = sha256(), 0
            with open(copy, "wb") as copied, archive.open(entry, "w") as packed:
                for part in _read_parts(file):
                    size += len(part)
                    digest.update(part)
                    copied.write(part)
                    packed.write(part)
            downloads.append(Download(f"{FOLDER}/{name}", size, digest.hexdigest()))
    return downloads


def _read_parts(file: Path) -> Iterator[bytes]:
    """Yield a board file by line, or in blocks if it is compressed. Raises `BadRecord` if it cannot be read."""
    try:
        if not is_compressed(file):
            yield from read_lines(file)
            return
        with open_plain(file) as packed:
            while part := packed.read(1 << 16):
                yield part
    except OSError as error:
        raise BadRecord(f"{file} cannot be read ({describe_cause(error)}). Restore the board's file.") from error


def write_index(board: Board, out: Path, files: Sequence[Download], pages: Mapping[str, str]) -> None:
    """Write `index.json`, which lists the site's files and matches for programs."""
    index = {
        "format": FORMAT,
        "suite": {"name": board.suite.name, "title": board.suite.title, "digest": board.suite.digest},
        "results": f"{FOLDER}/results.json",
        "files": [asdict(file) for file in files],
        "matches": dict(pages),
    }
    (out / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
