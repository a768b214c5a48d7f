"""Which files a board has: those that belong to it, each a plain file, and no others."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gymposium.arena.board import Board
from gymposium.arena.entries import Entry
from gymposium.arena.verify.findings import Finding
from gymposium.errors import BadRecord
from gymposium.strict_json import each_key_once

_BESIDE = frozenset([".git", ".gitattributes", ".github", ".gitignore", "LICENSE", "README.md"])
"""What may stand beside the suite, in a repository that is a board."""


def check_files(board: Board, readable: Iterable[Entry], expected: set[Path], only: str | None) -> Iterator[Finding]:
    """Links, what is no file, and files and folders that do not belong to the board. `expected` are the files of
    matches; those of entries that cannot be read are left alone. `only` is the slug of one entry."""
    entries = board.path / "entries"
    folders = {entries, *(parent for file in expected for parent in file.parents)}
    known = {entries / entry.slug for entry in readable}
    for path in _walk(entries / only if only is not None else board.path):
        where, entry = str(path.relative_to(board.path)), _entry_of(path, entries)
        if path.is_symlink():
            yield Finding("file", where, "it is a link; a board holds its files itself")
        elif not path.is_dir() and not path.is_file():
            yield Finding("file", where, "it is no plain file")
        elif entry is not None and path.is_relative_to(entry / "matches"):
            belongs = path in folders | expected or path == entry / "matches"
            if not belongs and entry in known:
                yield Finding("schedule", where, "the schedule has no matches for this")
        elif path.is_dir():
            if path not in folders and path.parent != entries:  # a folder there is an entry, or found not to be one
                yield Finding("file", where, "it does not belong to a board")
        elif not _belongs(path, board, entry):
            yield Finding("file", where, "it does not belong to a board")


def _belongs(path: Path, board: Board, entry: Path | None) -> bool:
    """Whether it is one of the files that a board, or an entry's folder, may have besides matches."""
    if entry is None:
        return path.parent == board.path and path.name in ("suite.toml", "results.json")
    return path.parent == entry and path.name in ("entry.json", "exact.json")


def _entry_of(path: Path, entries: Path) -> Path | None:
    """The folder of the entry that a path is in."""
    inside = path.relative_to(entries).parts if path.is_relative_to(entries) else ()
    return entries / inside[0] if len(inside) > 1 else None


def _walk(top: Path) -> Iterator[Path]:
    """All files and folders below, in order of their names; links are not followed."""
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        if here == top and (top / "suite.toml").exists():
            folders[:] = [name for name in folders if name not in _BESIDE]
            files = [name for name in files if name not in _BESIDE]
        folders.sort()
        yield from (here / name for name in sorted([*folders, *files]))


def read_plain(path: Path) -> str:
    """The text of a file. Raises `BadRecord` where it is none, or says something twice."""
    if path.is_symlink() or not path.is_file():
        raise BadRecord(f"{path} is no plain file")
    try:
        text = path.read_text(encoding="utf-8")
        json.loads(text, object_pairs_hook=each_key_once)
    except (OSError, ValueError, RecursionError) as error:
        raise BadRecord(f"{path} is no JSON: {error}") from error
    return text
