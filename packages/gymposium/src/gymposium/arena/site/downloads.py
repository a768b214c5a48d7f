"""The board itself, to be taken away and checked: its files as they are, all in one archive, and their digests."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from gymposium.arena.board import Board
from gymposium.errors import BadRecord

FOLDER = "board"
ARCHIVE = "board.zip"
INDEX = "index.json"
FORMAT = "gymposium-site-1"

_KINDS = ("suite.toml", "results.json", "entries/*/entry.json", "entries/*/exact.json", "entries/*/matches/*/*.jsonl")
"""What belongs to a board. Whatever else lies about there is nobody's business."""

_WHEN = (1980, 1, 1, 0, 0, 0)
"""Of every file in the archive: equal boards, equal bytes."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file of the site that is a file of the board."""

    path: str
    """Below the site."""
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """Below the board."""
        return self.path.removeprefix(f"{FOLDER}/")


def copy_board(board: Board, out: Path) -> list[Download]:
    """Copy a board's files into a site. Raises `BadRecord` for one that is a link: an entry by somebody else must not
    publish what lies elsewhere on this machine."""
    found = []
    with zipfile.ZipFile(out / ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted({file for kind in _KINDS for file in board.path.glob(kind)}):
            name = file.relative_to(board.path).as_posix()
            if _leads_elsewhere(file, board.path):
                raise BadRecord(f"{file} is a link. A board is made of files alone: put the file itself there.")
            content = file.read_bytes()
            copy = out / FOLDER / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
            entry = zipfile.ZipInfo(f"{board.suite.name}/{name}", _WHEN)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
            found.append(Download(f"{FOLDER}/{name}", len(content), sha256(content).hexdigest()))
    return found


def _leads_elsewhere(file: Path, board: Path) -> bool:
    inside = [file, *file.parents]
    return any(part.is_symlink() for part in inside[: inside.index(board)])


def write_index(board: Board, out: Path, files: Sequence[Download], pages: Mapping[str, str]) -> None:
    """`index.json`: what the site holds, for programs."""
    told = {
        "format": FORMAT,
        "suite": {"name": board.suite.name, "title": board.suite.title, "digest": board.suite.digest},
        "results": f"{FOLDER}/results.json",
        "files": [asdict(file) for file in files],
        "matches": dict(pages),
    }
    (out / INDEX).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
