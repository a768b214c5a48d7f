"""Find log files, read them within limits, and split them into JSON objects.

Nothing that a log names is opened, imported or unpickled.
"""

from __future__ import annotations

import json
import stat
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gymposium.errors import BadOption, describe_cause
from gymposium.util.plain_file import open_plain, plain_path, read_content
from gymposium.util.strict_json import build_object
from gymposium_arena.audit.archives import read_members
from gymposium_arena.audit.budget import Budget
from gymposium_arena.audit.episode import BadLog, fail

MAX_BYTES = 256 * 2**20
"""Maximum size of a file or archive entry in bytes."""
SUFFIXES = (".eval", ".json", ".jsonl", ".json.gz", ".jsonl.gz")
"""Suffixes of log files in folders."""


class LogPart(NamedTuple):
    """A JSON object in a log file, or the error from reading it."""

    where: str
    data: dict[str, Any] | BadLog


def find_log_files(paths: list[Path]) -> list[Path]:
    """Return the log files among these paths and, sorted by name, inside these folders.

    Raises `BadOption` for a missing path or a folder without logs."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.name.endswith(SUFFIXES) and file.is_file())
            if not inside:
                raise BadOption(f"{path} has no logs: no file ends in {', '.join(SUFFIXES)}. Name another folder.")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise BadOption(f"{path} does not exist. Give log files, or a folder of log files.")
    return found


def read_parts(path: Path, budget: Budget) -> Iterator[LogPart]:
    """Yield the JSON objects in a file: an archive's samples, a JSONL file's lines, or a JSON file's single object.

    If the budget runs out, the last part is the error."""
    try:
        mode = path.stat()
        if not stat.S_ISREG(mode.st_mode):
            fail("not a regular file")
        if mode.st_size > MAX_BYTES:
            fail(f"it has {mode.st_size:,} bytes; the limit is {MAX_BYTES:,}")
        with open_plain(path) as file:
            is_archive = file.read(4) == b"PK\x03\x04"
        if is_archive or path.suffix == ".eval":
            for name, data in read_members(path, MAX_BYTES, budget):
                yield _parse_part(f"{path}:{name}", data, budget)
                budget.check()
            return
        text = read_content(path, MAX_BYTES).removeprefix(BOM_UTF8)
        budget.spend_bytes(len(text))
    except (BadLog, OSError) as error:
        yield LogPart(str(path), BadLog(describe_cause(error)))
        return
    yield from _split_objects(
        str(path), text, budget, by_line=plain_path(path).suffix == ".jsonl" or _has_json_lines(text)
    )


def _has_json_lines(text: bytes) -> bool:
    """Return whether a text has several lines and the first is a complete JSON object."""
    first, _, rest = text.strip().partition(b"\n")
    return bool(rest) and first.startswith(b"{") and isinstance(_parse_part("", first, Budget()).data, dict)


def _split_objects(where: str, text: bytes, budget: Budget, *, by_line: bool) -> Iterator[LogPart]:
    if not by_line:
        yield _parse_part(where, text, budget)
        return
    lines = [(number, line) for number, line in enumerate(text.split(b"\n"), start=1) if line.strip()]
    if not lines:
        yield LogPart(where, BadLog("the file is empty"))
    for number, line in lines:
        yield _parse_part(f"{where}:{number}", line, budget)
        if budget.is_spent:
            return


def _parse_part(where: str, text: bytes | BadLog, budget: Budget) -> LogPart:
    if isinstance(text, BadLog):
        return LogPart(where, text)
    try:
        budget.spend_values(text)
        data = json.loads(text, object_pairs_hook=build_object)
    except BadLog as error:
        return LogPart(where, error)
    except (ValueError, RecursionError) as error:
        return LogPart(where, BadLog(f"not JSON, or truncated ({error})"))
    return LogPart(where, data if isinstance(data, dict) else BadLog("it is JSON, but not an object"))
