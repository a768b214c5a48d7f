"""Text search in the replies of recorded matches.

Record lines are searched as bytes, many at a time, and only hits are examined closely. A hit must not begin within an
escape: the n of a line break (`\\n`) is not a letter.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from gymposium.errors import BadRecord
from gymposium.records import Record
from gymposium.replies.reading import KINDS
from gymposium.util.plain_file import open_content
from gymposium_viewer.replays.rows import Row

_BLOCK = 1 << 22
"""Number of bytes searched at once."""

_READING, _TEXT = b'"reading":"', b'","text":"'
_LONGEST = len(_READING) + max(map(len, KINDS))
"""Maximum length of the part of a recorded reply before its text."""
_WHOLE = re.compile(rb'(?:[^"\\]++|\\u[0-9a-f]{4}|\\[^u])*+')
"""Pattern for the complete characters and escapes of a text that is not terminated."""


def search_rows(rows: Sequence[Row], path: Path, text: str, readings: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of one file with a reply that contains a text. The case of ASCII letters is ignored.

    Only replies with one of `readings` are searched, or all if it is empty. Raises `BadRecord` if the file can no
    longer be read."""
    spellings = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    needles = [spelling.encode("utf-8", "surrogatepass").lower() for spelling in spellings]
    wanted = [reading.encode() for reading in readings]
    try:
        with open_content(path) as file:
            for block in _group_neighbors(sorted(rows, key=lambda row: row.offset)):
                file.seek(block[0].offset)
                data = file.read(block[-1].offset + block[-1].size - block[0].offset).lower()
                yield from _search_block(block, data, needles, wanted)
    except OSError as error:
        raise BadRecord(f"{path.name} can no longer be read ({error}). Restore it, then reload the page.") from error


def _group_neighbors(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield groups of rows whose lines are adjacent."""
    block: list[Row] = []
    for row in rows:
        if block and (row.offset > block[-1].offset + block[-1].size + 1 or row.offset - block[0].offset > _BLOCK):
            yield block
            block = []
        block.append(row)
    if block:
        yield block


def _search_block(
    block: Sequence[Row], data: bytes, needles: Sequence[bytes], wanted: Sequence[bytes]
) -> Iterator[Row]:
    begin = block[0].offset
    starts = [row.offset - begin for row in block]
    hits = sorted({place for needle in needles for place in _find_rows(data, needle, starts, wanted)})
    for place, _ in groupby(hits):
        yield block[place]


def _find_rows(data: bytes, needle: bytes, starts: Sequence[int], wanted: Sequence[bytes]) -> Iterator[int]:
    """Yield the indices of the rows with this text in a reply."""
    at = data.find(needle)
    while at >= 0:
        place = bisect_right(starts, at) - 1
        end = starts[place + 1] if place + 1 < len(starts) else len(data)
        if _search_line(data[starts[place] : end], needle, wanted):
            yield place
        at = data.find(needle, end)


def _search_line(line: bytes, needle: bytes, wanted: Sequence[bytes]) -> bool:
    """Return whether a reply in this line, with one of the wanted readings, contains the text."""
    at = line.find(_TEXT)
    if at < 0:
        return _search_parsed(line, needle, wanted)
    while at >= 0:
        reading = line.rfind(_READING, max(0, at - _LONGEST), at)
        begin = at + len(_TEXT)
        end = _find_whole_end(line, begin, len(line))
        if (
            reading >= 0
            and (not wanted or line[reading + len(_READING) : at] in wanted)
            and _contains(line, needle, begin, end)
        ):
            return True
        at = line.find(_TEXT, end)
    return False


def _contains(line: bytes, needle: bytes, begin: int, end: int) -> bool:
    """Return whether a text contains another text, not counting hits that begin within an escape."""
    at = line.find(needle, begin, end)
    while at >= 0:
        begin = _find_whole_end(line, begin, at)
        if begin == at:
            return True
        at = line.find(needle, at + 1, end)
    return False


def _find_whole_end(line: bytes, begin: int, end: int) -> int:
    """Return where the complete characters and escapes from `begin` on end."""
    found = _WHOLE.match(line, begin, end)
    assert found is not None, "it may be empty"
    return found.end()


def _search_parsed(line: bytes, needle: bytes, wanted: Sequence[bytes]) -> bool:
    """Search a line by parsing it, because it does not have the record writer's format."""
    text = json.loads(b'"%b"' % needle)
    turns = Record.parse(line.decode("utf-8", "replace")).turns
    return any(text in turn["text"] and (not wanted or turn["reading"].encode() in wanted) for turn in turns)
