"""The pages of matches, as a part of the viewer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from starlette.routing import BaseRoute

from gymposium.viewer.pages import Tab
from gymposium.viewer.part import Card, Viewer


class Replays:
    """The part of the viewer that shows matches."""

    tabs: Sequence[Tab] = ()

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer

    def cards(self) -> Sequence[Card]:
        return []

    def routes(self) -> Sequence[BaseRoute]:
        return []

    def export(self, out: Path) -> None:
        return None


def make(viewer: Viewer) -> Replays:
    return Replays(viewer)
