"""Line files hold only complete lines, even if the writer is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gymposium.errors import BadOption, GymposiumError
from gymposium.util.lines import LineWriter


def test_lines_are_in_the_file_before_it_is_closed(tmp_path: Path) -> None:
    with LineWriter(tmp_path / "new" / "lines") as lines:
        lines.append_lines('{"a": 1}')
        lines.append_lines('{"b": 2}', '{"c": 3}')
        assert (tmp_path / "new" / "lines").read_text() == '{"a": 1}\n{"b": 2}\n{"c": 3}\n'


@pytest.mark.parametrize("length", [0, 10, 65_530, 65_536, 200_000])
@pytest.mark.parametrize("whole", [b"", b'{"a": 1}\n'])
def test_partial_line_of_a_killed_writer_is_cut_off(tmp_path: Path, whole: bytes, length: int) -> None:
    file = tmp_path / "lines"
    file.write_bytes(whole + b'{"text": "' + b"x" * length)
    with LineWriter(file) as lines:
        assert lines.torn
        assert file.read_bytes() == whole
        lines.append_lines('{"b": 2}')
    assert file.read_bytes() == whole + b'{"b": 2}\n'


def test_complete_last_line_without_newline_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text('{"a": 1}\n{"b": 2}')
    with LineWriter(file) as lines:
        assert not lines.torn
        lines.append_lines('{"c": 3}')
    assert file.read_text() == '{"a": 1}\n{"b": 2}\n{"c": 3}\n'


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock")
def test_second_writer_of_a_file_is_refused(tmp_path: Path) -> None:
    with LineWriter(tmp_path / "lines"), pytest.raises(BadOption, match="written by another process"):
        LineWriter(tmp_path / "lines")
    LineWriter(tmp_path / "lines").close()


FULL = """
import json, resource, sys
from gymposium.errors import GymposiumError
from gymposium.util.lines import LineWriter

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with LineWriter(sys.argv[1]) as lines:
    try:
        for number in range(100):
            lines.append_lines(json.dumps({"number": number, "text": "x" * 70}))
    except GymposiumError as error:
        print(error)
"""


def test_full_disk_leaves_no_torn_line(tmp_path: Path) -> None:
    """The limit on a file's size ends a write in the middle of a line, as a full disk does."""
    file = tmp_path / "lines"
    done = subprocess.run([sys.executable, "-B", "-c", FULL, str(file)], capture_output=True, text=True, check=True)
    why = f"{file} cannot be appended to (File too large)"
    assert done.stdout == f"{why}. All earlier lines are intact. Check permissions and free space.\n"
    found = [json.loads(line)["number"] for line in file.read_text().splitlines()]
    assert found == [*range(len(found))]
    assert 0 < len(found) < 1000 // 70
    assert file.read_bytes().endswith(b"\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_device_is_an_error() -> None:
    with LineWriter("/dev/full") as lines, pytest.raises(GymposiumError, match="No space left on device"):
        lines.append_lines("{}")


@pytest.mark.parametrize("target", ["victim", "new"])
def test_link_is_not_appended_to(tmp_path: Path, target: str) -> None:
    (tmp_path / "victim").write_text("a torn line")
    (tmp_path / "lines").symlink_to(target)
    with pytest.raises(BadOption, match="is a symbolic link"):
        LineWriter(tmp_path / "lines")
    assert (tmp_path / "victim").read_text() == "a torn line"
    assert not (tmp_path / "new").exists()


def test_hard_link_is_not_appended_to(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("a torn line")
    (tmp_path / "lines").hardlink_to(tmp_path / "victim")
    with pytest.raises(BadOption, match="is a hard link"):
        LineWriter(tmp_path / "lines")
    assert (tmp_path / "victim").read_text() == "a torn line"


def test_pipes_and_huge_lines_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadOption, match="not a regular file"):
        LineWriter(tmp_path / "pipe")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(3 * 2**30)
    with pytest.raises(BadOption, match="its last line is larger than"):
        LineWriter(tmp_path / "large")
