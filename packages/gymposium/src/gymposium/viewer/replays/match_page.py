"""The page of one match, for whoever has its record: the viewer, its export, and sites that link to matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from gymposium.errors import BadRecord
from gymposium.records import Record
from gymposium.viewer.pages import Tab, copy_static, render, write_page
from gymposium.viewer.replays.story import Story, build_story

_ALONE: dict[str, Any] = {
    "home": "index.html",
    "list": None,
    "place": "",
    "before": None,
    "after": None,
    "where": "",
    "same_deal": (),
    "compare": None,
    "raw": None,
}
"""What a page says of the matches around it, where it knows of none."""


def match_page(story: Story, path: str, *, tabs: Sequence[Tab] = (), live: bool = False, **around: Any) -> str:
    """The page of a match, to stand at `path`."""
    return render("replays/match.html", path, tabs, live=live, **{**_ALONE, "story": story, **around})


def export_matches(
    records: Iterable[Record],
    out: Path,
    *,
    home: str = "index.html",
    tabs: Sequence[Tab] = (),
    around: Callable[[Record], Mapping[str, Any]] = lambda record: {},
) -> dict[str, str]:
    """Write a page for each record below `out`, with the styles and scripts that they need in `out/static`. Where the
    page of each match is, relative to `out`, by match id: `path_of` it.

    `home` is where the pages lead back to, relative to `out`. `around` gives what a page says of the matches around it:
    paths of the `list` that it stands in and of the pages `before` and `after` it, its `place` among them in words.
    Raises `BadRecord` where two different records have one id."""
    copy_static(out)
    seen: dict[str, bytes] = {}
    paths: dict[str, str] = {}
    for record in records:
        digest = blake2b(record.line().encode()).digest()
        if seen.setdefault(record.id, digest) != digest:
            raise BadRecord(f"Two different matches have the id {record.id!r}.")
        if record.id in paths:
            continue
        paths[record.id] = path = path_of(record.id)
        write_page(out, path, match_page(build_story(record), path, tabs=tabs, home=home, **around(record)))
    return paths


def path_of(match_id: str) -> str:
    """Where `export_matches` puts a match's page."""
    return f"matches/{_name(match_id)}.html"


def _name(match_id: str) -> str:
    """A name that every file system takes, and no two ids share."""
    digest = blake2b(match_id.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9._=-]+', '-', match_id).strip('.-')[:80]}-{digest}"
