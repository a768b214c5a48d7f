"""Archives of inspect_ai are read within limits, and only their samples."""

from __future__ import annotations

import zipfile
from copy import copy
from pathlib import Path

import pytest

from gymposium_arena.audit.archives import MAX_DIRECTORY_BYTES, read_members
from gymposium_arena.audit.audit import audit_logs
from gymposium_arena.audit.budget import Budget
from gymposium_arena.audit.episode import BadLog
from gymposium_arena.audit.files import read_parts

LOG = Path(__file__).parent / "logs" / "inspect.eval"


def write_zip(path: Path, content: bytes, method: int) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("samples/0_epoch_1.json", content)
        archive.writestr("../../etc/passwd.json", b"{}")
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_only_samples_are_read(tmp_path: Path, method: int) -> None:
    path = write_zip(tmp_path / "log.eval", b'{"a": 1}', method)
    assert list(read_members(path, 1000, Budget())) == [("samples/0_epoch_1.json", b'{"a": 1}')]


def test_inspect_ai_archives_list_their_samples() -> None:
    pytest.importorskip("zstandard", reason='zstandard is not installed: pip install "gymposium-arena[audit]"')
    assert [name for name, data in read_members(LOG, 10**6, Budget()) if isinstance(data, bytes)] == [
        f"samples/{number}_epoch_1.json" for number in range(6)
    ]


def read_content(path: Path, limit: int = 1000) -> str:
    (_, content), *_ = read_members(path, limit, Budget())
    assert isinstance(content, BadLog)
    return str(content)


def test_large_parts_are_refused_despite_their_header(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "log.eval", b"0" * 5000, zipfile.ZIP_DEFLATED)
    assert read_content(path) == "it has 5,000 bytes; the limit is 1,000"
    data = path.read_bytes().replace((5000).to_bytes(4, "little"), (900).to_bytes(4, "little"))
    path.write_bytes(data)
    assert "damaged" in read_content(path)


def test_damage_is_reported(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "log.eval", b'{"a": 1}', zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b'"a": 1', b'"a": 2'))
    assert "checksum mismatch" in read_content(path)
    path.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(BadLog, match="truncated"):
        list(read_members(path, 1000, Budget()))


def test_damaged_frames_are_reported(tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason='zstandard is not installed: pip install "gymposium-arena[audit]"')
    data = bytearray(LOG.read_bytes())
    start = data.index(b"\x28\xb5\x2f\xfd", data.index(b"samples/0_epoch_1.json"))
    data[start + 40 : start + 80] = bytes(40)
    path = tmp_path / "log.eval"
    path.write_bytes(data)
    assert "damaged" in read_content(path, 10**6)


def write_overlapping_zip(path: Path, content: bytes, count: int) -> Path:
    """An archive whose list names the same part many times."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/0.json", content)
        (info,) = archive.filelist
        for number in range(1, count):
            again = copy(info)
            again.filename = f"samples/{number}.json"
            archive.filelist.append(again)
    return path


def test_parts_share_a_budget(tmp_path: Path) -> None:
    """A small archive whose parts overlap would otherwise unpack to any size."""
    path = write_overlapping_zip(tmp_path / "log.eval", b'{"a": "%s"}' % (b"0" * 10_000), 60_000)
    assert path.stat().st_size < 5_000_000
    found = [*read_parts(path, Budget(size=10**6))]
    assert len(found) < 110
    assert "reading stopped" in str(found[-1].data)


@pytest.mark.parametrize("text", [b"[" + b"[]," * 100_000 + b"[]]", b'{"a": [' + b"{}," * 100_000 + b"{}]}"])
def test_texts_with_too_many_values_are_not_parsed(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "log.json").write_bytes(text)
    (part,) = read_parts(tmp_path / "log.json", Budget(values=50_000))
    assert "reading stopped" in str(part.data)


def test_files_share_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium_arena.audit.audit.Budget", lambda: Budget(size=250))
    for number in range(9):
        (tmp_path / f"{number}.jsonl").write_bytes(b'{"a": "%s"}\n' % (b"0" * 90))
    problems = [what for _, what in audit_logs([tmp_path]).problems]
    assert sum("reading stopped" in what for what in problems) == 7


def test_part_list_is_bounded_before_parsing(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/a.json", b"{}")
    whole = path.read_bytes()
    entry = whole[whole.index(b"PK\x01\x02") : -22]
    end = b"PK\x05\x06\0\0\0\0" + (65_535).to_bytes(2, "little") * 2
    listed = entry * (MAX_DIRECTORY_BYTES // len(entry) + 1)
    path.write_bytes(listed + end + len(listed).to_bytes(4, "little") + bytes(6))
    with pytest.raises(BadLog, match=f"central directory has {len(listed):,} bytes"):
        list(read_members(path, 1000, Budget()))
    fewer = entry * 1000
    path.write_bytes(fewer + end + len(fewer).to_bytes(4, "little") + bytes(6))
    budget = Budget(size=len(fewer) - 1)
    with pytest.raises(BadLog, match="reading stopped"):
        list(read_members(path, 1000, budget))


@pytest.mark.parametrize(("at", "value"), [(6, 255), (9, 8), (46, 255)], ids=["version", "flag", "name"])
def test_damaged_archive_does_not_affect_other_logs(tmp_path: Path, at: int, value: int) -> None:
    path = write_zip(tmp_path / "log.eval", b"{}", zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 9] |= 8  # names in UTF-8
    data[entry + at] = value
    path.write_bytes(data)
    pytest.importorskip("zstandard", reason='zstandard is not installed: pip install "gymposium-arena[audit]"')
    audit = audit_logs([path, LOG])
    assert [where for where, _ in audit.problems if str(where).startswith(str(path))]
    assert len(audit.records) == 6


def test_archive_without_samples_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", b"nothing")
    with pytest.raises(BadLog, match="has no samples"):
        list(read_members(path, 1000, Budget()))
