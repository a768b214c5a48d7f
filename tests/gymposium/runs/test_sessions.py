"""An untrusted sessions file costs little to read, and nothing outside its folder is touched."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gymposium.errors import BadRecord
from gymposium.runs.links import check_contained
from gymposium.runs.sessions import SessionsFile
from gymposium.runs.sessions_reader import open_sessions

MAGIC = bytes.fromhex("d9d505f920a163d7")
"""The first bytes of a rollback journal of SQLite, and of the name of another journal at its end."""
PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of sessions in a folder, with a group and a job."""
    (tmp_path / "run").mkdir()
    path = tmp_path / "run" / "sessions.sqlite"
    with closing(SessionsFile(path)) as file:
        file.add_group("task", 2, "train")
        file.add_job()
    return path


def change(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.executescript(script)


def plant_journal(database: Path, victim: Path) -> Path:
    """A rollback journal that names a file. SQLite removes that file once it has rolled back."""
    change(database, "PRAGMA journal_mode = DELETE")
    pages = database.stat().st_size // PAGE
    numbers = (0, 0x1234, pages, 512, PAGE)
    header = MAGIC + b"".join(number.to_bytes(4) for number in numbers)
    name = os.fsencode(victim)
    end = (0x40000000 // PAGE + 1).to_bytes(4) + name + len(name).to_bytes(4) + sum(name).to_bytes(4) + MAGIC
    journal = database.with_name(f"{database.name}-journal")
    journal.write_bytes(header.ljust(512, b"\0") + end)
    return journal


@pytest.mark.parametrize("read_only", [False, True])
def test_journal_removes_no_file(path: Path, tmp_path: Path, read_only: bool) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    journal = plant_journal(path, victim)
    with pytest.raises(BadRecord, match="is a rollback journal"):
        SessionsFile(path, read_only=read_only)
    assert victim.exists()
    assert journal.exists()


def test_run_with_a_journal_naming_a_file_is_not_resumed(path: Path, tmp_path: Path) -> None:
    other = path.with_name("mlflow.db")
    change(other, "CREATE TABLE runs (name TEXT)")
    check_contained(path.parent)
    plant_journal(other, tmp_path / "victim")
    with pytest.raises(Exception, match=r"mlflow\.db-journal is an SQLite journal that would delete another file"):
        check_contained(path.parent)


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_linked_files_are_not_written(path: Path, tmp_path: Path, end: str) -> None:
    shared, outside = path.with_name(f"{path.name}{end}"), tmp_path / "outside"
    outside.write_bytes(path.read_bytes() if not end else b"precious")
    before = outside.read_bytes()
    shared.unlink(missing_ok=True)
    shared.hardlink_to(outside)
    with pytest.raises(BadRecord, match="is a link"):
        SessionsFile(path)
    assert outside.read_bytes() == before
    with pytest.raises(Exception, match="is a hard link to another file"):
        check_contained(path.parent)


@pytest.mark.parametrize(
    "code",
    [
        "CREATE TRIGGER more AFTER INSERT ON groups BEGIN DELETE FROM jobs; END",
        "CREATE INDEX more ON groups (length(key))",
        "CREATE VIEW more AS SELECT 1",
        """ALTER TABLE jobs RENAME TO old; CREATE VIEW jobs AS
        WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT old.* FROM old, r""",
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_code_in_the_file_is_refused(path: Path, code: str, read_only: bool) -> None:
    change(path, code)
    with pytest.raises(BadRecord, match="has tables that gymposium did not create"):
        SessionsFile(path, read_only=read_only)


def test_cyclic_pages_do_not_loop_forever(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        first = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'jobs'").fetchone()[0]
        spare = [page for (page,) in file.execute("SELECT rootpage FROM sqlite_master WHERE name <> 'jobs'")]
    content = bytearray(path.read_bytes())
    pages = [first, *spare[:2]]
    leaf = spare[2]
    content[(leaf - 1) * PAGE : leaf * PAGE] = content[(first - 1) * PAGE : first * PAGE]
    for page, child in zip(pages, [*pages[1:], leaf], strict=True):  # each has 500 times the same child
        cells = b"".join(child.to_bytes(4) + b"\x01" for _ in range(500))
        start = PAGE - len(cells)
        header = b"\x05\0\0" + (500).to_bytes(2) + start.to_bytes(2) + b"\0" + child.to_bytes(4)
        pointers = b"".join((start + 5 * n).to_bytes(2) for n in range(500))
        content[(page - 1) * PAGE : page * PAGE] = (header + pointers).ljust(start, b"\0") + cells
    path.write_bytes(content)
    with pytest.raises(BadRecord, match=r"interrupted|more than the file's size"), open_sessions(path) as file:
        file.newest_jobs(1_000_000_000)
