"""Files are replaced atomically, and no link is written through."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gymposium.errors import GymposiumError
from gymposium.util.durable import make_empty_directory, remove_staging, replace_file, replace_text


def test_file_is_replaced_completely_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "file"
    replace_text(file, "old")
    with pytest.raises(TypeError), replace_file(file) as staging:
        staging.writelines([b"half", "text"])  # type: ignore[list-item]
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]
    with pytest.raises(GymposiumError, match="cannot be written"):
        replace_text(tmp_path / "none" / "file", "")


def test_empty_directory_replaces_any_existing_entry(tmp_path: Path) -> None:
    directory, mine = tmp_path / "shared" / "directory", tmp_path / "mine"
    mine.mkdir()
    (mine / "file").write_text("mine")
    before = os.umask(0)
    try:
        make_empty_directory(directory)
    finally:
        os.umask(before)
    if sys.platform != "win32":
        assert directory.stat().st_mode & 0o777 == 0o755
    (directory / "old").write_text("old")
    make_empty_directory(directory)
    assert [*directory.iterdir()] == []
    directory.rmdir()
    directory.symlink_to(mine)
    make_empty_directory(directory)
    assert not directory.is_symlink()
    assert [*directory.iterdir()] == []
    assert [path.name for path in tmp_path.rglob("*")].count("file") == 1


def test_no_link_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, victim = tmp_path / "folder", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("mine")
    monkeypatch.setattr("secrets.token_hex", lambda count: "0" * 2 * count)
    for name in (".file.partial", ".file.11111111.partial", "file"):
        (folder / name).symlink_to(victim)
    replace_text(folder / "file", "new")
    assert (folder / "file").read_text() == "new"
    assert not (folder / "file").is_symlink()
    (folder / ".file.00000000.partial").symlink_to(victim)  # even a name that was guessed
    with pytest.raises(GymposiumError, match="cannot be written"):
        replace_text(folder / "file", "newer")
    assert victim.read_text() == "mine"


KILLED = """
import os, sys
from pathlib import Path
from gymposium.util.durable import replace_file

with replace_file(Path(sys.argv[1])) as staging:
    staging.write(b"half")
    staging.flush()
    os._exit(9)
"""


def test_leftover_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "[file]"
    subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    assert len([*tmp_path.iterdir()]) == 1
    with replace_file(file) as staging:
        staging.write(b"first")
        replace_text(file, "second")  # leaves the file alone that is being written
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("[file]", "first")]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc"), Path.mkdir])
def test_leftovers_of_any_kind_are_swept(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / ".model.00000000.partial")
    replace_text(tmp_path / "model", "")  # stops at none of them
    remove_staging(tmp_path, "model.")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
