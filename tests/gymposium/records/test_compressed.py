"""Compressed files: every reader unpacks them, damaged ones are refused, and nothing is appended."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import gymposium
from gymposium import load_game, make_player
from gymposium.analysis.review.update import review_file
from gymposium.errors import BadOption, BadRecord
from gymposium.match import MatchJob, play
from gymposium.records import (
    Record,
    RecordWriter,
    compress_records,
    find_match_files,
    read_records,
    verify_file,
    write_records,
)
from gymposium.runs.executors.local import LocalExecutor
from gymposium.runs.growing import GrowingFile
from gymposium.util.durable import replace_content
from gymposium.util.plain_file import MOST_UNPACKED, find_form, open_content, read_content, read_lines

GZIP = shutil.which("gzip")
ADVICE = "Decompress it first:  gunzip "


@pytest.fixture(scope="module")
def records() -> list[Record]:
    players = [make_player("random")] * 2
    return [
        Record.from_match(one)
        for one in play(MatchJob(f"m{n}", load_game("tic_tac_toe"), players, n) for n in range(4))
    ]


def read_all(path: Path) -> list[object]:
    return [found for _, found in read_records(path)]


def write_packed(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


contents = st.binary(max_size=300) | st.builds(lambda part, n: part * n, st.binary(min_size=1), st.integers(0, 3000))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(content=contents, cut=st.integers(0, 300))
def test_content_round_trips_like_python_and_gzip(tmp_path: Path, content: bytes, cut: int) -> None:
    plain, ours, theirs = tmp_path / "ours.jsonl", tmp_path / "ours.jsonl.gz", tmp_path / "theirs.jsonl.gz"
    plain.write_bytes(content)
    for _ in range(2):
        with replace_content(ours) as file:
            file.write(content)
        assert ours.read_bytes()[3:8] == bytes(5), "no name and no time"
    assert gzip.decompress(ours.read_bytes()) == content
    assert [*read_lines(ours)] == [*read_lines(plain)]
    theirs.write_bytes(gzip.compress(content[:cut]) + gzip.compress(content[cut:]))  # as `cat` joins two files
    assert read_content(ours) == read_content(theirs) == read_content(plain)
    with open_content(ours) as file:
        file.seek(min(cut, len(content)))
        assert file.read() == content[cut:]
        file.seek(0)
        assert file.read() == content
    if GZIP is not None:
        done = subprocess.run([GZIP, "-dc", ours], capture_output=True, check=True)
        assert done.stdout == content
        theirs.write_bytes(subprocess.run([GZIP, "-9nc", plain], capture_output=True, check=True).stdout)
        assert read_content(theirs) == content


def test_direct_and_later_compression_give_equal_files(tmp_path: Path, records: list[Record]) -> None:
    plain, written = tmp_path / "plain" / "matches.jsonl", tmp_path / "matches.jsonl.gz"
    write_records(plain, records)
    assert plain.read_text() == "".join(f"{record.line()}\n" for record in records)
    write_records(written, iter(records))
    assert read_all(written) == read_all(plain) == records
    compressed = compress_records(plain)
    assert (compressed, plain.exists()) == (tmp_path / "plain" / "matches.jsonl.gz", False)
    assert compressed.read_bytes() == written.read_bytes()
    assert verify_file(compressed).matches == len(records)
    assert not verify_file(compressed).problems


def test_compressed_run_can_be_verified_and_reviewed(tmp_path: Path) -> None:
    gymposium.play("tic_tac_toe", ["random", "random"], n=3, out=tmp_path)
    matches = tmp_path / "matches.jsonl"
    with closing(LocalExecutor(1)) as executor:
        reviewed = review_file(matches, "exact", executor)
        compressed = compress_records(matches)
        again = review_file(compressed, "exact", executor)
    assert find_match_files(tmp_path) == [compressed]
    verified = verify_file(compressed)
    assert (verified.matches, verified.planned, verified.finished, verified.problems) == (3, 3, True, [])
    assert (again.new, again.reviews) == (0, reviewed.reviews)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "matches.jsonl.gz",
        "matches.manifest.json",
        "matches.review.json",
        "settings.json",
    ]
    changed = gzip.decompress(compressed.read_bytes()).splitlines(keepends=True)
    compressed.write_bytes(gzip.compress(b"".join([changed[1], changed[0], changed[2]])))
    assert "comes after match" in str(verify_file(compressed).problems[0])


DAMAGED = [
    (write_packed(b""), "is not a gzip file"),
    (write_packed(b"\x1f"), "is not a gzip file"),
    (write_packed(b'{"id":"m"}\n'), "is not a gzip file"),
    (write_packed(gzip.compress(b"{}\n" * 99)[:10]), "cut off"),
    (write_packed(gzip.compress(b"{}\n" * 99)[:-1]), "cut off"),
    (write_packed(gzip.compress(b"{}\n" * 99)[:-8] + bytes(8)), "damaged"),
    (write_packed(gzip.compress(b"{}\n" * 99)[:10] + b"\xff" * 20), "damaged"),
    (write_packed(gzip.compress(b"{}\n" * 99) + b"more"), "damaged"),
    (write_packed(gzip.compress(bytes(2**20)) * 65), "line 1 is larger than 67,108,864 bytes"),
    (os.mkfifo, "is not a regular file"),
    (Path.mkdir, "is not a regular file"),
]


@pytest.mark.parametrize(("make", "why"), DAMAGED)
def test_every_reader_refuses_damaged_files(tmp_path: Path, make: Callable[[Path], object], why: str) -> None:
    path = tmp_path / "matches.jsonl.gz"
    make(path)
    for read in (read_all, verify_file):
        with pytest.raises(BadRecord, match=rf"matches\.jsonl\.gz cannot be read \(.*{why}"):
            read(path)
    growing = GrowingFile(path)
    with pytest.raises(BadRecord, match=why):
        list(growing.lines())


def test_decompressed_size_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl.gz"
    write_packed(gzip.compress(b"\n" * 2**20) * 3)(path)
    assert len(read_content(path, most=3 * 2**20)) == 3 * 2**20
    for most in (3 * 2**20 - 1, 2**20, 0):
        with pytest.raises(OSError, match=f"its content is larger than {most:,} bytes"):
            read_content(path, most)
    with open_content(path, most=2**20) as file, pytest.raises(OSError, match="larger than"):
        file.seek(2**21)
    assert MOST_UNPACKED == 2**30


def test_nothing_is_appended_to_a_compressed_file(tmp_path: Path, records: list[Record]) -> None:
    plain, compressed = tmp_path / "matches.jsonl", tmp_path / "matches.jsonl.gz"
    with pytest.raises(BadOption, match=r"compress it at the end:  gzip -9n .*matches\.jsonl$"):
        RecordWriter(compressed)
    assert not [*tmp_path.iterdir()]
    write_records(compressed, records)
    before = compressed.read_bytes()
    for path in (plain, compressed):
        with pytest.raises(BadOption, match=rf"{ADVICE}.*matches\.jsonl\.gz$"):
            RecordWriter(path)
        with pytest.raises(BadOption):
            compress_records(path)
    with pytest.raises(BadOption, match="exists and would have the same matches"):
        write_records(plain, records)
    assert (compressed.read_bytes(), [*tmp_path.iterdir()]) == (before, [compressed])


def test_file_being_written_is_not_compressed(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    with RecordWriter(path), pytest.raises(BadOption, match="being written by another process"):
        compress_records(path)
    assert [*tmp_path.iterdir()] == [path]


def test_duplicate_plain_and_compressed_file_is_refused(tmp_path: Path, records: list[Record]) -> None:
    write_records(tmp_path / "matches.jsonl", records)
    shutil.copy(compress_records(tmp_path / "matches.jsonl"), tmp_path / "kept")
    write_records(tmp_path / "others.jsonl", records)
    assert find_form(tmp_path / "matches.jsonl") == tmp_path / "matches.jsonl.gz"
    (tmp_path / "matches.jsonl").touch()
    for find in (find_form, lambda path: find_match_files(path.parent)):
        with pytest.raises(BadOption, match=r"matches\.jsonl and matches\.jsonl\.gz both exist"):
            find(tmp_path / "matches.jsonl")


def test_replaced_compressed_file_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl.gz"
    growing = GrowingFile(path)
    assert not growing.check_replaced()
    assert not [*growing.lines()]
    for content in (b"1\n2\n3", b"1\n2\n3\n4\n", b"5\n"):
        with replace_content(path) as file:
            file.write(content)
        growing.check_replaced()
        lines = [line.text for line in growing.lines()]
        assert b"".join(lines) + (growing.rest.text if growing.rest else b"") == content
        assert not growing.check_replaced()
        assert not [*growing.lines()], "read once"


def test_resuming_a_compressed_run_says_what_to_do(tmp_path: Path) -> None:
    gymposium.play("tic_tac_toe", ["random", "random"], n=2, out=tmp_path)
    compress_records(tmp_path / "matches.jsonl")
    done = subprocess.run(
        [sys.executable, "-m", "gymposium", "run", "--resume", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert ADVICE in done.stderr
    assert json.loads((tmp_path / "matches.manifest.json").read_text())["count"] == 2
