"""Where the matches stand that were learned from, so that a trajectory leads to the page of its match."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

_ID = re.compile(rb'\{"id":"([^"\\]*)"')


def lines_of(file: Path, ids: Collection[str]) -> dict[str, int]:
    """The first line of each of these matches in a record file, counted from 1. Only what our own writer wrote is
    found, and only the beginning of each line is looked at."""
    wanted = {name.encode() for name in ids}
    found: dict[str, int] = {}
    try:
        with open(file, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                if (begin := _ID.match(line)) and begin[1] in wanted:
                    wanted.remove(begin[1])
                    found[begin[1].decode()] = number
                    if not wanted:
                        break
    except FileNotFoundError:
        pass
    return found
