"""Check that a board contains only regular files that belong to it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gymposium.analysis.review import get_review_path
from gymposium.errors import BadRecord
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium_arena.board import SITE, Board
from gymposium_arena.entries import Entry
from gymposium_arena.verify.findings import Finding

_REPOSITORY_FILES = frozenset([".git", ".gitattributes", ".github", ".gitignore", "LICENSE", "README.md"])
"""Names allowed beside the suite, for a board in a repository. Nothing in them is checked."""


def check_files(board: Board, readable: Iterable[Entry], expected: set[Path], only: str | None) -> Iterator[Finding]:
    """Yield links, special files, and files and folders that do not belong to the board.

    `expected` holds the match files of `readable` entries; match files of other entries are not checked. `only` is the
    slug of the entry to check, or None for all."""
    entries = board.path / "entries"
    folders = {entries, *(parent for file in expected for parent in file.parents)}
    known = {entries / entry.slug for entry in readable}
    for path in _walk(entries / only if only is not None else board.path):
        where, entry = str(path.relative_to(board.path)), _find_entry(path, entries)
        if path.is_symlink():
            yield Finding("file", where, "it is a link; a board must hold the file itself")
        elif not path.is_dir() and not path.is_file():
            yield Finding("file", where, "it is not a regular file")
        elif entry is not None and path.is_relative_to(entry / "matches"):
            reviews = {get_review_path(file) for file in expected}
            belongs = path in folders | expected | reviews or path == entry / "matches"
            if not belongs and entry in known:
                yield Finding("schedule", where, "the schedule plans no matches for this file")
        elif path.is_dir():
            if path not in folders and path.parent != entries:  # folders in `entries` are checked as entries
                yield Finding("file", where, "it does not belong to a board")
        elif not _belongs(path, board, entry):
            yield Finding("file", where, "it does not belong to a board")


def _belongs(path: Path, board: Board, entry: Path | None) -> bool:
    """Return whether a file without matches belongs to the board or to an entry's folder."""
    if entry is None:
        return path.parent == board.path and path.name in ("suite.toml", "results.json")
    return path.parent == entry and path.name in ("entry.json", "exact.json")


def _find_entry(path: Path, entries: Path) -> Path | None:
    """Return the entry folder that contains a path."""
    inside = path.relative_to(entries).parts if path.is_relative_to(entries) else ()
    return entries / inside[0] if len(inside) > 1 else None


def _walk(top: Path) -> Iterator[Path]:
    """Yield all files and folders below `top`, sorted by name, without following links."""
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        if here == top and (top / "suite.toml").exists():
            folders[:] = [name for name in folders if name not in {*_REPOSITORY_FILES, SITE}]
            files = [name for name in files if name not in _REPOSITORY_FILES]
        folders.sort()
        yield from (here / name for name in sorted([*folders, *files]))


def check_plain(path: Path) -> None:
    """Raise `BadRecord` unless the path is a regular file with strict JSON."""
    if path.is_symlink() or not path.is_file():
        raise BadRecord(f"{path} is not a regular file. Restore it from a copy.")
    try:
        parse_strict_json(read_plain_text(path))
    except (OSError, ValueError) as error:
        raise BadRecord(f"{path} is not JSON: {error}. Restore it from a copy.") from error
