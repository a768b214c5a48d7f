"""Find log files, read them within limits, and split them into JSON objects with their places.

Nothing that a log names is opened, imported or unpickled.
"""

from __future__ import annotations

import json
import stat
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gymposium.errors import BadOption, reason
from gymposium.util.plain_file import open_plain, plain_path, read_content
from gymposium.util.strict_json import build_object
from gymposium_arena.audit.archives import members
from gymposium_arena.audit.budget import Budget
from gymposium_arena.audit.episode import BadLog, fail

MAX_BYTES = 256 * 2**20
"""Maximum size in bytes of a file or of a part of an archive."""
SUFFIXES = (".eval", ".json", ".jsonl", ".json.gz", ".jsonl.gz")
"""Suffixes of the files that are read in a folder."""


class LogPart(NamedTuple):
    """A JSON object in a log file, or the reason why it cannot be read."""

    where: str
    data: dict[str, Any] | BadLog


def log_files(paths: list[Path]) -> list[Path]:
    """Return the log files at these paths: files, and the files in folders, sorted by name.

    Raises `BadOption` for a path that does not exist and for a folder without logs."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.name.endswith(SUFFIXES) and file.is_file())
            if not inside:
                raise BadOption(f"{path} has no logs: no file ends in {', '.join(SUFFIXES)}.")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise BadOption(f"{path} does not exist. Give log files, or a folder of log files.")
    return found


def read_parts(path: Path, budget: Budget) -> Iterator[LogPart]:
    """Yield the objects in a file: the samples of an archive, the lines of a JSONL file, or the one object of a JSON
    file. If the budget runs out, the last item is the reason."""
    try:
        mode = path.stat()
        if not stat.S_ISREG(mode.st_mode):
            fail("not a regular file")
        if mode.st_size > MAX_BYTES:
            fail(f"it has {mode.st_size} bytes; the limit is {MAX_BYTES}")
        with open_plain(path) as file:
            is_archive = file.read(4) == b"PK\x03\x04"
        if is_archive or path.suffix == ".eval":
            for name, data in members(path, MAX_BYTES, budget):
                yield _part(f"{path}:{name}", data, budget)
                budget.check()
            return
        text = read_content(path, MAX_BYTES).removeprefix(BOM_UTF8)
        budget.take(len(text))
    except (BadLog, OSError) as error:
        yield LogPart(str(path), BadLog(reason(error)))
        return
    yield from _objects(
        str(path), text, budget, by_line=plain_path(path).suffix == ".jsonl" or _begins_with_a_line(text)
    )


def _begins_with_a_line(text: bytes) -> bool:
    """Return whether the first of several lines is a complete object."""
    first, _, rest = text.strip().partition(b"\n")
    return bool(rest) and first.startswith(b"{") and isinstance(_part("", first, Budget()).data, dict)


def _objects(where: str, text: bytes, budget: Budget, *, by_line: bool) -> Iterator[LogPart]:
    if not by_line:
        yield _part(where, text, budget)
        return
    lines = [(number, line) for number, line in enumerate(text.split(b"\n"), start=1) if line.strip()]
    if not lines:
        yield LogPart(where, BadLog("the file is empty"))
    for number, line in lines:
        yield _part(f"{where}:{number}", line, budget)
        if budget.is_spent:
            return


def _part(where: str, text: bytes | BadLog, budget: Budget) -> LogPart:
    if isinstance(text, BadLog):
        return LogPart(where, text)
    try:
        budget.take_values(text)
        data = json.loads(text, object_pairs_hook=build_object)
    except BadLog as error:
        return LogPart(where, error)
    except (ValueError, RecursionError) as error:
        return LogPart(where, BadLog(f"not JSON, or truncated ({error})"))
    return LogPart(where, data if isinstance(data, dict) else BadLog("it is JSON, but not an object"))
