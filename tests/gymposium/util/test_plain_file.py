"""Untrusted files: only regular files up to a size are read, and pipes never block."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gymposium.errors import BadOption, BadRecord
from gymposium.records import read_records, verify_file
from gymposium.runs.folder import RunFolder
from gymposium.runs.run import Run, mark_running
from gymposium.util.json_file import FileModel, read_model
from gymposium.util.plain_file import MOST_BYTES, check_plain, open_plain, read_lines, read_plain, read_plain_text
from gymposium.util.user_file import VARIABLE, load_user_file


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
def test_irregular_and_huge_files_are_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "file"
    make(path)
    for read in (read_plain, read_plain_text, lambda path: list(read_lines(path))):
        with pytest.raises(OSError, match=r"regular file|larger than|directory"):
            read(path)


@pytest.mark.parametrize("make", STRANGE)
def test_no_reader_blocks_or_reads_gigabytes(
    tmp_path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("settings.json", "matches.jsonl", "gymposium.toml"):
        make(tmp_path / name)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gymposium.toml"))
    readers: list[Callable[[], object]] = [
        load_user_file,
        lambda: RunFolder.open(tmp_path, "run"),
        lambda: list(read_records(tmp_path / "matches.jsonl")),
        lambda: verify_file(tmp_path / "matches.jsonl"),
        lambda: read_model(tmp_path / "settings.json", _Empty, "settings", "Restore it."),
    ]
    for read in readers:
        with pytest.raises((BadOption, BadRecord), match="cannot be read"):
            read()


def test_byte_order_mark_is_stripped(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("﻿α".encode())
    assert read_plain_text(path) == "α"


def test_lines_are_read_up_to_their_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"ab\n" * 3 + b"abc")
    assert list(read_lines(path, most=3)) == [b"ab\n"] * 3 + [b"abc"]
    with pytest.raises(OSError, match="line 1 is larger than 2 bytes"):
        list(read_lines(path, most=2))
    assert MOST_BYTES > 2**20


def test_missing_file_is_the_usual_error(tmp_path: Path) -> None:
    for read in (open_plain, check_plain):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none")


@pytest.mark.parametrize("make", [make_pipe, make_folder])
def test_libraries_get_no_path_to_a_pipe_or_folder(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "file")
    with pytest.raises(OSError, match=r"regular file|directory"):
        check_plain(tmp_path / "file")


def test_run_with_a_pipe_as_config_does_not_block(tmp_path: Path) -> None:
    make_pipe(tmp_path / "config.json")
    assert not Run("run", tmp_path).running
    with pytest.raises(OSError, match="regular file"), mark_running(tmp_path):
        pass


OWN = {
    "gymposium_viewer/pages.py": "its own static files",
    "gymposium_train/config/presets/__init__.py": "its own presets",
    "gymposium/cli/plugins/new.py": "its own templates",
    "gymposium/runs/metric_docs.py": "its own page",
    "gymposium/plugins/first_party.py": "its own table",
    "gymposium_puzzles/words/__init__.py": "its own words",
    "gymposium/plugins/offers.py": "metadata of an installed distribution",
    "gymposium_trace/running/backends.py": "its own program",
    "gymposium_trace/running/groups.py": "control groups",
    "gymposium_trace/running/inside.py": "runs within the sandbox",
    "gymposium_trace/running/runs.py": "a file that it has just written",
    "gymposium_agents/modeling/caches.py": "control groups",
    "gymposium_agents/engines/vllm/running.py": "/proc",
    "gymposium_agents/engines/vllm/server.py": "the log of its own server",
    "gymposium_agents/engines/vllm/engine.py": "weights that read_adapter has checked",
    "gymposium_agents/models/fetching.py": "a wheel whose digest pip has checked",
    "gymposium_arena/audit/archives.py": "archives that read_parts has checked",
    "gymposium/cli/descriptors.py": "a standard stream",
    "gymposium/plugins/containment.py": "a temporary file of its own",
    "gymposium_mcp/stderr.py": "a pipe of its own",
    "gymposium_ray/node_setup.py": "plugins of one file, which the user runs",
    "gymposium_agents/engines/vllm/serving.py": "weights that the run has just written; it runs without gymposium",
}
"""The modules that read files without `plain_file`, and what they read."""


def reads(tree: ast.AST) -> bool:
    """Whether a module opens or reads a file by a path, for reading."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        texts = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        mode = next((text for text in texts if text and set(text) <= set("rwaxb+")), "")
        opens = name == "open" and ("r" in mode or (isinstance(call.func, ast.Name) and not mode))
        if opens or name in ("read_text", "read_bytes"):
            return True
    return False


def test_no_other_module_reads_files_directly() -> None:
    root = Path(__file__).parents[3]
    files = [*root.glob("packages/*/src/**/*.py"), *root.glob("plugins/*/src/**/*.py")]
    assert len(files) > 300
    found = {
        file.as_posix().partition("/src/")[2]
        for file in files
        if file.name != "plain_file.py" and reads(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == OWN.keys()
