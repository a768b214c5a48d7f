"""The page of one match, rendered from its record, for the viewer, its export, and other sites that show matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from gymposium.errors import BadRecord
from gymposium.records import Record
from gymposium_viewer.pages import Tab, copy_static, render_page, write_page
from gymposium_viewer.replays.story import Story, build_story

_STANDALONE: dict[str, Any] = {
    "home": "index.html",
    "list": None,
    "place": "",
    "players": {},
    "before": None,
    "after": None,
    "where": "",
    "same_deal": (),
    "link": None,
    "compare": None,
    "raw": None,
    "tokens": None,
    "curve": None,
    "unreadable": "",
}
"""Template values about other matches, as used on a standalone page."""


def render_match(story: Story, path: str, *, tabs: Sequence[Tab] = (), live: bool = False, **around: Any) -> str:
    """Render the page of a match at `path` below the site's root. `around` overrides the values of `_STANDALONE`."""
    return render_page("replays/match.html", path, tabs, live=live, **{**_STANDALONE, "story": story, **around})


def export_matches(
    records: Iterable[Record],
    out: Path,
    *,
    home: str = "index.html",
    tabs: Sequence[Tab] = (),
    labels: Mapping[str, str] | None = None,
    around: Callable[[Record], Mapping[str, Any]] = lambda record: {},
) -> dict[str, str]:
    """Write a page for each record below `out`, and the pages' stylesheets and scripts to `out/static`.

    `home` is the page that the pages link back to, relative to `out`. `labels` are the players' display names. `around`
    returns a page's links: the paths of the `list` with the match, of the pages `before` and `after` it, and of its
    `players`' pages. It also returns the match's `place` in the list, in words. Returns the path of each page relative
    to `out`, by
    match id (`make_path`). Raises `BadRecord` if two different records have the same id."""
    copy_static(out)
    digests: dict[str, bytes] = {}
    for record in records:
        digest = blake2b(record.line().encode()).digest()
        if record.id not in digests:
            digests[record.id] = digest
            path = make_path(record.id)
            story = build_story(record, labels)
            write_page(out, path, render_match(story, path, tabs=tabs, home=home, **around(record)))
        elif digests[record.id] != digest:
            raise BadRecord(f"Two different matches have the id {record.id!r}. Export their runs to different folders.")
    return {match_id: make_path(match_id) for match_id in digests}


def make_path(match_id: str) -> str:
    """Return the path of a match's page in `export_matches`. It is unique and valid on every file system."""
    digest = blake2b(match_id.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"matches/{re.sub(r'[^A-Za-z0-9._=-]+', '-', match_id).strip('.-')[:80]}-{digest}.html"
