"""The viewer part that shows matches: the list of all recorded matches, and each one step by step.

`export_matches` writes pages of records for other sites. It needs none of the server's libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymposium_viewer.replays.match_page import export_matches

if TYPE_CHECKING:
    from gymposium_viewer.part import Part, Viewer

__all__ = ["export_matches", "make"]


def make(viewer: Viewer) -> Part:
    """Return the viewer part that shows matches."""
    from gymposium_viewer.replays.pages import ReplaysPart

    return ReplaysPart(viewer)
