"""Files from others: only regular files are read, up to a size, and nothing waits for a pipe."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gymposium.errors import BadOption, BadRecord
from gymposium.records import read_records, verify_file
from gymposium.runs.folder import RunFolder
from gymposium.util.json_file import FileModel, read_model
from gymposium.util.plain_file import MOST_BYTES, open_plain, plain_lines, read_plain, read_plain_text
from gymposium.util.user_file import VARIABLE, user_file


class _Empty(FileModel):
    pass


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(6 * 2**30)


def make_folder(path: Path) -> None:
    path.mkdir()


STRANGE = [make_pipe, make_sparse, make_folder]


@pytest.mark.parametrize("make", STRANGE)
def test_what_is_no_plain_file_of_a_sane_size_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "file"
    make(path)
    for read in (read_plain, read_plain_text, lambda path: list(plain_lines(path))):
        with pytest.raises(OSError, match=r"regular file|larger than|directory"):
            read(path)


@pytest.mark.parametrize("make", STRANGE)
def test_no_reader_of_files_waits_or_reads_gigabytes(
    tmp_path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("settings.json", "matches.jsonl", "gymposium.toml"):
        make(tmp_path / name)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gymposium.toml"))
    readers: list[Callable[[], object]] = [
        user_file,
        lambda: RunFolder.open(tmp_path, "run"),
        lambda: list(read_records(tmp_path / "matches.jsonl")),
        lambda: verify_file(tmp_path / "matches.jsonl"),
        lambda: read_model(tmp_path / "settings.json", _Empty, "settings", "Restore it."),
    ]
    for read in readers:
        with pytest.raises((BadOption, BadRecord), match="cannot be read"):
            read()


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("﻿α".encode())
    assert read_plain_text(path) == "α"


def test_lines_are_read_up_to_their_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"ab\n" * 3 + b"abc")
    assert list(plain_lines(path, most=3)) == [b"ab\n"] * 3 + [b"abc"]
    with pytest.raises(OSError, match="line 1 is larger than 2 bytes"):
        list(plain_lines(path, most=2))
    assert MOST_BYTES > 2**20


def test_a_missing_file_is_the_usual_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_plain(tmp_path / "none")
