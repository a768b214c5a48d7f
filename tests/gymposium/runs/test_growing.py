"""A growing file is read by complete lines, even when replaced or truncated."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from gymposium.runs import growing as growing_module
from gymposium.runs.curves import Curves
from gymposium.runs.growing import GrowingFile
from gymposium.util.plain_file import open_content


@given(st.lists(st.binary(max_size=12), max_size=12))
def test_every_complete_line_is_read_once(tmp_path_factory, parts: list[bytes]) -> None:
    file = tmp_path_factory.mktemp("growing") / "lines"
    growing, found = GrowingFile(file), []
    for part in parts:
        with open(file, "ab") as out:
            out.write(part)
        assert not growing.check_replaced()
        found += growing.lines()
    whole = b"".join(parts)
    *lines, begun = whole.split(b"\n")
    expected = [(number, line + b"\n") for number, line in enumerate(lines, start=1) if line.strip()]
    assert [(line.number, line.text) for line in found] == expected
    assert all(whole[line.start : line.stop] == line.text for line in found)
    assert (growing.rest.text if growing.rest else b"") == (begun if begun.strip() else b"")


def test_missing_file_is_empty(tmp_path: Path) -> None:
    growing = GrowingFile(tmp_path / "none")
    assert not growing.check_replaced()
    assert [*growing.lines()] == []


@pytest.mark.parametrize("target", ["lines", "nowhere"], ids=["itself", "nowhere"])
def test_dangling_link_is_empty_or_a_problem(tmp_path: Path, target: str) -> None:
    file = tmp_path / "lines"
    file.symlink_to(target)
    assert GrowingFile(file).get_mtime() == 0.0
    index = Curves(file)
    for _ in range(2):
        index.refresh()
    wanted = ["lines: it cannot be read after line 0 (Too many levels of symbolic links)"]
    assert [*map(str, index.problems)] == (wanted if target == "lines" else [])
    file.unlink()
    file.write_text("")
    index.refresh()
    assert index.problems == []


def test_unreadable_file_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_module, "MOST_BYTES", 100)
    file = tmp_path / "lines"
    file.write_text("x" * 200)
    index, read = Curves(file), []
    monkeypatch.setattr(growing_module, "open_content", lambda path: read.append(path) or open_content(path))
    for _ in range(3):
        index.refresh()
        assert [*map(str, index.problems)] == ["lines: line 1 is larger than 100 bytes; remove it"]
    assert len(read) == 1
    (tmp_path / "others").write_text("")
    (tmp_path / "others").replace(file)
    index.refresh()
    assert index.problems == []


def test_replaced_or_truncated_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("one\ntwo\n")
    growing = GrowingFile(file)
    growing.check_replaced()
    assert len([*growing.lines()]) == 2
    file.write_text("a\n")
    assert growing.check_replaced()
    assert [line.text for line in growing.lines()] == [b"a\n"]
    other = tmp_path / "other"
    other.write_text("b\nc\nd\n")
    other.replace(file)
    assert growing.check_replaced()
    assert [line.number for line in growing.lines()] == [1, 2, 3]
