"""Matches in the viewer: the list of all that are recorded, and each move by move.

`export_matches` writes pages of records for other sites; it needs no server's libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymposium.viewer.replays.match_page import export_matches

if TYPE_CHECKING:
    from gymposium.viewer.part import Part, Viewer

__all__ = ["export_matches", "make"]


def make(viewer: Viewer) -> Part:
    """The part of the viewer that shows matches."""
    from gymposium.viewer.replays.pages import Replays

    return Replays(viewer)
